"""What each change makes of a table's metadata, and what is refused before Spark, with Delta's condition."""

from typing import Any

import pytest

from jobs.commands.alter_schema.log.opposites import opposite_of, replaced_by
from jobs.commands.alter_schema.log.preview import _APPLY, _that_hold, differences, violations, with_counts
from jobs.commands.alter_schema.log.state import MetadataState, all_fields, find
from jobs.commands.alter_schema.log.tables import violating
from jobs.commands.alter_schema.log.widening import widening_in
from jobs.commands.alter_schema.rules import (
    FEED_IN_PARTS,
    FEED_LOST,
    consequences_of,
    fault_of,
    irreversible_of,
    opened,
    schema_digest,
    words_of,
)
from jobs.domain.delta.data_types import parse_type
from jobs.domain.delta.protocols import DeltaProtocol
from jobs.domain.errors import CommandRefused
from jobs.domain.predicates.printing import to_text
from jobs.domain.predicates.stored import from_json

PLAIN: dict[str, str] = {}
MAPPED = {
    "delta.columnMapping.mode": "name",
    "delta.columnMapping.maxColumnId": "9",
    "delta.enableTypeWidening": "true",
}
FIELDS = (
    "struct<id:bigint,n:int,s:string,st:struct<x:int,y:string>,items:array<struct<q:int>>,m:map<string,int>,ok:boolean>"
)


def state(configuration: dict[str, str] | None = None, **more: Any) -> MetadataState:
    """A table of many types; `more` overrides its members."""
    kind = parse_type(FIELDS)
    assert isinstance(kind, dict)
    made = MetadataState(
        kind["fields"], [], dict(MAPPED if configuration is None else configuration), "", DeltaProtocol(1, 2), None
    )
    for name, value in more.items():
        setattr(made, name, value)
    return made


def apply(table: MetadataState, *changes: dict[str, Any]) -> list[Any]:
    return [_APPLY[kind](table, value) for kind, value in map(opened, changes)]


def condition(table: MetadataState, change: dict[str, Any]) -> str | None:
    """The condition with which the change is refused; the table stays as it was in all that people see."""
    with pytest.raises(CommandRefused) as refused:
        apply(table, change)
    engine = refused.value.refusals[0].engine
    return engine.condition if engine else None


def names(table: MetadataState) -> list[str]:
    return [field["name"] for field in table.fields]


def test_a_column_goes_where_it_is_placed_and_gets_its_number():
    table = state()
    apply(
        table, {"add": {"path": "a", "type": "int", "after": "N"}}, {"add": {"path": "z", "type": "int", "first": True}}
    )
    apply(table, {"add": {"path": "ST.new", "type": "struct<k:int,l:date>", "after": None, "first": False}})
    assert names(table)[:4] == ["z", "id", "n", "a"]
    added = find(table, "st.new").owner
    assert [added["metadata"]["delta.columnMapping.id"]] + [
        f["metadata"]["delta.columnMapping.id"] for f in added["type"]["fields"]
    ] == [12, 13, 14]
    assert table.configuration["delta.columnMapping.maxColumnId"] == "14"


def test_names_are_stored_as_the_schema_spells_them():
    [written] = apply(state(), {"rename": {"path": "ITEMS.ELEMENT.Q", "to": "`a.b`"}})
    assert written == {"path": "items.element.q", "to": "`a.b`"}


def test_a_name_may_change_its_case_alone():
    table = state()
    apply(table, {"rename": {"path": "id", "to": "ID"}})
    assert names(table)[0] == "ID"
    assert condition(table, {"rename": {"path": "ID", "to": "ID"}}) == "FIELD_ALREADY_EXISTS"


def test_partitions_clustering_and_statistics_follow_a_rename():
    table = state(partitions=["n"])
    apply(table, {"rename": {"path": "n", "to": "day"}})
    assert table.partitions == ["day"]
    table = state(MAPPED | {"delta.dataSkippingStatsColumns": "id, st.x"}, clustering=[("st", "x")])
    apply(table, {"rename": {"path": "st", "to": "box"}}, {"drop": {"path": "id"}})
    assert (table.clustering, table.configuration["delta.dataSkippingStatsColumns"]) == ([("box", "x")], "box.x")


@pytest.mark.parametrize("change", [{"rename": {"path": "id", "to": "key"}}, {"drop": {"path": "id"}}])
def test_in_the_list_of_statistics_a_column_is_one_of_its_exact_spelling(change):
    """As in Delta, which then refuses the commit: the list names a column that is gone."""
    table = state(MAPPED | {"delta.dataSkippingStatsColumns": "ID, st.x"})
    apply(table, change)
    assert table.configuration["delta.dataSkippingStatsColumns"] == "ID,st.x"


@pytest.mark.parametrize(("listed", "after"), [("id,", "id,"), ("id st", "key")])
def test_delta_writes_the_list_anew_as_far_as_its_parser_reads_it(listed, after):
    table = state(MAPPED | {"delta.dataSkippingStatsColumns": listed})
    apply(table, {"rename": {"path": "id", "to": "key"}})
    assert table.configuration["delta.dataSkippingStatsColumns"] == after


def test_a_widened_type_is_recorded_beside_the_column():
    table = state()
    apply(table, {"widen": {"path": "n", "type": "bigint"}}, {"widen": {"path": "m.value", "type": "double"}})
    assert find(table, "n").owner["metadata"]["delta.typeChanges"] == [{"toType": "long", "fromType": "integer"}]
    assert find(table, "m").owner["metadata"]["delta.typeChanges"] == [
        {"toType": "double", "fromType": "integer", "fieldPath": "value"}
    ]


@pytest.mark.parametrize(
    ("name", "types", "text"),
    [
        ("N", ["bigint", "double", "decimal(10,0)", "decimal(20,0)"], "n is int. It can widen to bigint, double, "),
        ("st.x", ["bigint", "double", "decimal(10,0)", "decimal(20,0)"], "st.x is int."),
        ("m.value", ["bigint", "double", "decimal(10,0)", "decimal(20,0)"], "m.value is int."),
        ("ok", [], "ok can’t widen: boolean has no wider type in Delta."),
        ("st", [], "st can’t widen as a whole: its type is struct. Name one of its fields instead."),
        ("items", [], "items can’t widen as a whole: its type is array. Name its elements by .element instead."),
        ("m", [], "m can’t widen as a whole: its type is map. Name its keys by .key or its values by .value instead."),
        ("m.nope", [], "Field name m.nope is invalid: m is not a struct."),
        ("a..b", [], "a..b isn’t a column’s name."),
    ],
)
def test_a_column_s_wider_types_are_listed_or_it_is_said_why_there_is_none(name, types, text):
    found = widening_in(state(), name)
    assert list(found.types) == types
    assert text in found.text


def test_each_listed_type_is_taken_and_the_table_stays_as_it_was():
    table = state()
    for kind in widening_in(table, "n").types:
        apply(table.copy(), {"widen": {"path": "n", "type": kind}})
    assert table == state()


def test_a_column_that_something_else_names_lists_no_wider_type():
    table = state(MAPPED | {"delta.constraints.c": "n > 0"})
    assert widening_in(table, "n").types == ()
    assert "delta.constraints.c -> n > 0" in widening_in(table, "n").text


def test_without_type_widening_the_property_is_named_beside_the_types():
    found = widening_in(state(PLAIN), "n")
    assert "bigint" in found.types
    assert found.text.endswith("The table needs delta.enableTypeWidening first.")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"add": {"path": "ID", "type": "int"}}, "FIELD_ALREADY_EXISTS"),
        ({"add": {"path": "nope.a", "type": "int"}}, "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ({"add": {"path": "n.a", "type": "int"}}, "INVALID_FIELD_NAME"),
        ({"add": {"path": "items.a", "type": "int"}}, "INVALID_FIELD_NAME"),
        ({"add": {"path": "a..b", "type": "int"}}, "PARSE_SYNTAX_ERROR"),
        ({"add": {"path": "a", "type": "int", "after": "nope"}}, "FIELD_NOT_FOUND"),
        ({"add": {"path": "a", "type": "struct<b:int,B:int>"}}, "DELTA_DUPLICATE_COLUMNS_FOUND.ADDING_COLUMNS"),
        ({"add": {"path": "_Change_Type", "type": "int"}}, "DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS"),
        ({"add": {"path": "a", "type": "timestamp_ntz"}}, "DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT"),
        ({"add": {"path": "a\u202eb", "type": "int"}}, None),
        ({"add": {"path": "a", "type": "struct<`b\u200b`:int>"}}, None),
        ({"rename": {"path": "id", "to": "a\nb"}}, None),
        ({"rename": {"path": "id", "to": "N"}}, "FIELD_ALREADY_EXISTS"),
        ({"rename": {"path": "st.x", "to": "st.z"}}, "PARSE_SYNTAX_ERROR"),
        ({"rename": {"path": "id", "to": "`a"}}, "PARSE_SYNTAX_ERROR"),
        ({"rename": {"path": "items.element", "to": "e"}}, "INVALID_FIELD_NAME"),
        ({"rename": {"path": "id", "to": "_commit_version"}}, "DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS"),
        ({"drop": {"path": "items.element.q"}}, "DELTA_DROP_COLUMN_ON_SINGLE_FIELD_SCHEMA"),
        ({"drop": {"path": "m.key"}}, "DELTA_UNSUPPORTED_DROP_NESTED_COLUMN_FROM_NON_STRUCT_TYPE"),
        ({"widen": {"path": "id", "type": "int"}}, "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP"),
        ({"widen": {"path": "id", "type": "bigint"}}, None),
        ({"widen": {"path": "st", "type": "struct<x:bigint>"}}, "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP"),
        ({"widen": {"path": "id", "type": "geometry"}}, "UNSUPPORTED_DATATYPE"),
        ({"comment": {"path": "m.value", "text": "x"}}, "DELTA_UNSUPPORTED_COMMENT_MAP_ARRAY"),
        ({"nullable": {"path": "items.element"}}, "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP"),
        ({"nullable": {"path": "id"}}, None),
        ({"not_null": {"path": "id"}}, "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP"),
        ({"drop_constraint": {"name": "c"}}, "DELTA_CONSTRAINT_DOES_NOT_EXIST"),
        ({"add_constraint": {"name": "c", "expression": "id"}}, None),
        ({"add_constraint": {"name": "c\n", "expression": "nope > 1"}}, None),
        ({"add_constraint": {"name": "__CHAR_VARCHAR_STRING_LENGTH_CHECK__", "expression": "id > 1"}}, "DELTA_INVALID_CONSTRAINT_NAME"),
        ({"cluster_by": []}, None),
        ({"cluster_by": ["id", "n", "s", "st.x", "st.y"]}, "DELTA_CLUSTER_BY_INVALID_NUM_COLUMNS"),
        ({"cluster_by": ["nope"]}, "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
        ({"cluster_by": ["id", "ID"]}, "DELTA_DUPLICATE_COLUMNS_FOUND.CLUSTER_BY"),
        ({"cluster_by": ["st"]}, "DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED"),
        ({"cluster_by": ["ok"]}, "DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED"),
        ({"cluster_by": ["items"]}, "DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED"),
        ({"cluster_by": ["items.element"]}, "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
        ({"cluster_by": ["items.element.q"]}, "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
    ],
)  # fmt: skip
def test_what_delta_refuses_is_refused_with_its_condition(change, expected):
    assert condition(state(), change) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"rename": {"path": "id", "to": "key"}}, "DELTA_UNSUPPORTED_RENAME_COLUMN"),
        ({"drop": {"path": "id"}}, "DELTA_UNSUPPORTED_DROP_COLUMN"),
        ({"widen": {"path": "n", "type": "bigint"}}, "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP"),
        ({"add": {"path": "a b", "type": "int"}}, "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"),
        ({"add": {"path": "a", "type": "struct<`x=y`:int>"}}, "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"),
    ],
)
def test_a_plain_table_needs_a_property_first(change, expected):
    assert condition(state(PLAIN), change) == expected


@pytest.mark.parametrize(
    "change",
    [
        {"drop": {"path": "n"}},
        {"rename": {"path": "n", "to": "k"}},
        {"widen": {"path": "n", "type": "bigint"}},
        {"drop": {"path": "st.x"}},
        {"rename": {"path": "st", "to": "k"}},
    ],
)
@pytest.mark.parametrize("expression", ["n > 0 AND st.x > 1", "n > 0 AND odd(st.x)"])
def test_what_a_constraint_names_stays(change, expression):
    table = state(MAPPED | {"delta.constraints.c": expression})
    assert condition(table, change) == "DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE"
    apply(table, {"drop": {"path": "s"}}, {"drop_constraint": {"name": "C"}}, change)


def test_what_a_generated_column_is_made_of_stays():
    table = state()
    find(table, "id").owner["metadata"] = {"delta.generationExpression": "n + length('s')"}
    assert condition(table, {"drop": {"path": "n"}}) == "DELTA_GENERATED_COLUMNS_DEPENDENT_COLUMN_CHANGE"
    apply(table, {"drop": {"path": "s"}}, {"drop": {"path": "id"}}, {"drop": {"path": "n"}})


@pytest.mark.parametrize(
    ("expression", "path", "stays"),
    [
        ("CAST(st AS STRING)", "st.x", True),  # of a struct the expression reads every field
        ("concat(s, ok)", "s", True),
        ("items[0].q", "items.element.q", True),
        ("odd(`st`.`x`)", "st", True),
        ("odd(st.x)", "st.y", False),
        ("odd ( st . x )", "st.y", False),  # as Delta writes what an ALTER TABLE has
        ("odd ( st . x )", "st.x", True),
        ("s(n)", "s", False),  # functions, types and texts are no columns
        ("CAST(odd(n) AS s)", "s", False),
        ("odd('s', \"it's\", s)", "s", True),
        ("odd(DATE '2020-01-01', 'it''s s')", "s", False),
    ],
)
def test_what_a_generated_column_reads_is_told_from_what_it_only_mentions(expression, path, stays):
    table = state()
    find(table, "id").owner["metadata"] = {"delta.generationExpression": expression}
    change = {"rename": {"path": path, "to": "k"}}
    if stays:
        assert condition(table, change) == "DELTA_GENERATED_COLUMNS_DEPENDENT_COLUMN_CHANGE"
    else:
        apply(table, change)


def test_columns_that_delta_fills_in_are_not_widened():
    table = state(MAPPED | {"delta.columnMapping.maxColumnId": "0"})
    find(table, "n").owner["metadata"] = {"delta.identity.start": 1, "delta.identity.step": 1}
    change = {"widen": {"path": "n", "type": "bigint"}}
    assert condition(table, change) == "DELTA_IDENTITY_COLUMNS_ALTER_COLUMN_NOT_SUPPORTED"
    find(table, "n").owner["metadata"] = {"delta.generationExpression": "st.x + 1"}
    assert condition(table, change) == "DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH"
    apply(table, {"rename": {"path": "n", "to": "m2"}}, {"comment": {"path": "m2", "text": "made of st.x"}})


def test_an_identity_column_that_is_not_null_stays_so():
    table = state()
    find(table, "n").owner.update(
        {"nullable": False, "metadata": {"delta.identity.start": 1, "delta.identity.step": 1}}
    )
    assert condition(table, {"nullable": {"path": "n"}}) == "DELTA_IDENTITY_COLUMNS_ALTER_COLUMN_NOT_SUPPORTED"
    apply(table, {"comment": {"path": "n", "text": "a number"}})


def test_what_only_the_commit_knows_is_no_part_of_a_schema_s_digest():
    """The first feature of type widening records the commit's version beside each change."""
    one, other = state(), state()
    apply(one, {"widen": {"path": "n", "type": "bigint"}})
    apply(other, {"widen": {"path": "n", "type": "bigint"}})
    find(other, "n").owner["metadata"]["delta.typeChanges"][0]["tableVersion"] = 7
    assert schema_digest(one.schema) == schema_digest(other.schema)


def test_partition_columns_and_clustering_columns_are_not_dropped_nor_the_structs_around_them():
    assert condition(state(partitions=["n"]), {"drop": {"path": "N"}}) == "DELTA_UNSUPPORTED_DROP_PARTITION_COLUMN"
    clustered = state(clustering=[("st", "x")])
    for path in ("st.x", "st"):
        assert condition(clustered, {"drop": {"path": path}}) == "DELTA_UNSUPPORTED_DROP_CLUSTERING_COLUMN"
    apply(clustered, {"drop": {"path": "st.y"}}, {"cluster_by": []})


def test_clustering_needs_statistics_and_no_partitions():
    assert (
        condition(state({"delta.dataSkippingNumIndexedCols": "1"}), {"cluster_by": ["n"]})
        == "DELTA_CLUSTERING_COLUMN_MISSING_STATS"
    )
    partitioned = state(partitions=["n"])
    for columns in (["id"], []):
        assert (
            condition(partitioned, {"cluster_by": columns})
            == "DELTA_ALTER_TABLE_CLUSTER_BY_ON_PARTITIONED_TABLE_NOT_ALLOWED"
        )


def test_features_raise_the_protocol():
    table = state(PLAIN)
    apply(table, {"add_constraint": {"name": "C", "expression": "n>0"}})
    assert (table.protocol, table.constraints) == (DeltaProtocol(1, 3), {"c": "n > 0"})
    assert (
        condition(table, {"add_constraint": {"name": "c", "expression": "n > 1"}}) == "DELTA_CONSTRAINT_ALREADY_EXISTS"
    )
    apply(table, {"cluster_by": ["id"]}, {"add": {"path": "v", "type": "variant"}})
    assert {"checkConstraints", "clustering", "domainMetadata", "variantType"} <= table.protocol.features
    assert (table.protocol.min_reader, table.protocol.min_writer) == (3, 7)


def test_what_differs_is_listed_with_constraints_clustering_and_comment():
    before, after = state(), state()
    apply(
        after, {"add": {"path": "a", "type": "int"}}, {"comment": {"path": "id", "text": "key"}}, {"cluster_by": ["id"]}
    )
    apply(after, {"add_constraint": {"name": "c", "expression": "n > 0"}}, {"table_comment": "hello"})
    assert [(line["kind"], line["column"], line["after"]) for line in differences(before, after)] == [
        ("comment", "id", "key"), ("added", "a", "int"), ("added", "CHECK c", "n > 0"), ("added", "CLUSTER BY", "id"),
        ("added", "table comment", "hello"),
    ]  # fmt: skip


def test_a_digest_of_a_schema_leaves_out_what_nobody_can_predict():
    one, other = state().schema, state().schema
    other["fields"][0]["metadata"] = {"delta.columnMapping.physicalName": "col-1", "delta.identity.highWaterMark": 4}
    assert schema_digest(one) == schema_digest(other)
    other["fields"][0]["nullable"] = False
    assert schema_digest(one) != schema_digest(other)


def test_a_field_inside_a_struct_may_be_called_as_the_change_feed_s_columns():
    table = state()
    apply(table, {"add": {"path": "st._change_type", "type": "struct<_commit_version:int>"}})
    apply(table, {"rename": {"path": "st.x", "to": "_commit_timestamp"}})
    assert find(table, "st._change_type._commit_version").type == "integer"


def test_a_constraint_is_counted_in_the_names_that_the_table_still_has():
    table = state()
    apply(
        table,
        {"rename": {"path": "st", "to": "box"}},
        {"rename": {"path": "box.x", "to": "k"}},
        {"add": {"path": "new", "type": "int"}},
    )
    [made] = apply(table, {"add_constraint": {"name": "c", "expression": "box.k > 1 OR new > 2"}})
    assert to_text(from_json(made["counted"])) == "st.x > 1 OR NULL > 2"
    assert violating(made["counted"]) is None
    [made] = apply(table, {"add_constraint": {"name": "d", "expression": "box.k > 1"}})
    assert violating(made["counted"]) == "NOT ((st.x > 1) <=> TRUE)"


def test_a_constraint_s_text_has_no_variables_for_spark_to_replace():
    table = state()
    [made] = apply(table, {"add_constraint": {"name": "c", "expression": "s <> '${env:HOME}' AND s LIKE '${x}%'"}})
    assert made["expression"] == "s <> '\\u0024{env:HOME}' AND s LIKE '\\u0024{x}%'"
    [again] = apply(state(), {"add_constraint": {"name": "c", "expression": made["expression"]}})
    assert again == made
    apply(table, {"rename": {"path": "n", "to": "`${x}`"}})
    assert condition(table, {"add_constraint": {"name": "d", "expression": "`${x}` > 1"}}) is None


def test_an_unknown_count_stays_unknown():
    constraint = {"name": "a", "expression": "n > 0", "change": 1, "rows": None}
    other = constraint | {"name": "b", "change": 2}
    assert with_counts({"constraints": [constraint, other]}, {"1": 3})["violating_rows"] is None
    assert with_counts({"constraints": [constraint]}, {"1": 3})["violating_rows"] == 3


def test_constraints_of_one_name_are_counted_apart():
    """The first one refuses the request, although it is dropped again."""
    constraint = {"name": "a", "expression": "n > 0", "change": 1, "rows": None}
    counted = with_counts({"constraints": [constraint, constraint | {"change": 3}]}, {"1": 3, "3": 0})
    assert [each["rows"] for each in counted["constraints"]] == [3, 0]
    assert len(violations(counted, "/lake/t")) == 1


@pytest.mark.parametrize(
    ("kind", "mapped", "said"),
    [
        ("rename", True, FEED_IN_PARTS),
        ("drop", True, FEED_IN_PARTS),
        ("widen", True, FEED_IN_PARTS),
        ("widen", False, FEED_LOST),
        ("add", True, None),
        ("nullable", False, None),
    ],
)
def test_what_becomes_of_the_change_feed_is_said(kind, mapped, said):
    for feed in (True, False):
        found = consequences_of([{kind: {}}], change_feed=feed, mapped=mapped, new_constraints=False)
        texts = [each["text"] for each in found if each["code"] == "change_feed_ends"]
        assert texts == ([said] if said and feed else [])


def test_every_kind_has_words():
    changes: list[dict[str, Any]] = [
        {"add": {"path": "a", "type": "int", "first": True, "comment": "c"}}, {"rename": {"path": "a", "to": "b"}}, {"drop": {"path": "a"}},
        {"widen": {"path": "a", "type": "bigint"}}, {"comment": {"path": "a", "text": ""}}, {"nullable": {"path": "a"}},
        {"not_null": {"path": "a"}}, {"add_constraint": {"name": "c", "expression": "a > 1"}}, {"drop_constraint": {"name": "c"}},
        {"cluster_by": []}, {"cluster_by": ["a"]}, {"table_comment": "t"},
    ]  # fmt: skip
    assert fault_of(changes) == ""
    texts = [words_of(change) for change in changes]
    assert len(set(texts)) == len(texts)
    assert texts[0] == "Add the column a of type int, first of its level, with the comment “c”"
    assert len(irreversible_of(changes)) == 3


def looks(table: MetadataState) -> dict[str, Any]:
    """What people see of it; numbers of columns are never used twice, and an empty comment stays."""
    seen = table.as_json()
    for field in all_fields({"type": "struct", "fields": seen["schema"]["fields"]}):
        field["metadata"] = {
            name: text for name, text in field["metadata"].items() if not (name == "comment" and text == "")
        }
    return seen


@pytest.mark.parametrize(
    "changes",
    [
        [{"add": {"path": "st.`a.b`", "type": "int"}}],
        [{"rename": {"path": "st.x", "to": "`x.y`"}}, {"rename": {"path": "st", "to": "`g.h`"}}],
        [{"comment": {"path": "n", "text": "first"}}, {"comment": {"path": "n", "text": "second"}}],
        [{"rename": {"path": "n", "to": "count"}}, {"comment": {"path": "count", "text": "how many"}}],
        [{"add_constraint": {"name": "Few", "expression": "n < 5"}}],
        [
            {"add_constraint": {"name": "few", "expression": "n < 5"}},
            {"drop_constraint": {"name": "FEW"}},
            {"add_constraint": {"name": "few", "expression": "n < 9"}},
        ],
        [{"drop_constraint": {"name": "there"}}],
        [{"cluster_by": ["id"]}, {"cluster_by": ["n", "id"]}],
        [{"table_comment": "a"}, {"table_comment": "b"}],
    ],
)
def test_the_opposites_from_the_last_one_on_take_everything_back(changes):
    table = state({**MAPPED, "delta.constraints.there": "id > 0"}, clustering=[("s",)])
    before, opposites = looks(table), []
    for change in changes:
        replaced = replaced_by(table, change)
        [made] = apply(table, change)
        opposites.append(opposite_of({opened(change)[0]: made}, replaced))
    assert looks(table) != before or len(changes) > 1
    apply(table, *reversed(opposites))
    assert looks(table) == before


@pytest.mark.parametrize(
    "change", [{"drop": {"path": "ok"}}, {"widen": {"path": "n", "type": "bigint"}}, {"nullable": {"path": "id"}}]
)
def test_what_delta_takes_back_by_no_change_has_no_opposite(change):
    assert opposite_of(change, None) is None
    assert irreversible_of([change])


def test_what_a_refused_change_would_replace_is_nothing():
    assert replaced_by(state(), {"comment": {"path": "nope", "text": "x"}}) is None
    assert replaced_by(state(), {"drop_constraint": {"name": "nope"}}) is None


def changed(*changes: dict[str, Any], configuration: dict[str, str] | None = None) -> list[Any]:
    """The opposites that a preview stores."""
    table, opposites = state(configuration), []
    for change in changes:
        replaced = replaced_by(table, change)
        [made] = apply(table, change)
        opposites.append(opposite_of({opened(change)[0]: made}, replaced))
    return _that_hold(table.copy(), opposites)


def test_an_opposite_that_delta_would_refuse_afterwards_is_none():
    added = {"add": {"path": "x", "type": "int"}}
    assert changed(added, {"drop": {"path": "x"}}) == [None, None]
    assert changed({"rename": {"path": "n", "to": "b"}}, {"drop": {"path": "b"}}) == [None, None]
    assert changed(added, {"drop": {"path": "ok"}}) == [{"drop": {"path": "x"}}, None]


def test_one_that_takes_column_mapping_stays_since_its_page_leads_there():
    assert changed({"add": {"path": "x", "type": "int"}}, configuration=PLAIN) == [{"drop": {"path": "x"}}]
