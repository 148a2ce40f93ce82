import json
from typing import Any

import pytest

from tables.deltalog.rules.schema import (
    Array,
    Map,
    Primitive,
    SchemaError,
    Struct,
    dotted,
    parse_schema,
    type_text,
    walk,
)
from tables.deltalog.rules.schema_changes import SchemaChangeKind, compare_schemas


def column(name: str, kind="long", nullable: bool = True, **metadata: Any):
    return {
        "name": name,
        "type": kind,
        "nullable": nullable,
        "metadata": {k.replace("__", "."): v for k, v in metadata.items()},
    }


def struct(*columns):
    return {"type": "struct", "fields": list(columns)}


def schema(*columns) -> Struct:
    return parse_schema(json.dumps(struct(*columns)))


def changes(before: Struct, after: Struct) -> list[tuple[SchemaChangeKind, str, str | None, str | None]]:
    return [(c.kind, c.column, c.before, c.after) for c in compare_schemas(before, after)]


NESTED = schema(
    column("id", nullable=False, comment="the key"),
    column("tags", {"type": "array", "elementType": "string", "containsNull": False}),
    column(
        "m",
        {
            "type": "map",
            "keyType": "string",
            "valueType": struct(column("x", "decimal(10,2)")),
            "valueContainsNull": True,
        },
    ),
)


def test_a_nested_schema_becomes_a_tree():
    assert NESTED.columns[0].type == Primitive("long")
    assert NESTED.columns[0].comment == "the key"
    assert not NESTED.columns[0].nullable
    assert NESTED.columns[1].type == Array(Primitive("string"), contains_null=False)
    assert isinstance(NESTED.columns[2].type, Map)


def test_types_read_as_in_a_table_definition():
    assert [type_text(c.type) for c in NESTED.columns] == [
        "bigint",
        "array<string>",
        "map<string,struct<x:decimal(10,2)>>",
    ]


def test_every_column_has_a_path():
    assert [path for path, _ in walk(NESTED)] == [("id",), ("tags",), ("m",), ("m", "value", "x")]


def test_odd_names_are_quoted():
    assert dotted(("a.b", "c`d", "plain_1", "")) == "`a.b`.`c``d`.plain_1.``"


def test_delta_puts_rules_into_the_metadata():
    found = schema(
        column(
            "id",
            delta__columnMapping__id=7,
            delta__columnMapping__physicalName="col-7",
            delta__generationExpression="a + 1",
            CURRENT_DEFAULT="42",
            mine={"x": 1},
            delta__identity__start=5,
            delta__identity__step=2,
            delta__identity__allowExplicitInsert=True,
        )
    ).columns[0]
    assert (found.mapping_id, found.physical_name, found.generation_expression, found.default) == (
        7,
        "col-7",
        "a + 1",
        "42",
    )
    assert found.identity is not None
    assert (
        found.identity.start,
        found.identity.step,
        found.identity.allow_explicit,
        found.identity.high_water_mark,
    ) == (5, 2, True, None)
    assert found.free_metadata == {"mine": {"x": 1}}


def test_a_column_without_rules_has_none():
    found = schema(column("id")).columns[0]
    assert (found.mapping_id, found.physical_name, found.identity, found.default) == (None, "id", None, None)


def test_an_unknown_type_keeps_its_name():
    assert type_text(schema(column("g", "geometry(EPSG:4326)")).columns[0].type) == "geometry(EPSG:4326)"


@pytest.mark.parametrize(
    "text",
    ["", "{", "7", "null", '"long"', "[]", "{}", '{"type":"struct"}', '{"type":"struct","fields":[7]}', '{"type":"struct","fields":[{}]}',
     '{"type":"struct","fields":[{"name":"a"}]}', '{"type":"struct","fields":[{"name":"a","type":{"type":"frob"}}]}'],
)  # fmt: skip
def test_a_text_that_is_no_schema_is_refused_with_a_reason(text):
    with pytest.raises(SchemaError, match="schema"):
        parse_schema(text)


def test_a_bottomless_schema_is_refused():
    text = '{"type":"array","elementType":' * 500 + '"long"' + "}" * 500
    with pytest.raises(SchemaError, match="nested"):
        parse_schema('{"type":"struct","fields":[{"name":"a","type":' + text + "}]}")


def test_the_same_schema_has_no_changes():
    assert changes(NESTED, NESTED) == []


def test_columns_come_and_go():
    found = changes(schema(column("a"), column("b")), schema(column("a"), column("c", "string")))
    assert found == [(SchemaChangeKind.ADDED, "c", None, "string"), (SchemaChangeKind.REMOVED, "b", "bigint", None)]


def test_a_whole_struct_is_said_once():
    inner = struct(column("x"), column("y"))
    assert changes(schema(column("a")), schema(column("a"), column("s", inner))) == [
        (SchemaChangeKind.ADDED, "s", None, "struct<x:bigint,y:bigint>")
    ]


def test_type_nullability_comment_and_metadata_are_told_apart():
    before = schema(column("a", "integer", nullable=False, comment="old", mine=1))
    after = schema(column("a", "long", nullable=True, comment="new"))
    assert changes(before, after) == [
        (SchemaChangeKind.TYPE, "a", "int", "bigint"),
        (SchemaChangeKind.NULLABLE, "a", "not null", "nullable"),
        (SchemaChangeKind.COMMENT, "a", "old", "new"),
        (SchemaChangeKind.METADATA, "a", "mine = 1", None),
    ]


def test_a_change_deep_inside_is_said_at_its_place():
    def nested(kind: str) -> Struct:
        return schema(column("l", {"type": "array", "elementType": struct(column("x", kind)), "containsNull": True}))

    assert changes(nested("integer"), nested("long")) == [(SchemaChangeKind.TYPE, "l.element.x", "int", "bigint")]


def test_a_rename_is_seen_by_the_mapping_id():
    before = schema(column("a", delta__columnMapping__id=1), column("b", delta__columnMapping__id=2))
    after = schema(column("z", delta__columnMapping__id=1), column("b", delta__columnMapping__id=2))
    assert changes(before, after) == [(SchemaChangeKind.RENAMED, "z", "a", "z")]


def test_a_column_that_took_anothers_name_is_another():
    before = schema(column("a", delta__columnMapping__id=1))
    after = schema(column("a", "string", delta__columnMapping__id=2))
    assert changes(before, after) == [
        (SchemaChangeKind.ADDED, "a", None, "string"),
        (SchemaChangeKind.REMOVED, "a", "bigint", None),
    ]


def test_a_new_order_is_said():
    assert changes(schema(column("a"), column("b")), schema(column("b"), column("a"))) == [
        (SchemaChangeKind.ORDER, "", "a, b", "b, a")
    ]
