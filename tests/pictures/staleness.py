"""When a picture of docs/ is out of date: what it shows was written otherwise since it was taken.

Beside the pictures lies `sources.json`, which has a digest for each scene, noted when its pictures were taken. The digest covers the
page's templates (its own, and all that it extends and includes), the stylesheets and icons, the scripts that the picture needs, the
tags and filters of templates, and the modules that reckon its drawings.
Comments and blanks don't count, nor do times, data or the order of anything: neither a clock nor another machine makes a picture stale.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tests.pictures.scenes import SCENES, Scene

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "frontend" / "templates"
PICTURES = ROOT / "docs" / "screenshots"
SOURCES = PICTURES / "sources.json"
NAMED = re.compile(r"""{%-?\s*(?:include|extends)\s+"([\w/]+\.html)\"""")
TAG = re.compile(r"{%-?\s*(\w+)")
INCLUSION = re.compile(r"""inclusion_tag\(\s*"([\w/]+\.html)".*?\)\s*\ndef (\w+)""", re.DOTALL)
COMMENTS = re.compile(r"{#.*?#}|{%\s*comment\s.*?endcomment\s*%}|/\*.*?\*/", re.DOTALL)
PYTHON_COMMENTS = re.compile(r"(^|\s)# .*$|^ *\"\"\".*?\"\"\"$", re.MULTILINE)


def tag_files() -> list[Path]:
    """What defines the tags and filters of templates."""
    return list(ROOT.glob("*/templatetags/**/*.py"))


@cache
def inclusion_tags() -> dict[str, str]:
    """The template of each tag that renders one, by the tag's name."""
    return {tag: name for file in tag_files() for name, tag in INCLUSION.findall(file.read_text())}


def shown_by(scene: Scene) -> set[str]:
    """Every template that the page is made of."""
    found: set[str] = set()
    waiting = [scene.template, *scene.also]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            text = (TEMPLATES / name).read_text()
            waiting += NAMED.findall(text)
            waiting += [inclusion_tags()[tag] for tag in TAG.findall(text) if tag in inclusion_tags()]
    return found


def digest(scene: Scene) -> str:
    """What the scene's pictures were made from."""
    styles = [*(ROOT / "frontend" / "styles").glob("*.*"), ROOT / "frontend" / "icons.txt"]
    scripts = [ROOT / "frontend" / "js" / name for name in scene.scripts]
    code = [*tag_files(), *(ROOT / name for name in scene.code)]
    files = [*(TEMPLATES / name for name in shown_by(scene)), *styles, *scripts, *code]
    window = () if scene.width == Scene.width else (str(scene.width),)
    return _digest(files, scene.address, scene.keys, scene.typed, str(scene.height), *window)


def _digest(files: Iterable[Path], *words: str) -> str:
    total = hashlib.sha256("\n".join(words).encode())
    for file in sorted(set(files)):
        comments = PYTHON_COMMENTS if file.suffix == ".py" else COMMENTS
        text = " ".join(comments.sub("", file.read_text()).split())
        total.update(f"\n{file.relative_to(ROOT)}\n{text}".encode())
    return total.hexdigest()[:32]


def recorded() -> dict[str, str]:
    """The digests of the pictures as they were taken."""
    return dict(json.loads(SOURCES.read_text())) if SOURCES.is_file() else {}


def record(scenes: Iterable[Scene]) -> None:
    """Note that the scenes' pictures were taken now; forget scenes that are no more."""
    noted = recorded() | {scene.name: digest(scene) for scene in scenes}
    kept = {scene.name: noted[scene.name] for scene in SCENES if scene.name in noted}
    SOURCES.write_text(json.dumps(kept, indent=1) + "\n")


def stale() -> list[Scene]:
    """The scenes whose pictures aren't there or show what is no more."""
    noted = recorded()
    return [scene for scene in SCENES if noted.get(scene.name) != digest(scene) or not _there(scene)]


def warning() -> str:
    """A line that names the scenes whose pictures are out of date; empty when there are none."""
    names = ", ".join(scene.name for scene in stale())
    return (
        f"warning: pages have changed since their pictures were taken ({names}): `make docs` takes them"
        if names
        else ""
    )


def _there(scene: Scene) -> bool:
    return all((PICTURES / f"{scene.name}-{theme}.png").is_file() for theme in ("light", "dark"))


if __name__ == "__main__":
    sys.stdout.write(f"{warning()}\n" if stale() else "")
