"""What is refused before any damage, in Delta's words, and how a failed convert leaves the directory."""

import json

import pytest

from jobs.commands.convert.rules import Convert
from jobs.domain.engine import UNCHECKED
from jobs.domain.errors import CommandRefused, EngineFailed
from tests.factories.lakes import Lake
from tests.jobs.engine.lake import names

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]


@pytest.fixture
def lake(tmp_path) -> Lake:
    return Lake(tmp_path / "lake")


@pytest.fixture
def refusals(engine, marks, report):
    """The refusals that a preview finds for a convert."""

    def find(path, partition_schema=None, collect_stats=True):
        command = Convert(str(path), None, "parquet", partition_schema, collect_stats)
        return engine.preview(command, None, marks, report).refusals

    return find


@pytest.fixture
def delta_says(sql):
    """The failure that Delta itself gives for a statement."""
    from jobs.engine.errors import translate

    def ask(text):
        with pytest.raises(EngineFailed) as caught, translate():
            sql(text)
        return caught.value.failure

    return ask


@pytest.mark.parametrize(
    ("given", "ddl"),
    [(None, ""), ("q int", "q int"), ("p int, q int", "p int, q int"), ("p date", "p date")],
)
def test_a_wrong_partition_schema_is_refused_as_delta_would(lake, refusals, delta_says, given, ddl):
    path = lake.write("t/p=1")
    (found,) = refusals(path, given)
    truth = delta_says(f"CONVERT TO DELTA parquet.`{path}`" + (f" PARTITIONED BY ({ddl})" if ddl else ""))
    assert found.code == "partition_mismatch"
    assert (found.engine.condition, found.engine.sqlstate) == (truth.condition, truth.sqlstate)
    assert found.engine.message == truth.message
    assert str(path) in (found.place or "")


@pytest.mark.parametrize("text", ["day foo", "p int) NO STATISTICS; DROP TABLE x", "p array<int>", "p int,"])
def test_a_partition_schema_that_is_none_never_reaches_spark(lake, engine, marks, report, text):
    path = lake.write("t/p=1")
    with pytest.raises(CommandRefused) as caught:
        engine.preview(Convert(str(path), None, "parquet", text), None, marks, report)
    assert str(caught.value.refusals[0].place).startswith("position ")


def test_a_stray_file_is_named_and_delta_would_have_failed(lake, refusals, delta_says):
    path = lake.write("t")
    (path / "readme.txt").write_text("hello")
    (found,) = refusals(path)
    truth = delta_says(f"CONVERT TO DELTA parquet.`{path}`")
    assert (found.code, found.place) == ("stray_files", "readme.txt")
    assert (found.engine.condition, found.engine.sqlstate) == (truth.condition, truth.sqlstate)
    # Delta prints the whole FileStatus where Levee names the file.
    assert truth.message.startswith("Could not read footer for file: ")
    assert found.engine.message == f"Could not read footer for file: file:{path}/readme.txt"


def test_directory_markers_on_a_disk_are_refused_together_with_one_remedy(lake, refusals, delta_says):
    path = lake.write("t/p=1")
    (path / "p=1_$folder$").touch()
    (path / "p=1" / "x_$folder$").touch()
    (found,) = refusals(path, "p int")
    assert (found.code, found.place) == ("stray_files", "p=1/x_$folder$")
    assert "is a directory marker of Hadoop’s first client of S3" in found.message
    assert "(and 1 more)" in found.message
    assert found.remedy.startswith("Remove the files whose names end with _$folder$")
    assert delta_says(f"CONVERT TO DELTA parquet.`{path}` PARTITIONED BY (p int)").condition == found.engine.condition
    (path / "p=1" / "readme.txt").write_text("hello")
    (both,) = refusals(path, "p int")
    assert both.remedy.endswith("Remove the other files too, or rename them to start with _ or a dot.")


def test_a_damaged_footer_is_named_as_one(lake, refusals):
    path = lake.write("t")
    file = path / "part-0.parquet"
    file.write_bytes(file.read_bytes()[:-12] + b"\xff\xff\xff\x7fPAR1"[-8:])
    assert [(found.code, found.place) for found in refusals(path)] == [("damaged_files", "part-0.parquet")]


def test_hidden_files_are_no_strays(lake, refusals, inspect):
    path = lake.write("t")
    for name in ("_SUCCESS", ".part-0.parquet.crc"):
        (path / name).write_text("x")
    (path / "_temporary").mkdir()
    (path / "_temporary" / "0").write_text("x")
    assert refusals(path) == ()
    assert inspect(path)["hidden_files"] == 3


def test_an_empty_directory_is_refused_in_deltas_words(lake, refusals, delta_says):
    path = lake.top / "t"
    path.mkdir()
    (path / "_SUCCESS").write_text("")
    (found,) = refusals(path)
    truth = delta_says(f"CONVERT TO DELTA parquet.`{path}`")
    assert found.code == "no_files"
    assert (found.engine.condition, found.engine.sqlstate, found.engine.message) == (
        truth.condition,
        truth.sqlstate,
        truth.message,
    )


def test_a_missing_directory_is_not_found(lake, engine, marks, report):
    with pytest.raises(CommandRefused) as caught:
        engine.preview(Convert(str(lake.top / "none"), None, "parquet", None), None, marks, report)
    assert caught.value.refusals[0].code == "not_found"


def test_a_partition_directory_of_a_delta_table_is_refused(lake, convert, refusals):
    path = lake.write("t/p=1/q=2")
    convert(path, "p int, q int")
    (found,) = refusals(path / "p=1", "q int")
    assert (found.code, found.place) == ("inside_table", str(path))


def test_a_nested_table_is_refused(lake, convert, refusals, inspect):
    lake.write("t/p=1")
    path = lake.write("t/p=2")
    convert(path / "p=2")
    (found,) = refusals(path, "p int")
    assert (found.code, found.place) == ("nested_table", "p=2")
    assert inspect(path)["nested_tables"] == ("p=2",)


def test_a_log_without_a_commit_is_no_table(lake, convert):
    path = lake.write("t")
    (path / "_delta_log" / "_staged_commits").mkdir(parents=True)
    assert convert(path).version == 0


def test_files_at_mixed_depth_are_refused(lake, inspect):
    lake.write("t/p=1")
    lake.write("t/p=2")
    path = lake.write("t")
    (found,) = inspect(path)["refusals"]
    assert found["code"] == "partition_mismatch"
    assert found["engine"]["condition"] == "DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME"
    assert "2 under p=…" in found["message"]


@pytest.mark.parametrize("name", ["p=", "=1"])
def test_half_a_partition_directory_is_refused(lake, inspect, name):
    path = lake.write(f"t/{name}")
    found = inspect(path)["refusals"]
    assert [refusal["code"] for refusal in found] == ["partition_mismatch"]
    assert found[0]["place"] == name


def test_links_below_the_directory_are_refused(lake, inspect, tmp_path):
    path = lake.write("t")
    elsewhere = lake.write("elsewhere")
    (path / "linked").symlink_to(elsewhere)
    (path / "file.parquet").symlink_to(elsewhere / "part-0.parquet")
    (found,) = inspect(path)["refusals"]
    assert (found["code"], found["place"]) == ("outside_roots", "file.parquet")
    assert "1 more" in found["message"]


@pytest.mark.parametrize("bad", ["a b", "a,b", "a;b", "a{b", "a=b", "a\tb"])
def test_bad_column_names_are_refused_in_deltas_words(lake, refusals, delta_says, bad):
    path = lake.write("t", {"id": [1], bad: [1]})
    (found,) = refusals(path)
    truth = delta_says(f"CONVERT TO DELTA parquet.`{path}`")
    assert found.code == "bad_column_name"
    assert (found.engine.condition, found.engine.sqlstate) == (truth.condition, truth.sqlstate)


def test_conflicting_footers_are_refused_with_the_column(lake, refusals, delta_says, inspect):
    import pyarrow as pa

    lake.write("t", {"id": [1], "n": pa.array([1], pa.int32())})
    path = lake.write("t", {"id": [1], "n": pa.array([1], pa.int64())}, name="part-1.parquet")
    (found,) = refusals(path)
    truth = delta_says(f"CONVERT TO DELTA parquet.`{path}`")
    assert (found.code, found.place) == ("schema_conflict", "n")
    assert found.engine.condition.startswith("DELTA_FAILED_")
    assert truth.condition.startswith("DELTA_FAILED_")
    (conflict,) = inspect(path)["conflicts"]
    assert (conflict["column"], conflict["fatal"]) == ("n", True)
    assert dict(conflict["types"]) == {"int": 1, "bigint": 1}


def test_footers_that_widen_are_told_and_convert(lake, inspect, convert):
    import pyarrow as pa

    lake.write("t", {"n": pa.array([1], pa.int8())})
    lake.write("t", {"n": pa.array([1], pa.int16())}, name="part-1.parquet")
    path = lake.write("t", {"n": pa.array([1], pa.int32()), "extra": ["x"]}, name="part-2.parquet")
    found = inspect(path)
    assert found["refusals"] == []
    (conflict,) = found["conflicts"]
    assert (conflict["fatal"], conflict["text"]) == (False, "n becomes int")
    assert "missing_columns" in [note["code"] for note in found["notes"]]
    assert convert(path).version == 0


def test_session_defaults_that_delta_refuses(lake, engine, runtime, marks, report, delta_says):
    path = lake.write("t")
    conf = runtime.session.sparkContext._jsc.sc().conf()
    mapping = "spark.databricks.delta.properties.defaults.columnMapping.mode"
    tracking = "spark.databricks.delta.properties.defaults.enableRowTracking"
    conf.set(mapping, "name")
    conf.set(tracking, "true")
    try:
        found = engine.preview(Convert(str(path), None, "parquet", None, False), None, marks, report).refusals
        without = engine.preview(Convert(str(path), None, "parquet", None, True), None, marks, report).refusals
        truth = delta_says(f"CONVERT TO DELTA parquet.`{path}`")
    finally:
        conf.remove(mapping)
        conf.remove(tracking)
    assert [refusal.engine.condition for refusal in found] == [
        "DELTA_CONVERSION_UNSUPPORTED_COLUMN_MAPPING",
        "DELTA_CONVERT_TO_DELTA_ROW_TRACKING_WITHOUT_STATS",
    ]
    assert [refusal.engine.condition for refusal in without] == [truth.condition]
    assert without[0].engine.message == truth.message


def test_a_reason_that_came_after_the_preview_ends_the_run(lake, engine, marks, report):
    path = lake.write("t/p=1")
    command = Convert(str(path), None, "parquet", "p int")
    preview = engine.preview(command, None, marks, report)
    (path / "p=1" / "notes.txt").write_text("new")
    before = names(path)
    with pytest.raises(CommandRefused) as caught:
        engine.run(command, preview.as_json(), UNCHECKED, marks, report)
    assert caught.value.refusals[0].code == "stray_files"
    assert names(path) == before


def test_a_new_layout_after_the_preview_ends_the_run(lake, engine, marks, report):
    path = lake.write("t/p=1")
    command = Convert(str(path), None, "parquet", "p int")
    preview = engine.preview(command, None, marks, report)
    lake.write("t/p=1/q=2")
    with pytest.raises(CommandRefused) as caught:
        engine.run(command, preview.as_json(), UNCHECKED, marks, report)
    assert {found.code for found in caught.value.refusals} == {"partition_mismatch"}


def test_a_failed_convert_leaves_the_directory_as_it_was(lake, engine, marks, report):
    """The file turns bad between Levee's last look and Delta's: Delta fails, and leaves `_delta_log` behind."""
    path = lake.write("t")
    command = Convert(str(path), None, "parquet", None)
    preview = engine.preview(command, None, marks, report)
    before = names(path)
    report.at["Spark started"] = lambda: (path / "part-0.parquet").write_bytes(b"no longer parquet")
    with pytest.raises(EngineFailed) as caught:
        engine.run(command, preview.as_json(), UNCHECKED, marks, report)
    assert caught.value.failure.condition == "DELTA_FAILED_READ_FILE_FOOTER"
    assert names(path) == before


def test_a_log_that_was_there_before_a_failure_stays(lake, engine, marks, report):
    path = lake.write("t")
    (path / "_delta_log").mkdir()
    command = Convert(str(path), None, "parquet", None)
    preview = engine.preview(command, None, marks, report)
    report.at["Spark started"] = lambda: (path / "part-0.parquet").write_bytes(b"no longer parquet")
    with pytest.raises(EngineFailed):
        engine.run(command, preview.as_json(), UNCHECKED, marks, report)
    assert (path / "_delta_log").is_dir()


def test_an_inspection_survives_json(lake, engine, marks, report):
    path = lake.write("t/p=1")
    found = engine.preview(Convert(str(path), None, "parquet", "p int"), None, marks, report)
    assert type(found).from_json(json.loads(json.dumps(found.as_json()))) == found
