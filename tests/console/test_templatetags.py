"""The words and marks that every page shares."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from django import forms
from django.conf import settings as levee_settings
from django.template import Context, Template
from django.test import override_settings
from django.utils import timezone

from console.templatetags import inspection, levee
from jobs.domain.states import State

NOW = datetime(2026, 11, 20, 22, 8, 36, tzinfo=UTC)
PLAIN_FILES = {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}


@pytest.fixture(autouse=True)
def _plain_static_files(settings):
    with override_settings(STORAGES=settings.STORAGES | PLAIN_FILES, STATIC_URL="/static/"):
        yield


@pytest.fixture
def _frozen(monkeypatch):
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)


def shown(source: str, **facts) -> str:
    return Template(source).render(Context(facts))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1_023, "1,023 B"),
        (1_024, "1.00 KiB"),
        (10_239, "10.0 KiB"),
        (1_047_552, "1,023 KiB"),
        (1_048_063, "1,023 KiB"),
        (1_048_064, "1.00 MiB"),
        (90_838_859_776, "84.6 GiB"),
        (2**70, "1,024 EiB"),
    ],
)
def test_sizes_have_three_digits_and_binary_units(value, text):
    assert levee.size(value) == text


def test_a_size_never_reads_as_1024_of_a_smaller_unit():
    for power in (20, 30, 40, 50):
        for below in (1, 2**8, 2 ** (power - 12)):
            assert not levee.size(2**power - below).startswith("1,024 ")


def test_numbers_have_separators():
    assert levee.number(1_284_930_112) == "1,284,930,112"


@pytest.mark.parametrize(
    "shape", [levee.number, levee.size, levee.duration, levee.ago, levee.since, levee.clock, levee.exact, levee.version]
)
def test_unknown_is_a_word_everywhere(shape):
    assert shape(None) == '<span class="lv-unknown">unknown</span>'


def test_a_mapping_is_shown_with_a_key_called_items():
    source = "{% for name, value in values|pairs %}{{ name }}={{ value }};{% endfor %}"
    assert shown(source, values={"items": "<1>", "b": 2}) == "items=&lt;1&gt;;b=2;"
    assert shown(source, values=None) == ""


def test_unknown_says_why_and_escapes_it():
    assert levee.unknown('no "stats"') == '<abbr class="lv-unknown" title="no &quot;stats&quot;">unknown</abbr>'


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.04, "0.1 s"),
        (0.4, "0.4 s"),
        (0.97, "1 s"),
        (38, "38 s"),
        (59.6, "1 min"),
        (115, "1 min 55 s"),
        (3_599.7, "1 h"),
        (10_920, "3 h 2 min"),
        (86_400, "1 day"),
        (187_200, "2 days 4 h"),
        (timedelta(minutes=2, seconds=5), "2 min 5 s"),
        (-3, "0 s"),
    ],
)
def test_durations_have_at_most_two_units(seconds, text):
    assert levee.duration(seconds) == text


@pytest.mark.usefixtures("_frozen")
@pytest.mark.parametrize(
    ("distance", "text"),
    [
        (timedelta(0), "now"),
        (timedelta(seconds=4), "4 s ago"),
        (timedelta(minutes=40), "40 min ago"),
        (timedelta(hours=15), "15 h ago"),
        (timedelta(hours=30), "yesterday"),
        (timedelta(days=4), "4 days ago"),
        (timedelta(days=60), "21 Sep"),
        (timedelta(days=700), "20 Dec 2024"),
        (timedelta(hours=-21), "in 21 h"),
        (timedelta(hours=-25), "tomorrow"),
        (timedelta(days=-6), "in 6 days"),
    ],
)
def test_a_time_is_relative_in_the_text(distance, text):
    assert levee.ago(NOW - distance).endswith(f">{text}</time>")


@pytest.mark.usefixtures("_frozen")
def test_a_time_is_exact_in_utc_on_hover_and_in_data():
    element = levee.ago(datetime.fromisoformat("2026-11-20T23:06:02.123456+01:00"))
    assert element == '<time datetime="2026-11-20T22:06:02Z" title="2026-11-20 22:06:02 UTC">2 min ago</time>'


@pytest.mark.usefixtures("_frozen")
def test_times_are_read_from_stored_json_too():
    assert levee.clock("2026-11-20T22:06:02Z").endswith(">22:06:02</time>")
    assert levee.exact("2026-11-20T22:06:02").endswith(">2026-11-20 22:06:02 UTC</time>")
    assert levee.since("2026-11-20T22:06:02+00:00").endswith(">2 min 34 s</time>")


def test_a_text_that_is_no_time_is_an_error():
    with pytest.raises(ValueError, match="not a time"):
        levee.ago("soon")


def test_every_state_of_a_job_has_a_look_of_its_own():
    assert {state.value for state in State} <= set(levee.STATE_LOOKS)
    words = [levee.STATE_LOOKS[state.value].word for state in State]
    assert len(words) == len(set(words))


def test_every_icon_that_templates_and_looks_name_is_in_the_sprite():
    frontend = Path(levee_settings.BASE_DIR) / "frontend"
    sprite = {line.strip() for line in (frontend / "icons.txt").read_text().splitlines() if line.strip()}
    used = {
        look.icon
        for looks in (levee.STATE_LOOKS, levee.LEVEL_LOOKS, levee.STAGE_LOOKS, levee.EVENT_LOOKS)
        for look in looks.values()
    }
    used.add(levee.ANY_EVENT.icon)
    for template in (frontend / "templates").rglob("*.html"):
        used |= set(re.findall(r'{% icon "([^"]+)"', template.read_text()))
        used |= set(re.findall(r'icon_name="([^"]+)"', template.read_text()))
    assert used - sprite == set()


def test_a_status_is_icon_and_word():
    status = shown("{% status state %}", state="failed")
    assert "lv-is-bad" in status
    assert "icons.svg#circle-x" in status
    assert status.endswith(">Failed</span>".removeprefix(">"))
    assert "lv-pill" not in status
    assert "lv-pill" in shown("{% status 'failed' pill=True %}")


def test_an_icon_is_silent_without_a_label_and_speaks_with_one():
    assert 'aria-hidden="true"' in shown('{% icon "clock" %}')
    labelled = shown('{% icon "clock" label=label %}', label='a "late" one')
    assert 'role="img" aria-label="a &quot;late&quot; one"' in labelled
    assert "lv-turn" in shown('{% icon "loader-2" %}')


def test_an_event_of_an_unheard_of_kind_is_a_plain_point():
    assert levee.event_look("note") is levee.ANY_EVENT


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("long", "bigint"),
        ("decimal(10,2)", "decimal(10,2)"),
        ({"type": "array", "elementType": "integer", "containsNull": True}, "array<int>"),
        ({"type": "map", "keyType": "string", "valueType": "short"}, "map<string,smallint>"),
        (
            {"type": "struct", "fields": [{"name": "a", "type": {"type": "array", "elementType": "byte"}}]},
            "struct<a:array<tinyint>>",
        ),
        ({"type": "udt", "class": "x"}, "{'type': 'udt', 'class': 'x'}"),
    ],
)
def test_types_read_as_spark_prints_them(kind, text):
    assert levee.spark_type(kind) == text


@pytest.mark.parametrize(
    ("view_name", "marked"), [("tables:list", True), ("tables:history", True), ("jobs:list", False), ("", False)]
)
def test_the_navigation_marks_where_one_is(view_name, marked):
    request = SimpleNamespace(resolver_match=SimpleNamespace(view_name=view_name))
    assert (shown('{% current "tables:" "jobs:convert" %}', request=request) == ' aria-current="page"') is marked


def test_the_navigation_marks_nothing_on_a_page_without_a_route():
    assert shown('{% current "home" %}') == ""
    assert shown('{% current "home" %}', request=SimpleNamespace(resolver_match=None)) == ""


def test_a_control_has_the_classes_of_its_kind_and_keeps_its_attributes():
    class Sample(forms.Form):
        name = forms.CharField(widget=forms.TextInput({"autocomplete": "username"}))
        kind = forms.ChoiceField(choices=[("a", "a")])
        sure = forms.BooleanField()

    form = Sample()
    assert 'class="form-control"' in levee.control(form["name"])
    assert 'autocomplete="username"' in levee.control(form["name"])
    assert 'class="form-control lv-select"' in levee.control(form["kind"])
    assert "class=" not in levee.control(form["sure"])


@pytest.mark.parametrize(
    ("name", "text"),
    [("day", "day"), ("loaded at", "`loaded at`"), ("a`b", "`a``b`"), ("1st", "`1st`"), ("größe", "`größe`")],
)
def test_names_are_quoted_where_a_statement_needs_it(name, text):
    assert inspection.as_identifier(name) == text


def test_a_timestamp_stands_in_backquotes_in_a_partition_schema():
    assert inspection.as_type("timestamp") == "`timestamp`"
    assert inspection.as_type("date") == "date"


def test_columns_that_disagree_come_first_and_the_rest_are_equal():
    rows = inspection.schema_rows(
        {
            "conflicts": [
                {"column": "qty", "types": {"smallint": 2, "int": 3}, "fatal": False, "text": "widened"},
                {"column": "amount", "types": {"int": 3, "bigint": 1}, "fatal": True, "text": "conflict"},
            ],
            "schema": {"fields": [{"name": "qty", "type": "integer"}, {"name": "id", "type": "long"}]},
        }
    )
    assert [(row.word, row.column, row.type) for row in rows] == [
        ("conflict", "amount", "int, bigint"),
        ("merged", "qty", "smallint, int"),
        ("same", "id", "bigint"),
    ]


def test_a_schema_that_can_not_be_merged_shows_what_is_known():
    assert inspection.schema_rows({"conflicts": [], "schema": None}) == []


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [(70, 61, 1), (None, 61, 1), (130, 61, 2), (3 * 86_400, 86_400, 2)],
)
def test_a_span_of_times_says_what_reads_alike_once(first, last, said):
    now = timezone.now()
    times = [None if ago is None else now - timedelta(seconds=ago) for ago in (first, last)]
    found = levee.ago_between(*times)
    assert found.count("<time") == said
    assert found.count(" – ") == said - 1
