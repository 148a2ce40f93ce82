"""Convert and the live table by name, in the embedded catalog."""

import pytest

from jobs.domain.commands import Convert
from jobs.domain.errors import CommandRefused, EngineFailed
from tests.engine.lake import commits

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]


@pytest.fixture
def by_name(engine, marks, report):
    def do(name, location, partition_schema=None):
        command = Convert(None, name, "parquet", partition_schema, location=str(location))
        return engine.run(command, engine.preview(command, marks, report), marks, report)

    return do


def test_a_partitioned_directory_is_converted_by_its_name(lake, by_name, engine, marks, report, sql):
    lake.write("t/p=1")
    path = lake.write("t/p=2")
    result = by_name("shop.orders", path, "p int")
    assert (result.version, result.details["files_in_table"]) == (0, 2)
    assert result.operation_parameters["catalogTable"] == "`spark_catalog`.`shop`.`orders`"
    assert {row.p for row in sql("SELECT p FROM shop.orders")} == {1, 2}
    found = engine.read("deltatable", {"name": "shop.orders", "path": str(path)}, marks, report)
    assert found["name"] == "spark_catalog.shop.orders"
    assert found["table_identifier"]
    assert found["catalog_table"]["provider"] == "delta"
    assert found["v1_table"]["location"] == found["catalog_table"]["location"]
    assert found["properties"]["external"] == "true"


def test_a_table_converted_by_path_gets_its_name_when_it_is_asked_for(lake, convert, engine, marks, report):
    path = lake.write("t")
    convert(path)
    question = {"name": "shop.late", "path": str(path)}
    assert engine.read("deltatable", question, marks, report)["name"] == "spark_catalog.shop.late"
    travelled = engine.read("deltatable", {**question, "version": 0}, marks, report)
    assert travelled["time_travel_opt"]["version"] == 0
    assert "error" not in travelled["v1_table"]
    direct = engine.read("deltatable", {**question, "by": "path"}, marks, report)
    assert direct["catalog_table"] is None


def test_a_name_that_moved_follows_its_location(lake, convert, engine, marks, report):
    first, second = lake.write("first"), lake.write("second")
    convert(first)
    convert(second)
    for path in (first, second):
        found = engine.read("deltatable", {"name": "shop.moved", "path": str(path)}, marks, report)
        assert found["root_path"] == f"file:{path}"
    assert len(commits(first)) == len(commits(second)) == 1


def test_a_name_never_makes_an_empty_table(lake, engine, marks, report):
    with pytest.raises(CommandRefused) as caught:
        engine.read("deltatable", {"name": "shop.none", "path": str(lake.top / "none")}, marks, report)
    assert caught.value.refusals[0].code == "not_delta"
    assert not (lake.top / "none").exists()


def test_an_unknown_name_is_sparks_refusal(engine, marks, report):
    with pytest.raises(EngineFailed) as caught:
        engine.read("deltatable", {"name": "shop.unknown"}, marks, report)
    assert caught.value.failure.condition == "TABLE_OR_VIEW_NOT_FOUND"


def test_hostile_columns_and_places_are_literal(lake, by_name, sql):
    path = lake.write("t's ' (x) --", {"a`b": [1], "select": [2]})
    by_name("shop.hostile", path)
    assert sql("SELECT `a``b` AS v FROM shop.hostile")[0].v == 1


@pytest.mark.parametrize("place", ["a*b", "a[b]", "a\\b"])
def test_a_place_that_spark_would_read_as_a_pattern_is_refused_by_name(lake, by_name, place):
    path = lake.write(place)
    with pytest.raises(CommandRefused):
        by_name("shop.pattern", path)
    assert commits(path) == []


@pytest.mark.parametrize("name", ["a.b.c", "", ".", "a.", "shop.x` (id int) USING json --", "shop.x y", "x;"])
def test_what_is_no_name_is_refused(lake, by_name, name):
    with pytest.raises(CommandRefused):
        by_name(name, lake.write("t"))
