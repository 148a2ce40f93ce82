import pytest

from console.templatetags.formatting import quantities, texts, times
from tests.console.templatetags.rendering import shown


@pytest.mark.parametrize(
    "shape",
    [
        quantities.number,
        quantities.size,
        quantities.duration,
        times.ago,
        times.since,
        times.clock,
        times.exact,
        quantities.version,
    ],
)
def test_unknown_is_a_word_everywhere(shape):
    assert shape(None) == '<span class="lv-unknown">unknown</span>'


def test_unknown_says_why_and_escapes_it():
    assert texts.unknown('no "stats"') == '<abbr class="lv-unknown" title="no &quot;stats&quot;">unknown</abbr>'


def test_a_mapping_is_shown_with_a_key_called_items():
    source = "{% for name, value in values|pairs %}{{ name }}={{ value }};{% endfor %}"
    assert shown(source, values={"items": "<1>", "b": 2}) == "items=&lt;1&gt;;b=2;"
    assert shown(source, values=None) == ""


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
    assert texts.spark_type(kind) == text


@pytest.mark.parametrize(
    ("text", "look"),
    [
        ("a" * 32, ""),
        ("a" * 33, " lv-long"),
        (f"short {'a' * 33}", " lv-long"),
        ("many short words, none of them long", ""),
        (None, ""),
    ],
)
def test_a_text_with_a_long_word_breaks_anywhere_and_no_other(text, look):
    assert texts.long_word(text) == look
