"""What of the stylesheet and of markup can be told without eyes."""

import re
from pathlib import Path

import pytest
from django.template.loader import render_to_string
from django.utils import timezone

from console.templatetags.formatting.looks import STATE_LOOKS
from jobs.models import Schedule, Stream
from jobs.web.schedules import lines
from jobs.web.streams.states import LOOKS
from tables.catalog.roots.figures import RootFigures
from tables.models import Root
from tables.web.roots import presenters

FRONTEND = Path(__file__).parents[2] / "frontend"
STYLES, TEMPLATES = FRONTEND / "styles", FRONTEND / "templates"


def style(name):
    return (STYLES / name).read_text()


def test_a_saved_filter_keeps_its_padding():
    """The tabs of kinds and the pills of saved filters share a list: a rule of its links is for the tabs alone."""
    for name in ("home.css", "lists.css"):
        rules = re.findall(r"^\.lv-chips a[^{]*\{", style(name), re.M)
        assert all(":not(.lv-chip)" in rule for rule in rules), rules


def test_fields_of_a_filter_do_not_jump_for_an_error_below_one_of_them():
    (rule,) = re.findall(r"^\.lv-filter \{([^}]*)\}", style("forms.css"), re.M)
    assert "align-items: start" in rule


def test_a_number_has_a_field_of_its_size():
    rule = r'\.form-control:is\(\[type="number"\], \[inputmode="numeric"\]\) \{ max-width: \d+rem; \}'
    assert re.search(rule, style("forms.css"))


def test_a_wide_table_shows_that_it_goes_on():
    (rule,) = re.findall(r"^\.lv-scroll \{([^}]*)\}", style("data.css"), re.M)
    assert rule.count("local") == rule.count("scroll no-repeat") == 2


def test_what_a_form_is_for_stands_before_the_way_back():
    """Buttons keep their sides from page to page."""
    way_back = re.compile(r'class="btn"[^>]*>\s*(?:Back|Cancel|Stay|Deny)\s*<')
    turned = [
        path.name
        for path in TEMPLATES.rglob("*.html")
        for row in re.findall(r'<(?:div|p)[^>]*class="lv-(?:row|actions)[^>]*>.*?</(?:div|p)>', path.read_text(), re.S)
        if (found := way_back.search(row)) and re.search(r"btn-(?:primary|danger)\b", row[found.end() :])
    ]
    assert turned == []


@pytest.mark.parametrize(("sheet", "table"), [("data.css", "lv-table"), ("change.css", "lv-diff")])
def test_numbers_stand_under_numbers(sheet, table):
    (rule,) = re.findall(rf"^[^\n{{]*\.{table} (?:td)?\.n \{{([^}}]*text-align[^}}]*)\}}", style(sheet), re.M)
    assert "text-align: right" in rule


@pytest.mark.parametrize(
    ("page", "note", "table"),
    [
        ("profiles/profile.html", "lv-note", "profiles/_columns.html"), ("profiles/_by_rows.html", "lv-note", "lv-scroll"),
        ("reads/_row_diff.html", "reads/_row_diff_source.html", "reads/_cells.html"),
    ],
)  # fmt: skip
def test_a_table_keeps_apart_from_the_note_above_it(page, note, table):
    text = (TEMPLATES / "jobs" / page).read_text()
    places = [text.index(part) for part in ('<div class="lv-stack">', note, table)]
    assert places == sorted(places)


def test_blanks_in_markup_part_no_breadcrumbs():
    (rule,) = re.findall(r"^\.lv-crumbs li \{([^}]*)\}", style("frame.css"), re.M)
    assert "display: flex" in rule


@pytest.mark.parametrize("state", list(Stream.State))
def test_a_state_of_a_stream_has_one_look_everywhere(state):
    assert STATE_LOOKS[state] == LOOKS[state]


def test_what_is_paused_has_one_look():
    assert presenters.look(Root(paused_at=timezone.now()), RootFigures()) == lines.LOOKS[Schedule.State.PAUSED]
    assert STATE_LOOKS["paused"].icon == "player-pause"


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({}, ""),
        ({"stops": 2}, "2 blocking"),
        ({"note_count": 1}, "1 note"),
        ({"stops": 1, "decisions": [1], "note_count": 2}, "1 blocking, 1 to decide, 2 notes"),
        ({"decisions": [1], "note_count": 1}, "1 to decide, 1 note"),
    ],
)
def test_findings_are_counted_where_there_are_some(facts, says):
    given = {"stops": 0, "decisions": [], "note_count": 0} | facts
    html = render_to_string("jobs/convert/_counts.html", given)
    assert " ".join(re.sub(r"<[^>]+>", "", html).split()) == says


def test_the_box_of_a_focused_name_covers_no_line_below_it():
    """A name that is cut has its path in small print right below."""
    rule = re.search(r"^\.lv-clip:focus-visible \{[^}]*outline-offset: (-?\d+)px", style("data.css"), re.M)
    assert rule
    assert int(rule[1]) <= -2
