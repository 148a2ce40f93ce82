"""One file of docs/ as a page: CommonMark with tables, anchors as the repository's own page makes them, links below the help."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath

from markdown_it import MarkdownIt
from markdown_it.token import Token

EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
# A picture's address is known when a page is served: static files have names of their content.
STATIC = "static:"


@dataclass(frozen=True)
class PageHeading:
    """`level` is 1 for a page's title; `text` has no marks."""

    level: int
    anchor: str
    text: str


@dataclass
class SearchSection:
    """What stands below one heading, as plain text: the unit of the search."""

    heading: PageHeading
    text: str = ""


@dataclass(frozen=True)
class PageLink:
    """A link as written: its text, and where it leads. `picture` is true for an image."""

    text: str
    target: str
    picture: bool = False


@dataclass
class Document:
    """One file of docs/, read and not yet written as HTML. `name` is its path without the ending, empty for the first page."""

    name: str
    tokens: list[Token]
    sections: list[SearchSection] = field(default_factory=list)
    links: list[PageLink] = field(default_factory=list)

    @property
    def title(self) -> str:
        return self.sections[0].heading.text if self.sections else self.name

    @property
    def anchors(self) -> set[str]:
        return {section.heading.anchor for section in self.sections}


@cache
def parser() -> MarkdownIt:
    """HTML in a file would be shown as text: the help has none but its own."""
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def name_of(path: str) -> str:
    """The page of a file below docs/: `guide/delete.md` is `guide/delete`, `index.md` the first page."""
    name = path.removesuffix(".md")
    return "" if name == "index" else name


def read(path: str, text: str) -> Document:
    """The file as a document; `path` is relative to docs/."""
    document = Document(name_of(path), parser().parse(text))
    taken: dict[str, int] = {}
    for token, following in zip(document.tokens, [*document.tokens[1:], None], strict=True):
        if token.type == "heading_open" and following is not None:
            heading = _heading(token, following, taken)
            token.attrSet("id", heading.anchor)
            document.sections.append(SearchSection(heading))
        elif token.type in ("inline", "fence", "code_block") and document.sections:
            words = plain(token)
            if words != document.sections[-1].heading.text or document.sections[-1].text:
                document.sections[-1].text += f"{words}\n"
        document.links += _links(token)
    return document


def _heading(opening: Token, inline: Token, taken: dict[str, int]) -> PageHeading:
    text = plain(inline)
    slug = slug_of(text)
    times = taken.get(slug, 0)
    taken[slug] = times + 1
    return PageHeading(int(opening.tag[1]), f"{slug}-{times}" if times else slug, text)


def slug_of(text: str) -> str:
    """The anchor of a heading: its letters, digits and hyphens, small, with hyphens for blanks."""
    return re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")


def plain(token: Token) -> str:
    """The words of a token without marks."""
    if token.children is None:
        return token.content.strip()
    words = [" " if child.type in ("softbreak", "hardbreak") else child.content for child in token.children]
    return "".join(words).strip()


def _links(token: Token) -> Iterator[PageLink]:
    children = token.children or []
    for place, child in enumerate(children):
        if child.type == "link_open":
            yield PageLink(children[place + 1].content, str(child.attrGet("href") or ""))
        elif child.type == "image":
            yield PageLink(child.content, str(child.attrGet("src") or ""), picture=True)


def lead_to(name: str, path: str) -> tuple[str, str]:
    """Where a relative link of the file `path` leads: a path relative to docs/ (or beginning with `..`), and an anchor."""
    target, _, anchor = name.partition("#")
    if not target:
        return path, anchor
    return posixpath.normpath(posixpath.join(str(PurePosixPath(path).parent), target)), anchor


def html(document: Document, path: str, pages: Sequence[str], pictures: Callable[[str], dict[str, str]]) -> str:
    """The document as HTML. `pages` are the names that there are; `pictures` tells the attributes of the small picture that
    stands for a picture, by the whole one's path; none for a picture that isn't there."""
    for token in document.tokens:
        _dress(token)
        if token.children:
            token.children = list(_children(token.children, path, frozenset(pages), pictures))
    return _rendered(document.tokens)


def _rendered(tokens: list[Token]) -> str:
    made = str(parser().renderer.render(tokens, parser().options, {}))
    return made.replace("<table", '<div class="lv-scroll"><table').replace("</table>", "</table></div>")


def _dress(token: Token) -> None:
    classes = {"table_open": "lv-table lv-wraprow", "fence": "lv-code", "code_block": "lv-code"}
    if token.type in classes:
        token.attrSet("class", classes[token.type])
    if token.type == "fence":
        token.info, token.type = "", "code_block"  # the class is the box's, and no language is marked
    if token.type in ("th_open", "td_open"):
        if str(token.attrGet("style") or "").endswith("right"):
            token.attrSet("class", "n")
        token.attrs.pop("style", None)  # the policy of the pages refuses it


def _children(
    tokens: list[Token], path: str, pages: frozenset[str], pictures: Callable[[str], dict[str, str]]
) -> Iterator[Token]:
    """The tokens with links that lead below the help; one that leads out of it is its text alone."""
    open_links: list[bool] = []
    for token in tokens:
        if token.type == "link_open":
            address = address_of(str(token.attrGet("href") or ""), path, pages)
            open_links.append(address is not None)
            if address is None:
                continue
            token.attrSet("href", address)
        elif token.type == "link_close" and not open_links.pop():
            continue
        elif token.type == "image":
            yield from _themes(token, path, pictures)
            continue
        yield token


def address_of(target: str, path: str, pages: frozenset[str]) -> str | None:
    """A link's address, relative to the page of `path`; None if what it names is no page of the help."""
    if EXTERNAL.match(target) or target.startswith("#"):
        return target
    file, anchor = lead_to(target, path)
    name = name_of(file)
    if name not in pages:
        return None
    found = posixpath.relpath(name or ".", name_of(path) or ".")
    return f"{found}/" + (f"#{anchor}" if anchor else "")


def _themes(token: Token, path: str, pictures: Callable[[str], dict[str, str]]) -> Iterator[Token]:
    """A picture in the reader's theme, where there is one for each: CSS shows one, and the browser loads only that.

    It is small and leads to the whole one. One that isn't there is its text alone: a guard test fails for it, and the page is still one.
    """
    source, _ = lead_to(str(token.attrGet("src") or ""), path)
    both = [(source.replace("-light.", f"-{theme}."), f"lv-in-{theme}") for theme in ("light", "dark")]
    if "-light." not in source or not all(pictures(each) for each, _ in both):
        both = [(source, "")] if pictures(source) else []
    if not both:
        yield Token("text", "", 0, content=token.content)
    for each, shown in both:
        address = STATIC + PurePosixPath(each).name
        one = Token("image", "img", 0, attrs={**pictures(each), "alt": token.content, "loading": "lazy"})
        one.children, one.content = token.children, token.content
        whole = Token("link_open", "a", 1, attrs={"href": address, "class": f"lv-shot {shown}".strip()})
        yield from (whole, one, Token("link_close", "a", -1))
