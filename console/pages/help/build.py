"""Makes the pages of the help from docs/: `python -m console.pages.help.build`. Set-up runs it when docs/ has changed.

The result is one file of pages and a folder of pictures in frontend/help. Neither Django nor a database is needed.
"""

from __future__ import annotations

import json
import shutil
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
    """The small picture of a picture, with its size so that a page doesn't move while it loads; nothing for one that isn't there."""

    def attributes(path: str) -> dict[str, str]:
        file = docs / path
        small = small_of(file)
        if not file.is_file() or not small.is_file():
            return {}
        width, height = size_of(small.read_bytes())
        source = rendering.STATIC + str(small.relative_to(file.parent))
        return {"src": source, "width": str(width), "height": str(height)}

    return attributes


def small_of(picture: Path) -> Path:
    """Where the small picture lies that a page shows instead of the whole one, and that leads to it."""
    return picture.parent / "small" / f"{picture.stem}.webp"


def size_of(webp: bytes) -> tuple[int, int]:
    """Width and height of a lossless WebP without an alpha channel or metadata: 14 bits each, less one (RFC 9649, 3.4)."""
    if webp[8:16] != b"WEBPVP8L":
        raise ValueError("not a plain lossless WebP")
    bits = int.from_bytes(webp[21:25], "little")
    return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1


def write(docs: Path = DOCS, built: Path = BUILT) -> int:
    """Write the whole help, or leave the old one; the number of pages."""
    made = site(docs)
    part = built.with_name(f"{built.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    (part / "pictures" / "small").mkdir(parents=True)
    taken = docs / "screenshots"
    for picture in (*taken.glob("*.png"), *taken.glob("small/*.webp")):
        shutil.copyfile(picture, part / "pictures" / picture.relative_to(taken))
    (part / "site.json").write_text(json.dumps(made, ensure_ascii=False))
    shutil.rmtree(built, ignore_errors=True)
    part.rename(built)
    return len(made["pages"])


if __name__ == "__main__":
    sys.stdout.write(f"help: {write()} pages\n")
