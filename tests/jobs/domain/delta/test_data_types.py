"""Types as people write them: what Spark's words mean, what they are refused as, and what may widen."""

import pytest

from jobs.domain.delta.data_types import (
    WrongType,
    can_widen,
    features_of,
    parse_type,
    type_text,
    widenings,
    wider_decimals,
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("BIGINT", "long"),
        (" int ", "integer"),
        ("decimal", "decimal(10,0)"),
        ("DEC( 5 , 2 )", "decimal(5,2)"),
        ("array<int>", {"type": "array", "elementType": "integer", "containsNull": True}),
        ("map<string,array<date>>", None),
        ("struct<a:int, `b c` string COMMENT 'it\\'s \\\\'>", None),
        ("struct<a:array<struct<b:int COMMENT ''>>>", None),
    ],
)
def test_a_text_is_a_type_and_is_written_back(text, kind):
    found = parse_type(text)
    assert kind is None or found == kind
    assert parse_type(type_text(found)) == found


def test_a_struct_keeps_names_and_comments():
    found = parse_type("struct<a int, `b c`: string COMMENT 'it\\'s'>")
    assert isinstance(found, dict)
    assert [(field["name"], field["metadata"]) for field in found["fields"]] == [
        ("a", {}),
        ("b c", {"comment": "it's"}),
    ]


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("", "PARSE_SYNTAX_ERROR"),
        ("array<int", "PARSE_SYNTAX_ERROR"),
        ("int, b int", "PARSE_SYNTAX_ERROR"),
        ("int; DROP TABLE t", "PARSE_SYNTAX_ERROR"),
        ("struct<>", "PARSE_SYNTAX_ERROR"),
        ("numbers", "UNSUPPORTED_DATATYPE"),
        ("decimal(39,2)", "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION"),
        ("decimal(2,3)", None),
        (f"decimal({'1' * 5_000},2)", "PARSE_SYNTAX_ERROR"),
        ("struct<a:int NOT NULL>", "DELTA_OPERATION_NOT_ALLOWED"),
        ("varchar(5)", None),
        ("void", None),
        ("array<" * 30 + "int" + ">" * 30, None),
        ("int" * 5_000, None),
    ],
)
def test_anything_else_is_refused_in_sparks_words(text, condition):
    with pytest.raises(WrongType) as wrong:
        parse_type(text)
    assert (wrong.value.engine.condition if wrong.value.engine else None) == condition
    assert str(wrong.value)


NAMES = [
    "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(5,2)", "decimal(10,0)", "decimal(12,2)", "decimal(12,4)",
    "decimal(20,0)", "date", "timestamp", "timestamp_ntz", "string", "boolean", "binary",
]  # fmt: skip
# What Delta 4.4's TypeWidening.isTypeChangeSupported answers for these [run].
WIDER = {
    "tinyint": ["smallint", "int", "bigint", "double", "decimal(10,0)", "decimal(12,2)", "decimal(20,0)"],
    "smallint": ["int", "bigint", "double", "decimal(10,0)", "decimal(12,2)", "decimal(20,0)"],
    "int": ["bigint", "double", "decimal(10,0)", "decimal(12,2)", "decimal(20,0)"],
    "bigint": ["decimal(20,0)"],
    "float": ["double"],
    "decimal(5,2)": ["decimal(12,2)", "decimal(12,4)"],
    "decimal(10,0)": ["decimal(12,2)", "decimal(20,0)"],
    "decimal(12,2)": [],
    "date": ["timestamp_ntz"],
}


@pytest.mark.parametrize("before", NAMES)
def test_what_widens_is_what_delta_widens(before):
    kind = parse_type(before)
    assert [after for after in NAMES if can_widen(kind, parse_type(after))] == WIDER.get(before, [])


def test_nested_types_never_widen_as_a_whole():
    assert not can_widen(parse_type("array<int>"), parse_type("array<bigint>"))
    assert widenings(parse_type("array<int>")) == widenings("string") == []
    assert widenings("integer") == ["bigint", "double", "decimal(10,0)", "decimal(20,0)"]


@pytest.mark.parametrize("before", NAMES)
def test_each_type_that_is_offered_is_one_that_delta_widens_to(before):
    kind = parse_type(before)
    assert all(can_widen(kind, parse_type(after)) for after in widenings(kind))
    assert bool(widenings(kind)) == (before in WIDER or before.startswith("decimal"))


def test_decimals_widen_until_they_are_as_wide_as_one_gets():
    assert widenings("decimal(5,2)") == ["decimal(6,2)", "decimal(6,3)"]
    assert widenings("decimal(38,2)") == []
    assert wider_decimals("decimal(38,2)") == wider_decimals("string") == ""
    assert wider_decimals("decimal(5,2)") == "any decimal with at least 3 digits before the point and 2 after it"
    assert wider_decimals("long") == "any decimal with at least 20 digits before the point"


def test_a_type_asks_for_its_features_however_deep():
    assert features_of(parse_type("struct<a:map<string,timestamp_ntz>,b:array<variant>>")) == {
        "timestampNtz",
        "variantType",
    }
    assert features_of("string") == frozenset()
