"""Makes the pages of the help from docs/: `python -m console.pages.help.build`. Set-up runs it when docs/ has changed.

The result is one file of pages and a folder of pictures in frontend/help. Neither Django nor a database is needed.
"""

from __future__ import annotations

import json
import shutil
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from console.pages.help import rendering
from console.pages.help.rendering import Document

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
BUILT = ROOT / "frontend" / "help"
INDEX = "index.md"


def documents(docs: Path = DOCS) -> dict[str, Document]:
    """Every Markdown file below docs/, by its path there."""
    files = sorted(docs.rglob("*.md"))
    return {
        str(file.relative_to(docs)): rendering.read(str(file.relative_to(docs)), file.read_text()) for file in files
    }


def navigation(found: Mapping[str, Document]) -> list[dict[str, Any]]:
    """The sections of the first page with the pages they list. A link to a folder stands for all pages in it.

    Raises KeyError for a link to a page that isn't there.
    """
    sections: list[dict[str, Any]] = []
    for section, targets in _listed(found[INDEX]):
        paths = [path for target in targets for path in _paths(target, found)]
        if paths:
            sections.append({"title": section, "pages": [_entry(found[path]) for path in paths]})
    return sections


def _listed(index: Document) -> Iterator[tuple[str, list[str]]]:
    """Each second-level heading of the first page with the links below it."""
    title, targets = "", list[str]()
    for token, following in zip(index.tokens, [*index.tokens[1:], None], strict=True):
        if token.type == "heading_open" and token.tag == "h2" and following is not None:
            if title:
                yield title, targets
            title, targets = rendering.plain(following), []
        targets += [
            str(child.attrGet("href"))
            for child in token.children or []
            if child.type == "link_open" and not rendering.EXTERNAL.match(str(child.attrGet("href")))
        ]
    yield title, targets


def _paths(target: str, found: Mapping[str, Document]) -> list[str]:
    path, anchor = rendering.lead_to(target, INDEX)
    if anchor:
        return []
    if path.endswith(".md"):
        return [path]
    return [each for each in found if each.startswith(f"{path}/")]


def _entry(document: Document) -> dict[str, str]:
    return {"name": document.name, "title": document.title}


def site(docs: Path = DOCS) -> dict[str, Any]:
    """Everything that the pages of the help are made of, as JSON has it."""
    found = documents(docs)
    names = [document.name for document in found.values()]
    return {
        "navigation": navigation(found),
        "pages": {document.name: _page(document, path, names, _pictures(docs)) for path, document in found.items()},
    }


def _page(document: Document, path: str, names: list[str], pictures: Callable[[str], dict[str, str]]) -> dict[str, Any]:
    sections = [
        {"anchor": s.heading.anchor, "level": s.heading.level, "title": s.heading.text, "text": s.text.strip()}
        for s in document.sections
    ]
    return {"title": document.title, "html": rendering.html(document, path, names, pictures), "sections": sections}


def _pictures(docs: Path) -> Callable[[str], dict[str, str]]:
    """A picture's width and height, so that a page doesn't move while it loads; nothing for one that isn't there."""

    def attributes(path: str) -> dict[str, str]:
        file = docs / path
        if not file.is_file():
            return {}
        with file.open("rb") as png:
            width, height = struct.unpack(">II", png.read(24)[16:24])
        return {"width": str(width), "height": str(height)}

    return attributes


def write(docs: Path = DOCS, built: Path = BUILT) -> int:
    """Write the whole help, or leave the old one; the number of pages."""
    made = site(docs)
    part = built.with_name(f"{built.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    (part / "pictures").mkdir(parents=True)
    for picture in sorted((docs / "screenshots").glob("*.png")):
        shutil.copyfile(picture, part / "pictures" / picture.name)
    (part / "site.json").write_text(json.dumps(made, ensure_ascii=False))
    shutil.rmtree(built, ignore_errors=True)
    part.rename(built)
    return len(made["pages"])


if __name__ == "__main__":
    sys.stdout.write(f"help: {write()} pages\n")
