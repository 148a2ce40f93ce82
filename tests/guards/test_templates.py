"""The content policy allows no inline script or style, and table data is hostile: what templates may not hold."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEMPLATES = sorted((ROOT / "frontend" / "templates").rglob("*.html"))
SOURCES = sorted(p for room in ("console", "tables", "jobs") for p in (ROOT / room).rglob("*.py"))
SCRIPTS = sorted((ROOT / "frontend" / "js").rglob("*.js"))

FORBIDDEN = {
    "a filter that trusts text": r"\|\s*(safe|safeseq)\b",
    "autoescape turned off": r"{%\s*autoescape\s+off",
    "an inline script": r"<script(?![^>]*\bsrc=)[^>]*>",
    "an inline style": r"<style\b",
    "a style attribute": r"\sstyle\s*=",
    "an event handler": r"\son[a-z]+\s*=\s*[\"'{]",
    "a javascript address": r"javascript:",
    "a mapping's items, which its own key of that name would hide (use the filter pairs)": r"\.items\b",
    "evaluation by htmx": r"hx-(on|vals)\s*[:=][^>]*js:",
}


def test_there_are_templates():
    assert len(TEMPLATES) > 10


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_template_holds(what):
    pattern = re.compile(FORBIDDEN[what], re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in TEMPLATES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]
    assert not found


# Diffs, reviews and search results show a line at a time; a longer one hides its conditions from all three.
LONGEST_LINE = 200


def test_no_line_is_too_long_to_be_read():
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in TEMPLATES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > LONGEST_LINE
    ]
    assert not long


# Markup that Django itself made of a form field, and a literal; the help's pages, made from docs/ at set-up: no text of anybody's.
TRUSTED = {
    "console/templatetags/formatting/fields.py": 1,
    "console/pages/help/site.py": 1,
}


def test_no_code_marks_text_as_safe():
    """`format_html` escapes what it is given; `mark_safe` and `SafeString` don't."""
    found = {str(p.relative_to(ROOT)): len(re.findall(r"\bmark_safe\b|\bSafeString\(", p.read_text())) for p in SOURCES}
    assert {name: times for name, times in found.items() if times} == TRUSTED


def test_no_script_writes_markup():
    pattern = re.compile(r"\.(innerHTML|outerHTML)\s*[+]?=|insertAdjacentHTML|document\.write|\beval\(|new Function\(")
    found = [str(p.relative_to(ROOT)) for p in SCRIPTS if pattern.search(p.read_text())]
    assert not found


# `j` and `k` go along the names of what says `data-list` (frontend/js/keys.js).
TABLE = re.compile(r"<table\b[^>]*>.*?</table>", re.DOTALL)
NAME_LINK = re.compile(r'<a\b[^>]*\bclass="lv-name\b')
INCLUDE = re.compile(r'{% include "([^"]+)"')


def in_full(text: str) -> str:
    """A template's text with what it includes by name."""
    return INCLUDE.sub(lambda found: in_full((ROOT / "frontend" / "templates" / found[1]).read_text()), text)


def tables_of_names() -> list[tuple[Path, str]]:
    """The opening tag of each table whose rows have a link in their name."""
    found = [(path, table) for path in TEMPLATES for table in TABLE.findall(path.read_text())]
    return [(path, table.split(">")[0]) for path, table in found if NAME_LINK.search(in_full(table))]


def test_there_are_tables_of_names():
    assert len(tables_of_names()) > 20


def test_keys_go_along_every_table_of_names():
    assert not [f"{path.relative_to(ROOT)}: {tag}>" for path, tag in tables_of_names() if "data-list" not in tag]


def test_who_can_approve_stands_wherever_a_request_needs_approvals():
    """Before it is made: a request that nobody can approve isn't worth its reason."""
    needs = re.compile(r'(?:needs|waits for) \{\{ [\w.]+\|counted:"approval"', re.IGNORECASE)
    telling = [path for path in TEMPLATES if needs.search(path.read_text())]
    assert len(telling) >= 6
    lacking = [str(path) for path in telling if "_candidates.html" not in path.read_text()]
    assert lacking == []
