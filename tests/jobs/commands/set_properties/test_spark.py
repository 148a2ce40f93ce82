"""Properties on real Delta: what the log predicts is what Delta does, and what Delta refuses is refused before."""

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from jobs.commands.set_properties import spark as running
from jobs.commands.set_properties.comparison import compare
from jobs.commands.set_properties.log.preview import from_log, written_for
from jobs.commands.set_properties.rules import SetProperties, missing_commits
from jobs.domain.comparison import Verdict
from jobs.domain.engine import UNCHECKED, Checked
from jobs.domain.errors import CommandRefused, EngineFailed
from jobs.engine.commits.history import HistoryCommit, commits_after
from jobs.predicates.table_schema import schema_of
from jobs.targets.subject import Subject
from tables.deltalog.replay.log import open_log
from tables.deltalog.rules.property_types import TYPES
from tables.deltalog.rules.retention import LONGEST, parse_interval
from tables.deltalog.rules.schema import parse_schema
from tables.models import Table
from tests.jobs.engine.delta_configs import configs_of, entries_of
from tests.jobs.engine.lake import commits

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]
MILLISECOND = timedelta(milliseconds=1)


@pytest.fixture(scope="module")
def made(runtime, tmp_path_factory):
    """A small table, made once; each test takes a copy."""
    path = tmp_path_factory.mktemp("properties") / "t"
    owned = "USING delta TBLPROPERTIES ('team' = 'finance')"
    runtime.new_session().sql(f"CREATE TABLE delta.`{path}` {owned} AS SELECT id FROM range(0, 3, 1, 1)")
    return path


@pytest.fixture
def table(made, tmp_path):
    return Path(shutil.copytree(made, tmp_path / "t"))


def subject_at(path: Path) -> Subject:
    """The table as the catalog would hand it over."""
    snapshot = open_log(str(path)).snapshot(None, path.parent / "files.arrow")
    assert snapshot.metadata
    struct = parse_schema(snapshot.metadata.schema_json)
    return Subject(Table(path=str(path), name=path.name), snapshot, snapshot.metadata, struct, schema_of(struct))


@pytest.fixture
def change(engine, marks, report, monkeypatch):
    """Previews and runs; answers prediction and result. Nothing reads the table, and its history is in no catalog."""
    monkeypatch.setattr("jobs.commands.set_properties.log.preview.losses_of", lambda *_: [])
    monkeypatch.setattr("jobs.commands.set_properties.log.preview.shorter_times", lambda *_: [])

    def do(path: Path, **asked: Any):
        subject = subject_at(path)
        command = written_for(subject, SetProperties("t", **asked))
        preview = from_log(subject, command)
        return preview, engine.run(command, preview, UNCHECKED, marks, report)

    return do


LATER = {
    "the same property": "ALTER TABLE {0} SET TBLPROPERTIES ('team' = 'sales')",
    "a feature": "ALTER TABLE {0} SET TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')",
    "the schema": "ALTER TABLE {0} ADD COLUMN more INT",
    "the comment": "ALTER TABLE {0} SET TBLPROPERTIES ('comment' = 'theirs')",
}


@pytest.mark.parametrize("statement", LATER.values(), ids=LATER)
def test_what_another_program_changed_after_the_check_makes_it_stale(runtime, table, engine, marks, report, statement):
    subject = subject_at(table)
    command = written_for(subject, SetProperties("t", {"team": "ours"}))
    session = runtime.new_session()
    session.sql(statement.format(f"delta.`{table}`"))
    count = len(commits(table))
    preview = {"after": {"team": "ours"}}
    with pytest.raises(CommandRefused, match="Another program has changed") as refused:
        engine.run(command, preview, Checked(subject.version), marks, report)
    assert (refused.value.refusals[0].code, len(commits(table))) == ("stale", count)
    session.sql(f"INSERT INTO delta.`{table}` (id) VALUES (9)")
    result = engine.run(command, preview, Checked(subject_at(table).version - 1), marks, report)
    assert (result.version, result.details["after"]) == (count + 1, {"team": "ours"})


def test_what_another_program_changes_between_its_two_commits_stops_the_second(runtime, table, change, monkeypatch):
    statement = LATER["the comment"].format(f"delta.`{table}`")
    setting = running._set

    def then_another(*given: Any) -> None:
        setting(*given)
        runtime.new_session().sql(statement)

    monkeypatch.setattr(running, "_set", then_another)
    _, result = change(table, set={"owner": "me"}, unset=["team"])
    assert (operations(result), "team" in properties(table)) == (["SET TBLPROPERTIES"], True)
    assert "Another program has changed" in result.details["failure"]["message"]


def properties(path: Path) -> dict[str, str]:
    return dict(subject_at(path).metadata.configuration)


def holds(preview, result) -> bool:
    lines = list(compare(preview, result))
    return bool(lines) and {line.verdict for line in lines} == {Verdict.SAME}


def operations(result) -> list[str]:
    return [commit["operation"] for commit in result.details["commits"]]


SETS: list[dict[str, str]] = [
    {"delta.checkpointInterval": "50", "delta.appendOnly": "true"},
    {"delta.enableDeletionVectors": "true", "delta.logRetentionDuration": "40 days"},
    {"delta.enableChangeDataFeed": "true", "delta.columnMapping.mode": "name"},
    {"delta.enableInCommitTimestamps": "true", "delta.minWriterVersion": "4"},
    {"delta.deletedFileRetentionDuration": "interval 36 hours", "delta.logRetentionDuration": "2000000.5 seconds"},
    {"delta.checkpointPolicy": "v2", "delta.feature.allowColumnDefaults": "supported", "owner": "me"},
    {"delta.enableTypeWidening": "true", "delta.feature.typeWidening-preview": "supported"},
    {"delta.universalFormat.config.iceberg.location": "x", "delta.autoOptimize": "true"},
]


@pytest.mark.parametrize("given", SETS, ids=lambda given: next(iter(given)))
def test_properties_and_protocol_are_as_predicted(table, change, given):
    preview, result = change(table, set=given)
    assert holds(preview, result)
    assert operations(result) == ["SET TBLPROPERTIES"]


def test_what_is_set_and_what_is_unset_are_two_commits_of_the_job(table, change):
    preview, result = change(table, set={"owner": 'it\'s "me"'}, unset=["team"])
    assert holds(preview, result)
    assert operations(result) == ["SET TBLPROPERTIES", "UNSET TBLPROPERTIES"]
    assert (result.version, result.details["after"]) == (2, {"owner": 'it\'s "me"', "team": None})


def test_row_tracking_commits_its_backfill_first(table, change):
    preview, result = change(table, set={"delta.enableRowTracking": "true"})
    assert holds(preview, result)
    assert operations(result) == ["UPGRADE PROTOCOL", "ROW TRACKING BACKFILL", "SET TBLPROPERTIES"]


def test_a_log_kept_longer_by_the_table_lets_files_be_kept_longer(table, change):
    change(table, set={"delta.logRetentionDuration": "60 days"})
    preview, result = change(table, set={"delta.deletedFileRetentionDuration": "50 days"})
    assert holds(preview, result)


def test_if_the_second_commit_fails_the_first_one_is_recorded(table, change, monkeypatch):
    def fail(session: Any, command: Any, loaded: Any) -> None:
        session.sql("SELECT * FROM no_such_table")

    monkeypatch.setattr(running, "_unset", fail)
    _, result = change(table, set={"owner": "me"}, unset=["team"])
    assert operations(result) == ["SET TBLPROPERTIES"]
    assert result.details["failure"]["condition"] == "TABLE_OR_VIEW_NOT_FOUND"


def test_a_failure_after_the_backfill_of_row_tracking_is_part_of_the_result(table, change, monkeypatch):
    whole = running._set

    def fail(session: Any, command: Any, loaded: Any) -> None:
        whole(session, command, loaded)
        session.sql("SELECT * FROM no_such_table")

    def without_the_property(path: str, version: int) -> list[HistoryCommit]:
        return [commit for commit in commits_after(path, version) if commit.operation != "SET TBLPROPERTIES"]

    monkeypatch.setattr(running, "_set", fail)
    monkeypatch.setattr(running, "commits_after", without_the_property)
    _, result = change(table, set={"delta.enableRowTracking": "true"})
    assert operations(result) == ["UPGRADE PROTOCOL", "ROW TRACKING BACKFILL"]
    assert missing_commits(SetProperties("t", set={"delta.enableRowTracking": "true"}), operations(result)) != []
    assert result.details["failure"]["condition"] == "TABLE_OR_VIEW_NOT_FOUND"


def test_a_failure_after_the_commit_is_no_failure_and_the_next_commit_follows(table, change, monkeypatch):
    whole = running._set

    def fail(session: Any, command: Any, loaded: Any) -> None:
        whole(session, command, loaded)
        session.sql("SELECT * FROM no_such_table")

    monkeypatch.setattr(running, "_set", fail)
    preview, result = change(table, set={"owner": "me"}, unset=["team"])
    assert holds(preview, result)
    assert operations(result) == ["SET TBLPROPERTIES", "UNSET TBLPROPERTIES"]
    assert "failure" not in result.details


def test_a_retention_that_is_unset_beside_another_is_not_compared(table, change):
    change(table, set={"delta.logRetentionDuration": "10 days"})
    preview, result = change(
        table, set={"delta.deletedFileRetentionDuration": "20 days"}, unset=["delta.logRetentionDuration"]
    )
    assert holds(preview, result)


def test_the_list_of_properties_is_delta_s(runtime):
    """All of Delta's own, by reflection, and the two that its row tracking writes without listing them."""
    listed = set(entries_of(runtime.new_session()))
    written = {name for name in TYPES if name.startswith("delta.rowTracking.materialized")}
    assert set(TYPES) == listed | written


INTERVALS = [
    *(
        "interval 36 hours",
        "interval 1.5 days",
        "1.0 hours",
        "1. week",
        "INTERVAL 1 Day",
        "interval",
        "interval\t1 day",
        "interval1 day",
    ),
    *(
        "1.5 seconds",
        ".5 second",
        "- .5 seconds 1 day",
        ". seconds",
        "-. seconds",
        "1.123456789 seconds",
        "1.1234567891 seconds",
    ),
    *(
        "2 days -12 hours",
        "2 days - 12 hours",
        "12 hours -1 day",
        "-1 microseconds",
        "0 years 5 days",
        "1 month -1 month",
        "1 month",
    ),
    *(
        "1 day2 hours",
        "1day",
        "3 dayss",
        "3 day s",
        "7 fortnights",
        "1 nanosecond",
        "1\x1cday\n2 \t hours ",
        "\u0663 days",
        "+3 days",
    ),
    *(
        "2147483647 days",
        "2147483648 days",
        "200000000 days",
        "300000000 days",
        "306783379 weeks",
        "9223372036854775807 microseconds",
    ),
    *(
        "9223372036854775808 microseconds",
        "2562047789 hours",
        "000000000000000000000000003 days",
        "36525 days 1 microsecond",
    ),
]


def test_an_interval_is_a_duration_where_delta_takes_it_as_one(runtime):
    configs = configs_of(runtime.new_session())

    def by_delta(text: str) -> timedelta | None:
        try:
            read = configs.parseCalendarInterval(text)
        except (Py4JJavaError, PySparkException):
            return None
        taken = configs.isValidIntervalConfigValue(read)
        return min(configs.getMilliSeconds(read) * MILLISECOND, LONGEST) if taken else None

    ours = {text: parse_interval(text) for text in INTERVALS}
    assert {text: found and found // MILLISECOND * MILLISECOND for text, found in ours.items()} == {
        text: by_delta(text) for text in INTERVALS
    }


@pytest.mark.parametrize(
    "given",
    [
        {"delta.nosuch": "1"},
        {"delta.dataSkippingStatsColumns": "id,id"},
        {
            "delta.columnMapping.mode": "name",
            "delta.enableIcebergCompatV1": "true",
            "delta.enableIcebergCompatV2": "true",
        },
        {"delta.constraints.c": "id > 0"},
        {"delta.columnMapping.mode": "id"},
        {"delta.isolationLevel": "x"},
        {"delta.logRetentionDuration": "soon"},
        {"delta.deletedFileRetentionDuration": "interval 1.5 days"},
        {"delta.logRetentionDuration": "1 day"},
        {"delta.checkpointInterval": "0"},
        {"delta.feature.nosuch": "supported"},
        {"delta.enableIcebergCompatV2": "true"},
        {"delta.dataSkippingStatsColumns": "nope"},
    ],
    ids=lambda given: next(iter(given)),
)
def test_what_delta_refuses_is_refused_before_spark_with_its_condition(table, engine, marks, report, given):
    command = SetProperties("t", set=given, path=str(table))
    with pytest.raises(EngineFailed) as delta:
        engine.run(command, {"after": {}}, UNCHECKED, marks, report)
    with pytest.raises(CommandRefused) as ours:
        from_log(subject_at(table), written_for(subject_at(table), command))
    refused = ours.value.refusals[0].engine
    assert refused is not None
    assert (refused.condition, refused.sqlstate) == (delta.value.failure.condition, delta.value.failure.sqlstate)
    assert len(commits(table)) == 1


MIXED = "id BIGINT, p INT, ok BOOLEAN, b BINARY, a ARRAY<INT>, st STRUCT<x: INT, y: STRUCT<z: BINARY>>, s STRING"
TAKEN = ("", " ", "id", "s, `id`", "st.x , s", "`st`.`x`", "st", "st.y.z", "id,ID", "OK", "a.element")
REFUSED = ("p", "P", "ok", "b", "a", "st.nope", "`id`,id", "st.x,s,st.x", "st,st.x", "id,", "`i`` d`")


def test_columns_to_skip_by_are_those_that_delta_takes(runtime, tmp_path, change, engine, marks, report):
    table = tmp_path / "t"
    runtime.new_session().sql(f"CREATE TABLE delta.`{table}` ({MIXED}) USING delta PARTITIONED BY (p)")
    taken = {columns: holds(*change(table, set={"delta.dataSkippingStatsColumns": columns})) for columns in TAKEN}
    assert taken == dict.fromkeys(TAKEN, True)
    by_delta, by_us = {}, {}
    for columns in REFUSED:
        command = SetProperties("t", set={"delta.dataSkippingStatsColumns": columns}, path=str(table))
        with pytest.raises(CommandRefused) as ours:
            from_log(subject_at(table), command)
        with pytest.raises(EngineFailed) as delta:
            engine.run(command, {"after": {}}, UNCHECKED, marks, report)
        refused = ours.value.refusals[0].engine
        by_delta[columns] = (delta.value.failure.condition, delta.value.failure.sqlstate)
        by_us[columns] = refused and (refused.condition, refused.sqlstate)
    assert by_us == by_delta
