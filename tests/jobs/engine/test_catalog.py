"""Convert and the live table by name, in the embedded catalog."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from jobs.commands.convert.rules import Convert
from jobs.domain.engine import UNCHECKED, Marks
from jobs.domain.errors import CommandRefused, EngineFailed
from jobs.engine import catalog
from jobs.engine.errors import as_failure
from tests.jobs.engine.lake import actions, commits

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]


@pytest.fixture
def by_name(engine, marks, report):
    def do(name, location, partition_schema=None, schema=None, partitions=None):
        command = Convert(None, name, "parquet", partition_schema, True, str(location), schema, partitions)
        return engine.run(command, engine.preview(command, None, marks, report).as_json(), UNCHECKED, marks, report)

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
    assert found["v1_table"]["has_statistics"] is False
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


def test_a_version_in_the_path_of_a_named_table_is_heeded_or_refused(lake, convert, engine, marks, report, sql):
    path = lake.write("t")
    convert(path)
    sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('team' = 'data')")
    question = {"name": "shop.at", "path": str(path), "at": "@v0"}
    assert engine.read("deltatable", {**question, "by": "path"}, marks, report)["version"] == 0
    with pytest.raises(EngineFailed) as two:
        engine.read("deltatable", {**question, "by": "path", "version": 1}, marks, report)
    assert two.value.failure.condition == "DELTA_UNSUPPORTED_TIME_TRAVEL_MULTIPLE_FORMATS"
    for part in ({"at": "@v0"}, {"partition": "p=1"}):
        with pytest.raises(CommandRefused) as refused:
            engine.read("deltatable", {"name": "shop.at", "path": str(path), **part}, marks, report)
        assert (refused.value.refusals[0].code, refused.value.refusals[0].place) == ("bad_request", next(iter(part)))


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
    assert caught.value.refusals[0].code == "not_found"
    assert not (lake.top / "none").exists()


def test_a_name_of_another_kind_of_table_is_refused_by_the_class_that_spark_loads(sql, engine, marks, report, tmp_path):
    sql("CREATE DATABASE IF NOT EXISTS shop")
    sql(f"CREATE TABLE shop.plain (id INT) USING parquet LOCATION '{tmp_path}/plain'")
    with pytest.raises(CommandRefused) as caught:
        engine.read("deltatable", {"name": "shop.plain"}, marks, report)
    refusal = caught.value.refusals[0]
    assert (refusal.code, refusal.engine and refusal.engine.condition) == ("not_delta", "DELTA_MISSING_DELTA_TABLE")
    assert refusal.message.endswith("V1Table.")


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


def struct(**types):
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in types.items()]
    return {"type": "struct", "fields": fields}


def test_the_catalogs_schema_and_partitions_are_taken(lake, by_name, sql):
    lake.write("t/p=1")
    path = lake.write("t/p=2")
    result = by_name("shop.declared", path, None, struct(p="integer", id="long", more="string"), ["p"])
    assert result.operation_parameters["partitionedBy"] == "[]"
    assert result.operation_parameters["catalogTable"] == "`spark_catalog`.`shop`.`declared`"
    assert sql("SELECT id, p, more FROM shop.declared WHERE id = 1 ORDER BY p") == [(1, 1, None), (1, 2, None)]
    schema = json.loads(actions(path, "metaData")[0]["schemaString"])
    assert [(field["name"], field["type"]) for field in schema["fields"]] == [
        ("id", "long"),
        ("more", "string"),
        ("p", "integer"),
    ]


def test_a_declaration_may_be_repeated_and_not_contradicted(lake, by_name, sql):
    path = lake.write("t/p=1")
    declared = struct(id="long", p="integer")
    with pytest.raises(CommandRefused) as caught:
        by_name("shop.user", path, "p string", declared, ["p"])
    assert commits(path) == []
    sql("CREATE DATABASE IF NOT EXISTS shop")
    sql(f"CREATE TABLE shop.said (id bigint, p int) USING parquet PARTITIONED BY (p) LOCATION '{path}'")
    with pytest.raises(Exception, match="DELTA_UNEXPECTED_PARTITION") as delta:
        sql("CONVERT TO DELTA shop.said PARTITIONED BY (p string)")
    words = caught.value.refusals[0].engine
    theirs = as_failure(delta.value)
    assert words is not None
    assert (words.condition, words.sqlstate, words.message) == (theirs.condition, theirs.sqlstate, theirs.message)
    assert by_name("shop.user", path, "p int", declared, ["p"]).version == 0


def test_no_partition_in_the_catalog_is_refused_in_deltas_words(lake, by_name, sql):
    path = lake.write("t")
    with pytest.raises(CommandRefused) as caught:
        by_name("shop.flat", path, None, struct(id="long", p="integer"), ["p"])
    assert commits(path) == []
    sql("CREATE DATABASE IF NOT EXISTS shop")
    sql(f"CREATE TABLE shop.flat (id bigint, p int) USING parquet PARTITIONED BY (p) LOCATION '{path}'")
    with pytest.raises(Exception, match="DELTA_CONVERSION_NO_PARTITION_FOUND") as delta:
        sql("CONVERT TO DELTA shop.flat")
    words, theirs = caught.value.refusals[0].engine, as_failure(delta.value)
    assert words is not None
    assert (words.condition, words.sqlstate, words.message) == (theirs.condition, theirs.sqlstate, theirs.message)


def test_a_type_that_the_files_can_not_be_read_by_is_refused(lake, by_name):
    path = lake.write("t")
    with pytest.raises(CommandRefused) as caught:
        by_name("shop.types", path, None, struct(id="string"), [])
    assert (caught.value.refusals[0].code, caught.value.refusals[0].place) == ("schema_conflict", "id")
    assert commits(path) == []


def test_an_entry_whose_directory_was_converted_by_path_is_repaired(
    lake, convert, runtime, by_name, engine, marks, report, sql
):
    path = lake.write("t")
    catalog.register_parquet(runtime.new_session(), "shop.stale", str(path), struct(id="long"), ())
    convert(path)
    with pytest.raises(Exception, match="does not support DELETE"):
        sql("DELETE FROM shop.stale WHERE id = 1")
    assert by_name("shop.stale", path).no_op
    sql("DELETE FROM shop.stale WHERE id = 1")
    assert len(commits(path)) == 2
    assert engine.read("deltatable", {"name": "shop.stale", "path": str(path)}, marks, report)["version"] == 1


@pytest.fixture
def outside(monkeypatch):
    """The catalog is somebody else's to write, as a metastore is; what Delta does with it is the same."""
    monkeypatch.setattr(catalog, "is_embedded", lambda session: False)


def test_an_outside_catalogs_stale_entry_is_repaired_by_delta(outside, lake, convert, engine, marks, report, sql):
    path = lake.write("t")
    sql("CREATE DATABASE IF NOT EXISTS shop")
    sql(f"CREATE TABLE shop.meta (id bigint) USING parquet LOCATION '{path}'")
    convert(path)
    command = Convert(None, "shop.meta", "parquet", None, location=str(path))
    seen = engine.preview(command, None, marks, report)
    assert not seen.already_delta, "the run has something to do"
    result = engine.run(command, seen.as_json(), UNCHECKED, marks, report)
    assert result.no_op
    assert len(commits(path)) == 1
    assert engine.preview(command, None, marks, report).already_delta
    assert sql("SELECT count(*) AS n FROM shop.meta")[0].n == 3


def test_an_outside_catalogs_properties_that_disagree_are_deltas_refusal(
    outside, lake, convert, engine, marks, report, sql
):
    path = lake.write("t")
    sql("CREATE DATABASE IF NOT EXISTS shop")
    sql(f"CREATE TABLE shop.props (id bigint) USING parquet LOCATION '{path}' TBLPROPERTIES ('a' = 'b')")
    convert(path)
    sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('c' = 'd')")
    command = Convert(None, "shop.props", "parquet", None, location=str(path))
    with pytest.raises(EngineFailed) as caught:
        engine.run(command, engine.preview(command, None, marks, report).as_json(), UNCHECKED, marks, report)
    assert caught.value.failure.condition == "DELTA_CONVERT_METASTORE_METADATA_MISMATCH"
    assert len(commits(path)) == 2


def test_an_outside_catalog_says_its_partitions(outside, lake, engine, marks, report, sql, runtime):
    path = lake.write("t/p=1")
    sql("CREATE DATABASE IF NOT EXISTS shop")
    sql(f"CREATE TABLE shop.theirs (id bigint, p int) USING parquet PARTITIONED BY (p) LOCATION '{path}'")
    command = Convert(None, "shop.theirs", "parquet", None, location=str(path))
    seen = engine.preview(command, None, marks, report)
    with pytest.raises(EngineFailed) as caught:
        engine.run(command, seen.as_json(), UNCHECKED, marks, report)
    assert caught.value.failure.condition == "DELTA_CONVERSION_NO_PARTITION_FOUND"
    assert commits(path) == []
    runtime.new_session().catalog.recoverPartitions("shop.theirs")
    assert engine.run(command, seen.as_json(), UNCHECKED, marks, report).details["files_in_table"] == 1


def test_many_ask_for_a_new_name_at_once(lake, convert, engine, report):
    path = lake.write("t")
    convert(path)

    def ask(number):
        question = {"name": "shop.raced", "path": str(path)}
        return engine.read("deltatable", question, Marks(f"race-{number}", 1, None), report)["name"]

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(ask, range(4))) == {"spark_catalog.shop.raced"}
    assert len(commits(path)) == 1


def test_a_default_in_a_schema_never_reaches_the_statement(lake, runtime, sql):
    """A file's own schema is text that somebody else wrote; Spark would print a default's expression as it stands."""
    path = lake.write("t")
    hostile = struct(id="long")
    hostile["fields"][0]["metadata"] = {"CURRENT_DEFAULT": "1) USING json --", "comment": "it's"}
    catalog.register_parquet(runtime.new_session(), "shop.default", str(path), hostile, ())
    described = {row.col_name: row.data_type for row in sql("DESCRIBE TABLE EXTENDED shop.default")}
    assert described["Provider"] == "parquet"
    assert sql("DESCRIBE TABLE shop.default")[0].comment == "it's"
