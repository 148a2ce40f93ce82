"""docs/ leads nowhere that isn't there, every page is in the navigation of the help, and every term of a page has its paragraph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from console.pages.help import build, rendering
from console.pages.help.rendering import Document
from console.templatetags.help import CONCEPTS

ROOT = Path(__file__).parents[2]
OUTSIDE = ("README.md", "CHANGELOG.md")
TERM = re.compile(r"""{%\s*term\s+"([^"]*)\"""")
FOUND = build.documents()
NO_PAGE = {
    "concepts": "the introduction of the page itself",
    "fencing": "part of reconciling, whose paragraph names it; no page of the console does",
}


def documents() -> Iterator[tuple[Path, Document]]:
    """Every Markdown file that people read, with where it lies."""
    yield from ((build.DOCS / path, document) for path, document in FOUND.items())
    yield from ((ROOT / name, rendering.read(name, (ROOT / name).read_text())) for name in OUTSIDE)


def trouble(file: Path, target: str) -> str | None:
    """Why a link of the file leads nowhere; None when it does, or when it leads out of the project."""
    if rendering.EXTERNAL.match(target):
        return None
    name, _, anchor = target.partition("#")
    aim = (file.parent / name).resolve() if name else file
    if not aim.exists():
        return f"{file.relative_to(ROOT)}: {target} isn’t there"
    if anchor and anchor not in rendering.read("x.md", aim.read_text()).anchors:
        return f"{file.relative_to(ROOT)}: {target} has no such heading"
    return None


def test_every_link_and_picture_is_there():
    links = [(file, link.target) for file, document in documents() for link in document.links]
    assert len(links) > 150
    assert [said for file, target in links if (said := trouble(file, target))] == []


def test_a_broken_link_is_found():
    page = build.DOCS / "index.md"
    assert trouble(page, "nowhere.md") is not None
    assert trouble(page, "concepts.md#no-such-term") is not None
    assert trouble(page, "screenshots/none.png") is not None
    assert trouble(page, "concepts.md#reach") is None


def test_a_file_that_is_named_in_text_is_there():
    """Code and pages name files of docs/ without a link, where a link can't be."""
    named = re.compile(r"\bdocs/[\w/.-]+\.(?:md|png|json)\b")
    rooms = [file for app in ("console", "tables", "jobs", "frontend/templates") for file in (ROOT / app).rglob("*.*")]
    texts = [file for file in rooms if file.suffix in (".py", ".html")] + list(build.DOCS.rglob("*.md"))
    found = {(file, name) for file in texts for name in named.findall(file.read_text())}
    assert [f"{file.relative_to(ROOT)}: {name}" for file, name in found if not (ROOT / name).is_file()] == []


def rooms_drawn() -> set[str]:
    """The rooms in the handbook's tree, as paths. Names stand before a line's text, each with two blanks after it."""
    tree = (build.DOCS / "development.md").read_text().split("## The building")[1].split("```")[1]
    drawn: set[str] = set()
    app = ""
    for line in tree.strip().splitlines():
        if not line.startswith(" "):
            app = line.split("/")[0]
        else:
            drawn |= {f"{app}/{name}" for name in re.findall(r"^ {2,}((?:[a-z_]+/? *(?: {2}|$))+)", line)[0].split()}
    return {path.removesuffix("/") for path in drawn}


def test_the_tree_of_the_handbook_has_every_room_and_no_other():
    rooms = {
        str(place.relative_to(ROOT))
        for app in ("console", "tables", "jobs")
        for place in (ROOT / app).iterdir()
        if place.is_dir() and place.name not in ("migrations", "__pycache__")
    }
    drawn = rooms_drawn()
    assert rooms - drawn == set()
    assert [path for path in drawn - rooms if not (ROOT / f"{path}.py").is_file()] == []


def test_what_the_handbook_names_is_there():
    """Files by their path in the project, and targets of the Makefile."""
    text = (build.DOCS / "development.md").read_text()
    named = set(re.findall(r"`((?:console|tables|jobs|tests|frontend|docs)/[\w/.-]*)", text))
    assert len(named) > 40
    assert [name for name in named if not name.endswith(("/", "-")) and not (ROOT / name).exists()] == []
    assert [name for name in named if name.endswith("/") and not (ROOT / name).is_dir()] == []
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"`make ([a-z-]+)", text)) <= targets


def test_every_page_is_in_the_navigation_once():
    listed = [entry["name"] for section in build.navigation(FOUND) for entry in section["pages"]]
    missing = {document.name for document in FOUND.values()} - {""} - set(listed)
    assert missing == set(), "docs/index.md lists every page; a link to a folder stands for all pages in it"
    assert len(listed) == len(set(listed))


def test_every_page_begins_with_its_one_title():
    levels = {path: [section.heading.level for section in document.sections] for path, document in FOUND.items()}
    assert [path for path, each in levels.items() if each[0] != 1 or each.count(1) != 1] == []


def test_every_term_of_a_template_has_its_paragraph():
    templates = sorted((ROOT / "frontend" / "templates").rglob("*.html"))
    used = [(template, anchor) for template in templates for anchor in TERM.findall(template.read_text())]
    assert len(used) >= 12
    paragraphs = {s.heading.anchor for s in FOUND[f"{CONCEPTS}.md"].sections if s.text.strip()}
    assert [f"{template.relative_to(ROOT)}: {anchor}" for template, anchor in used if anchor not in paragraphs] == []
    written = sum(template.read_text().count("{% term ") for template in templates)
    assert written == len(used), "a term is a literal, so that this test sees it"
    assert paragraphs - {anchor for _, anchor in used} == set(NO_PAGE), (
        "every other paragraph has a question mark that leads to it"
    )
