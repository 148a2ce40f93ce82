"""The build backend that `pyproject.toml` names: it builds `levee-cli`, the wheel of the command line (`make wheel`).

The wheel has the command line alone, `console/cli` and each command's `cli.py`, below one package of its own: `console` and `jobs` are
names that other distributions have too, and that Python would take from the wheel where a clone of the server is beside it. The tree
below `levee_cli` is the clone's, and an import names it in full.

Setuptools does the rest. It is locked already, since pyspark is built with it. The build runs in a directory that goes again: nothing is
left among the sources.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any, NoReturn

from setuptools import build_meta

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = "levee_cli"
MODULES = ("console/cli/**/*.py", "jobs/commands/*/cli.py")
REQUIREMENTS = "requirements/cli.in"
# Where a dotted name of one of these modules begins.
OWN_NAME = re.compile(r"\b(?=(?:console\.cli|jobs\.commands)\b)")
# The oldest time that a zip can state: the same sources make the same bytes.
ALWAYS = "315532800"


class UnsupportedOperation(Exception):
    """What a front end of builds expects of a backend that makes no archive of sources."""


def build_wheel(
    wheel_directory: str, config_settings: Mapping[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """Builds the wheel into the directory (PEP 517); the name of its file."""
    target = Path(wheel_directory).resolve()
    os.environ.setdefault("SOURCE_DATE_EPOCH", ALWAYS)
    with _sources() as place, chdir(place):
        return str(build_meta.build_wheel(str(target)))


def build_sdist(sdist_directory: str, config_settings: Mapping[str, Any] | None = None) -> NoReturn:
    """Refuses: the sources are the repository."""
    raise UnsupportedOperation("levee-cli is built as a wheel; its sources are the repository")


def modules(root: Path = ROOT) -> list[Path]:
    """What the wheel has, by its places in the clone."""
    return sorted(file.relative_to(root) for pattern in MODULES for file in root.glob(pattern))


@contextmanager
def _sources() -> Iterator[Path]:
    """A directory that setuptools takes for the whole project."""
    with tempfile.TemporaryDirectory(prefix="levee-wheel-") as name:
        place = Path(name)
        for module in modules():
            _write(place / PACKAGE / module, _below_package((ROOT / module).read_text()))
        for folder in {parent for file in place.rglob("*.py") for parent in file.relative_to(place).parents} - {Path()}:
            (place / folder / "__init__.py").touch()
        _write(place / "pyproject.toml", _below_package((ROOT / "pyproject.toml").read_text()))
        _write(place / "LICENSE", (ROOT / "LICENSE").read_text())
        _write(place / REQUIREMENTS, _ranges((ROOT / REQUIREMENTS).read_text()))
        yield place


def _below_package(text: str) -> str:
    return OWN_NAME.sub(f"{PACKAGE}.", text)


def _ranges(requirements: str) -> str:
    """Without what binds them to the server's lock, `-c web.txt`, which another environment doesn't have."""
    return "".join(line for line in requirements.splitlines(keepends=True) if not line.startswith("-"))


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
