"""`make sbom`: a CycloneDX document of all that Levee brings: locked Python and front-end packages, and jars.

    python -m console.setup.bill_of_materials FILE

It reads the locks alone, so it needs neither a network nor what they name; only packages of the tests' lock write the document.
"""

from __future__ import annotations

import base64
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from console.setup.jars import pinned
from console.setup.places import HERE, Places

if TYPE_CHECKING:
    from cyclonedx.model.component import Component

# Of an instance. Locks of tests and of `make lock` name what never runs in one.
LOCKS = ("build", "web", "cli", "spark", "postgres", "redis", "node")
PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)", re.MULTILINE)
SHA256 = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def components(places: Places = HERE) -> Iterator[Component]:
    """Each package once, by its package URL."""
    seen: set[str] = set()
    for component in (*_python(places), *_frontend(places), *_jars()):
        if component.bom_ref.value not in seen:
            seen.add(str(component.bom_ref.value))
            yield component


def _python(places: Places) -> Iterator[Component]:
    """No hashes: a lock has those of every wheel, and a component is one package whatever the machine."""
    for lock in LOCKS:
        for name, version in PINNED.findall((places.requirements / f"{lock}.txt").read_text()):
            yield _component("pypi", None, re.sub(r"[-_.]+", "-", name).lower(), version)


def _frontend(places: Places) -> Iterator[Component]:
    packages = json.loads((places.frontend / "package-lock.json").read_text())["packages"]
    for path, package in packages.items():
        if not path or package.get("dev"):
            continue  # Levee's own entry, and what only builds or tests its styles and scripts
        scope, _, name = path.rpartition("node_modules/")[2].rpartition("/")
        algorithm, _, digest = package.get("integrity", "").partition("-")
        hexadecimal = base64.b64decode(digest).hex() if algorithm == "sha512" else None
        yield _component("npm", scope or None, name, package["version"], sha512=hexadecimal)


def _jars() -> Iterator[Component]:
    for jar in pinned():
        qualifiers = {"classifier": jar.classifier} if jar.classifier else None
        yield _component("maven", jar.group, jar.artifact, jar.version, qualifiers, sha256=jar.sha256)


def _component(
    kind: str,
    namespace: str | None,
    name: str,
    version: str,
    qualifiers: dict[str, str] | None = None,
    *,
    sha256: str | None = None,
    sha512: str | None = None,
) -> Component:
    from cyclonedx.model import HashAlgorithm, HashType
    from cyclonedx.model.component import Component, ComponentType
    from packageurl import PackageURL

    address = PackageURL(kind, namespace, name, version, qualifiers)
    known = ((HashAlgorithm.SHA_256, sha256), (HashAlgorithm.SHA_512, sha512))
    return Component(
        name=name,
        group=namespace,
        version=version,
        purl=address,
        bom_ref=str(address),
        type=ComponentType.LIBRARY,
        hashes=[HashType(alg=algorithm, content=content) for algorithm, content in known if content],
    )


def document(places: Places = HERE) -> str:
    """The bill of materials as CycloneDX 1.6 in JSON."""
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.output.json import JsonV1Dot6

    with open(places.root / "pyproject.toml", "rb") as file:
        version = tomllib.load(file)["project"]["version"]
    bom = Bom(components=components(places))
    levee = Component(name="levee", version=version, type=ComponentType.APPLICATION, bom_ref="levee")
    bom.metadata.component = levee
    bom.register_dependency(levee, bom.components)
    return JsonV1Dot6(bom).output_as_string(indent=1)


def main(arguments: list[str]) -> int:
    """Writes the document to the named file."""
    if len(arguments) != 1:
        print("python -m console.setup.bill_of_materials FILE", file=sys.stderr)
        return 2
    text = document()
    Path(arguments[0]).write_text(text + "\n")
    print(f"{arguments[0]}: {len(json.loads(text)['components'])} components, CycloneDX 1.6")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
