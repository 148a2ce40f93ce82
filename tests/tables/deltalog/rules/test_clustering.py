"""The names of the columns by which a table is clustered: the log has them as data files do."""

import json

import pytest

from tables.deltalog.rules.clustering import column_names, physical_paths


def field(name: str, kind: object = "long", physical: str | None = None, number: int | None = None) -> dict:
    mapped = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical} if physical else {}
    return {"name": name, "type": kind, "nullable": True, "metadata": mapped}


def struct(*fields: dict) -> dict:
    return {"type": "struct", "fields": list(fields)}


MAPPED = struct(
    field("customer", physical="col-aaa", number=1),
    field("a.b", physical="col-bbb", number=2),
    field("place", struct(field("post code", physical="col-ddd", number=4)), physical="col-ccc", number=3),
)
PLAIN = struct(field("a.b"), field("a", struct(field("b"))), field("Id"))


@pytest.mark.parametrize(
    ("schema", "physical", "names"),
    [
        (MAPPED, [["col-aaa"], ["col-bbb"]], ("customer", "`a.b`")),
        (MAPPED, [["col-ccc", "col-ddd"]], ("place.`post code`",)),
        (PLAIN, [["a.b"], ["a", "b"]], ("`a.b`", "a.b")),
        (PLAIN, [["Id"]], ("Id",)),
        (MAPPED, [["col-zzz"], ["customer"]], ("`col-zzz` (unknown column)", "customer (unknown column)")),
        (MAPPED, [["col-ccc", "gone"]], ("`col-ccc`.gone (unknown column)",)),
        (MAPPED, [], ()),
        (MAPPED, [[]], ()),
    ],
)
def test_a_column_has_its_name_in_the_schema(schema, physical, names):
    paths = physical_paths(json.dumps({"clusteringColumns": physical}))
    assert column_names(paths, json.dumps(schema)) == names


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"clusteringColumns":5}', '{"clusteringColumns":[5]}', "[" * 5000]
)
def test_a_text_of_no_clustering_names_no_column(text):
    assert physical_paths(text) == ()


def test_without_a_schema_every_column_is_unknown():
    assert column_names((("a",),), "") == ("a (unknown column)",)
