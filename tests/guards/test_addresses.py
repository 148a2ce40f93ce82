"""Every address of a page or a script is made from a route: one that begins at the root would miss an instance below a path."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEMPLATES = sorted((ROOT / "frontend" / "templates").rglob("*.html"))
SCRIPTS = sorted((ROOT / "frontend" / "js").rglob("*.js"))
STYLES = sorted((ROOT / "frontend" / "styles").rglob("*.scss")) + sorted((ROOT / "frontend" / "styles").rglob("*.css"))
CODE = sorted(
    p for room in ("console", "tables", "jobs") for p in (ROOT / room).rglob("*.py") if "migrations" not in p.parts
)

IN_TEMPLATES = re.compile(
    r"""\s(?:href|src|action|formaction|poster|data-[a-z-]*url|hx-(?:get|post|put|patch|delete|push-url))\s*=\s*["']?/"""
)
IN_SCRIPTS = re.compile(r"""["'`]/[A-Za-z0-9$]""")
IN_STYLES = re.compile(r"""url\(\s*["']?/""")
# What sends a browser somewhere. The API's and the probes' own addresses are compared below `path_info`, never sent.
IN_CODE = re.compile(r"""(?:redirect|Http\w*Redirect|replace_query_param)\(\s*f?["']/|request\.path\.startswith""")


def found(files: list[Path], pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_template_has_an_address_that_begins_at_the_root():
    assert found(TEMPLATES, IN_TEMPLATES) == []


def test_no_script_or_style_has_one():
    assert found(SCRIPTS, IN_SCRIPTS) == []
    assert found(STYLES, IN_STYLES) == []


def test_no_code_sends_a_browser_to_one_or_takes_the_prefix_for_a_part_of_its_path():
    assert found(CODE, IN_CODE) == []


def test_they_are_looked_for_where_they_were_found_before(tmp_path):
    assert len(TEMPLATES) > 100
    assert len(SCRIPTS) > 5
    assert IN_TEMPLATES.search('<a class="btn" href="/">')
    assert IN_TEMPLATES.search('<form hx-post="/jobs/">')
    assert not IN_TEMPLATES.search('<input data-hotkey="/">')
    assert IN_SCRIPTS.search('fetch("/api/v1/tables")')
    assert IN_STYLES.search("url('/static/x.svg')")
    assert IN_CODE.search('if request.path.startswith("/api/"):')
    assert IN_CODE.search('return redirect("/tables/")')
