"""The schema of a source: what a person may give, and what the steps make of it."""

import json

import pytest

from jobs.commands.stream_round.rules import Steps
from jobs.domain.errors import CommandRefused
from jobs.domain.predicates.stored import from_json
from jobs.domain.predicates.tree import columns
from jobs.streams.source_schema import MAX_COLUMNS, parse_source_schema, parsed
from jobs.streams.steps import after_steps, read_filter


def field(name, kind="string", nullable=True, **metadata):
    return {"name": name, "type": kind, "nullable": nullable, "metadata": metadata}


def struct(*fields):
    return {"type": "struct", "fields": list(fields)}


def array(kind):
    return {"type": "array", "elementType": kind, "containsNull": True}


def refusal(call, *args):
    with pytest.raises(CommandRefused) as caught:
        call(*args)
    (found,) = caught.value.refusals
    return found


DDL = """id BIGINT NOT NULL, at TIMESTAMP, price DECIMAL(10,2), tags ARRAY<STRING>,
    place STRUCT<lat: DOUBLE, lon: DOUBLE NOT NULL>, m MAP<STRING,INT>, `a ``b` dec( 5 )"""
SOURCE = struct(
    field("id", "long", False),
    field("at", "timestamp"),
    field("price", "decimal(10,2)"),
    field("tags", array("string")),
    field("place", struct(field("lat", "double"), field("lon", "double", False))),
    field("m", {"type": "map", "keyType": "string", "valueType": "integer", "valueContainsNull": True}),
    field("a `b", "decimal(5,0)"),
)


def test_ddl_is_read():
    assert parse_source_schema(DDL) == SOURCE


@pytest.mark.parametrize("given", [SOURCE, json.dumps(SOURCE), f"  {json.dumps(SOURCE)}\n"])
def test_json_is_read_as_values_and_as_text(given):
    assert parse_source_schema(given) == SOURCE


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("BYTE", "byte"), ("tinyint", "byte"), ("smallint", "short"), ("short", "short"), ("Integer", "integer"), ("int", "integer"),
        ("long", "long"), ("real", "float"), ("double", "double"), ("boolean", "boolean"), ("binary", "binary"), ("date", "date"),
        ("timestamp_ltz", "timestamp"), ("timestamp_ntz", "timestamp_ntz"), ("decimal", "decimal(10,0)"),
        ("numeric(38,38)", "decimal(38,38)"),
        ("array<array<int>>", array(array("integer"))),
    ],
)  # fmt: skip
def test_types_by_all_their_names(written, kind):
    assert parse_source_schema(f"c {written}") == struct(field("c", kind))
    assert parse_source_schema(f"c: {written}") == struct(field("c", kind))
    if isinstance(kind, str):
        assert parse_source_schema(struct(field("c", written))) == struct(field("c", kind))


def test_only_the_comment_of_a_column_is_kept():
    given = struct(
        {**field("c"), "metadata": {"comment": "why", "delta.generationExpression": "1", "CURRENT_DEFAULT": "2"}}
    )
    assert parse_source_schema(given) == struct(field("c", comment="why"))
    assert parse_source_schema(struct(field("c", comment="a\x00\ud800"))) == struct(field("c", comment="a␀?"))


def test_what_json_may_leave_out():
    assert parse_source_schema({"type": "struct", "fields": [{"name": "c", "type": "int"}]}) == struct(
        field("c", "integer")
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "names no columns"),
        (" \n ", "names no columns"),
        ("id", "position 3: a type was expected, found the end"),
        ("id int,", "a column’s name was expected"),
        ("id int int", "position 8: a comma or the end was expected, found `int`"),
        ("id money", "position 4: money isn’t a type"),
        ("id char(5)", "char(5) isn’t a type"),
        ("id decimal(39,1)", "decimal(39,1) isn’t a type"),
        ("id decimal(5,6)", "decimal(5,6) isn’t a type"),
        ("id decimal(5", "closing bracket"),
        ("id decimal(a)", "found `a`"),
        ("id void", "type void"),
        ("id ARRAY<null>", "type void"),
        ("id int not", "NULL was expected"),
        ("id int not blank", "NULL was expected"),
        ("id int comment 'x'", "found `comment`"),
        ("id array", "< was expected"),
        ("id array<int", "> was expected, found the end"),
        ("id map<string>", ", was expected"),
        ("id struct<>", "name was expected, found `>`"),
        ("struct<id: int>", "found `<`"),
        ("id int; drop table t", "found `;`"),
        ("`` int", "name was expected"),
        ("`a int", "name was expected, found ```"),
        ("`a\nb` int", "can’t be seen"),
        ("id int \ud800", "found `'\\ud800'`"),
        ("id int, ID string", "id and ID are one name"),
        ("id int, id string", "id is named twice"),
        ("s struct<a: int, A: int>", "a and A are one name"),
        ("x " + "array<" * 20 + "int" + ">" * 20, "deeper than 20"),
        (", ".join(f"c{n} int" for n in range(MAX_COLUMNS + 1)), "more than 2,000 columns"),
        ("s struct<" + ", ".join(f"c{n} int" for n in range(MAX_COLUMNS)) + ">", "more than 2,000 columns"),
        ("`" + "ü" * 100_000 + "` int", "longer than 200 kB"),
    ],
    ids=lambda text: text[:30],
)  # fmt: skip
def test_ddl_that_is_refused(text, words):
    found = refusal(parse_source_schema, text)
    assert (found.code, found.place) == ("schema_refused", "source.schema")
    assert words in found.message
    assert found.remedy


def test_the_limits_themselves_are_taken():
    for before in ("array<", "map<int,", "struct<a: "):
        parse_source_schema("x " + before * 19 + "int" + ">" * 19)
        assert "deeper than 20" in refusal(parse_source_schema, "x " + before * 20 + "int" + ">" * 20).message
    parse_source_schema("x " + "map<" * 19 + "int" + ",int>" * 19)
    assert len(parse_source_schema(", ".join(f"c{n} int" for n in range(MAX_COLUMNS)))["fields"]) == MAX_COLUMNS


def deep(levels):
    kind = "string"
    for _ in range(levels):
        kind = array(kind)
    return struct(field("x", kind))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "a struct was expected"),
        (struct(), "names no columns"),
        ('{"type": "struct"', "not JSON"),
        ('["id"]', "a struct was expected"),
        ('"id"', "a struct was expected"),
        (7, "neither a text nor a struct"),
        ({"type": {1, 2}}, "no JSON"),
        (struct("id"), "column 1: a column is an object"),
        (struct(field("a"), {"name": 7, "type": "int"}), "column 2: a column is an object"),
        (struct(field("")), "name is empty"),
        (struct(field("a\x00b")), "can’t be seen"),
        (struct(field("a\ud800b")), "can’t be seen"),
        ('{"type": ' + "1" * 5000 + "}", "number is too long"),
        (struct(field("a", None)), "a: its type is neither"),
        (struct(field("a", {"type": "udt"})), "a: its type is neither"),
        (struct(field("a", struct())), "a: it names no columns"),
        (struct(field("a", array("void"))), "a.element: a column of type void"),
        (struct(field("a", struct(field("b", "money")))), "a.b: money isn’t a type"),
        (struct(field("a", "big int")), "big int isn’t a type"),
        (struct({**field("a"), "nullable": "yes"}), "nullable is true or false"),
        (struct(field("a", struct(field("b"), field("B")))), "a: b and B"),
        (deep(20), "deeper than 20"),
        (deep(100_000), "nested too deeply"),
        ("[" * 100_000, "nested too deeply"),
    ],
)  # fmt: skip
def test_json_that_is_refused(given, words):
    found = refusal(parse_source_schema, given)
    assert (found.code, found.place) == ("schema_refused", "source.schema")
    assert words in found.message


def test_a_tables_schema_is_taken_as_it_is():
    table = struct(field("i", "long", False, **{"delta.identity.start": 1}))
    assert parsed(json.dumps(table)) == table
    with pytest.raises(ValueError, match="not a struct"):
        parsed('"long"')


# Steps


def names(result):
    return [(item["name"], item["type"], item["nullable"]) for item in result["fields"]]


ROWS = struct(
    field("id", "long", False),
    field("price", "string"),
    field("Day", "date"),
    field("s", struct(field("x", "integer"))),
)


def test_no_steps_change_nothing():
    assert after_steps(ROWS, Steps()) == ROWS


def test_all_steps_in_order():
    tree, text = read_filter(
        "Amount > 5 AND s.X = 1", ROWS, Steps(rename={"PRICE": "amount"}, cast={"amount": "DEC(10,2)"})
    )
    assert text == "amount > 5 AND s.x = 1"
    steps = Steps(
        rename={"PRICE": "amount"}, cast={"AMOUNT": "DEC(10,2)"}, filter=tree, filter_text=text, select=("day", "Amount"),
        group_by=("DAY",), count_as="rows",
    )  # fmt: skip
    assert names(after_steps(ROWS, steps)) == [("DAY", "date", True), ("rows", "long", False)]
    before = Steps(rename=steps.rename, cast=steps.cast, filter=tree, select=steps.select)
    assert names(after_steps(ROWS, before)) == [("day", "date", True), ("Amount", "decimal(10,2)", True)]
    assert ROWS["fields"][1]["name"] == "price"  # untouched


def test_a_global_count():
    assert names(after_steps(ROWS, Steps(count_as="n"))) == [("n", "long", False)]


def test_a_name_may_change_its_case_and_a_cast_may_keep_the_type():
    result = after_steps(ROWS, Steps(rename={"id": "ID"}, cast={"id": "bigint"}))
    assert names(result)[0] == ("id", "long", True)


@pytest.mark.parametrize(
    ("place", "steps", "words"),
    [
        ("rename", Steps(rename={"no": "x"}), "no column no"),
        ("rename", Steps(rename={"s.x": "x"}), "no column s.x"),
        ("rename", Steps(rename={"id": "PRICE"}), "there is a column price already"),
        ("rename", Steps(rename={"id": "price", "price": "id"}), "can’t be renamed to price"),
        ("rename", Steps(rename={"id": "n", "price": "N"}), "there is a column N already"),
        ("rename", Steps(rename={"id": "day"}), "there is a column Day already"),
        ("rename", Steps(rename={"id": "n", "ID": "m"}), "id is renamed twice"),
        ("rename", Steps(rename={"id": ""}), "can’t be a column’s name"),
        ("rename", Steps(rename={"id": "a\x00"}), "can’t be a column’s name"),
        ("cast", Steps(cast={"no": "int"}), "no column no"),
        ("cast", Steps(rename={"id": "n"}, cast={"id": "int"}), "no column id"),
        ("cast", Steps(cast={"id": "money"}), "money"),
        ("cast", Steps(cast={"id": "date"}), "id is bigint, which Spark can’t cast to date"),
        ("cast", Steps(cast={"s": "string"}), "s is a column of type struct"),
        ("cast", Steps(cast={"id": "int", "ID": "string"}), "cast twice"),
        ("filter", Steps(filter={"node": "mystery"}), "no stored predicate"),
        ("filter", Steps(filter={"node": "isnull", "operand": {"node": "column", "path": ["gone"]}, "negated": True}), "no column gone"),
        ("select", Steps(select=("id", "no")), "no column no"),
        ("select", Steps(select=("id", "ID")), "ID is named twice"),
        ("select", Steps(select=("",)), "no column"),
        ("aggregate", Steps(group_by=("id",)), "has no name"),
        ("aggregate", Steps(group_by=("no",), count_as="n"), "no column no"),
        ("aggregate", Steps(group_by=("id", "id"), count_as="n"), "id is named twice"),
        ("aggregate", Steps(group_by=("id",), count_as="ID"), "can’t be called ID"),
        ("aggregate", Steps(count_as=""), "can’t be a column’s name"),
        ("aggregate", Steps(group_by=("Day",), count_as="day"), "can’t be called day"),
        ("aggregate", Steps(select=("id",), group_by=("price",), count_as="n"), "no column price"),
    ],
)  # fmt: skip
def test_a_step_that_is_refused(place, steps, words):
    found = refusal(after_steps, ROWS, steps)
    assert (found.code, found.place) == ("step_refused", place)
    assert words in found.message


def test_a_name_that_several_columns_have():
    found = refusal(after_steps, struct(field("a"), field("A")), Steps(select=("a",)))
    assert "could be any of a, A" in found.message


@pytest.mark.parametrize("kind", ["variant", array("variant"), struct(field("v", "variant"))])
def test_variants_are_no_groups(kind):
    found = refusal(after_steps, struct(field("v", kind)), Steps(group_by=("v",), count_as="n"))
    assert "variant" in found.message


MAP = {"type": "map", "keyType": "string", "valueType": "integer", "valueContainsNull": True}


@pytest.mark.parametrize("kind", [array("integer"), MAP])
def test_arrays_and_maps_are_groups(kind):
    result = after_steps(struct(field("a", kind)), Steps(group_by=("a",), count_as="n"))
    assert names(result) == [("a", kind, True), ("n", "long", False)]


def test_a_filter_that_does_not_fit_after_a_change_is_refused():
    tree, _ = read_filter("price LIKE '1%'", ROWS, Steps())
    assert after_steps(ROWS, Steps(rename={"price": "PRICE"}, filter=tree))
    found = refusal(after_steps, ROWS, Steps(cast={"price": "int"}, filter=tree))
    assert (found.code, found.place) == ("step_refused", "filter")


def test_a_filter_names_columns_after_rename_and_cast_and_before_select():
    steps = Steps(rename={"id": "k"}, cast={"price": "double"}, select=("Day",))
    tree, text = read_filter("`k` = 1 and PRICE < 2.5", ROWS, steps)
    assert columns(from_json(tree)) == {("k",), ("price",)}
    assert text.startswith("k = 1 AND price < ")
    found = refusal(read_filter, "id = 1", ROWS, steps)
    assert (found.code, found.place) == ("predicate_refused", "position 1")
    assert refusal(read_filter, "id = 1", ROWS, Steps(cast={"no": "int"})).code == "step_refused"


def test_a_filter_may_ask_a_not_null_column_for_null():
    """Spark reads every column of files as one that may be NULL."""
    tree, text = read_filter("id IS NOT NULL", ROWS, Steps())
    assert text == "id IS NOT NULL"
    assert after_steps(ROWS, Steps(filter=tree)) == ROWS
