"""DROP FEATURE on real Delta: the protocol afterwards, the commits, and the wait of a cut history."""

import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from jobs.commands.drop_feature.comparison import compare
from jobs.commands.drop_feature.log import from_log, written_for
from jobs.commands.drop_feature.rules import DropFeature
from jobs.domain.comparison import Verdict
from jobs.domain.engine import UNCHECKED, Checked
from jobs.domain.errors import CommandRefused, EngineFailed
from jobs.predicates.table_schema import schema_of
from jobs.targets.subject import Subject
from tables.deltalog.replay.log import open_log
from tables.deltalog.rules.schema import parse_schema
from tables.models import Table
from tests.jobs.engine.lake import commits

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]
PROPERTIES = {
    "delta.enableDeletionVectors": "true",
    "delta.enableInCommitTimestamps": "true",
    "delta.enableChangeDataFeed": "true",
    "delta.constraints.few": "id < 100",
}


@pytest.fixture(scope="module")
def made(runtime, tmp_path_factory):
    """A small table with four features, made once; each test takes a copy."""
    path = tmp_path_factory.mktemp("features") / "t"
    writer = runtime.new_session().range(3).coalesce(1).write.format("delta")
    for name, value in PROPERTIES.items():
        writer = writer.option(name, value)
    writer.save(str(path))
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
def no_catalog(monkeypatch):
    """No job took a first step, and no stream reads the table."""
    monkeypatch.setattr("jobs.commands.drop_feature.log.ready_at", lambda *_: None)
    monkeypatch.setattr("jobs.commands.drop_feature.log.still_to_read", lambda *_: [])


@pytest.fixture
def drop(engine, marks, report, no_catalog):
    """Previews and runs; answers prediction and result. `known`: when the second step can be taken, as the preview has it."""

    def do(path: Path, feature: str, *, truncate: bool = False, known: str | None = None):
        subject = subject_at(path)
        command = written_for(subject, DropFeature("t", feature, truncate))
        preview = from_log(subject, command) | {"ask_again_after": known}
        return preview, engine.run(command, preview, UNCHECKED, marks, report)

    return do


def operations(result: Any) -> list[str]:
    return [commit["operation"] for commit in result.details["commits"]]


def holds(preview: Any, result: Any) -> bool:
    lines = list(compare(preview, result))
    return bool(lines) and {line.verdict for line in lines} == {Verdict.SAME}


@pytest.mark.parametrize("name", ["delta.feature.allowColumnDefaults", "delta.enableTypeWidening", "team"])
def test_a_definition_that_changed_after_the_check_makes_it_stale(
    runtime, table, no_catalog, engine, marks, report, name
):
    subject = subject_at(table)
    command = written_for(subject, DropFeature("t", "inCommitTimestamp"))
    value = "supported" if name.startswith("delta.feature") else "true"
    runtime.new_session().sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('{name}' = '{value}')")
    count = len(commits(table))
    with pytest.raises(CommandRefused, match="Another program has changed") as refused:
        engine.run(command, from_log(subject, command), Checked(subject.version), marks, report)
    assert (refused.value.refusals[0].code, len(commits(table))) == ("stale", count)


def test_rows_that_came_after_the_check_do_not(runtime, table, no_catalog, engine, marks, report):
    subject = subject_at(table)
    command = written_for(subject, DropFeature("t", "inCommitTimestamp"))
    runtime.new_session().sql(f"INSERT INTO delta.`{table}` VALUES (9)")
    result = engine.run(command, from_log(subject, command), Checked(subject.version), marks, report)
    assert operations(result)[-1] == "DROP FEATURE"


def test_a_writer_feature_goes_at_once_and_lowers_the_protocol(table, drop):
    preview, result = drop(table, "incommittimestamp")
    assert holds(preview, result)
    assert operations(result)[-1] == "DROP FEATURE"
    assert preview["way"] == "plain"


def test_a_reader_feature_goes_fast_and_leaves_the_protection(table, drop):
    preview, result = drop(table, "deletionVectors")
    assert preview["way"] == "fast"
    assert holds(preview, result)
    assert operations(result)[-1] == "DROP FEATURE"
    assert len(operations(result)) == len(commits(table)) - 1
    assert "checkpointProtection" in preview["after"]["features"]


def aged(path: Path, hours: float) -> None:
    """The log as it is after so many more hours: Delta counts from its files' times."""
    for file in (path / "_delta_log").iterdir():
        then = file.stat().st_mtime - hours * 3_600
        os.utime(file, (then, then))


def test_a_cut_history_waits_and_drops_the_feature_once_the_wait_is_over(runtime, tmp_path, drop):
    table = tmp_path / "t"
    runtime.new_session().range(3).coalesce(1).write.format("delta").option("delta.enableDeletionVectors", "true").save(
        str(table)
    )
    preview, first = drop(table, "deletionVectors", truncate=True)
    assert holds(preview, first)
    assert "DROP FEATURE" not in operations(first)
    assert "Request the same again after" in first.details["text"]
    until = datetime.fromisoformat(first.details["ask_again_after"])
    assert timedelta(hours=23, minutes=55) < until - datetime.now(UTC) <= timedelta(hours=24, minutes=1)
    aged(table, 20)
    left = (until - timedelta(hours=20)).isoformat()
    _, early = drop(table, "deletionVectors", truncate=True, known=left)
    assert early.version
    assert early.details["ask_again_after"] == left
    assert "DROP FEATURE" not in operations(early)
    aged(table, 4.1)
    preview, second = drop(table, "deletionVectors", truncate=True, known=left)
    assert holds(preview, second)
    assert operations(second)[-1] == "DROP FEATURE"
    log = table / "_delta_log"
    assert not (log / f"{0:020}.json").exists()
    assert (log / f"{early.version:020}.json").exists(), "a version younger than the wait stays"


@pytest.mark.parametrize(
    ("feature", "truncate"),
    [
        ("changeDataFeed", False), ("nosuch", False), ("columnMapping", False), ("inCommitTimestamp", True), ("timestampNtz", False),
        ("delta.enableDeletionVectors", False), ("checkConstraints", False),
    ],
)  # fmt: skip
def test_what_delta_refuses_is_refused_before_spark_with_its_condition(
    table, engine, marks, report, no_catalog, feature, truncate
):
    command = DropFeature("t", feature, truncate, path=str(table))
    with pytest.raises(EngineFailed) as delta:
        engine.run(command, {}, UNCHECKED, marks, report)
    with pytest.raises(CommandRefused) as ours:
        from_log(subject_at(table), command)
    refused = ours.value.refusals[0].engine
    assert refused is not None
    assert (refused.condition, refused.sqlstate) == (delta.value.failure.condition, delta.value.failure.sqlstate)
    assert len(commits(table)) == 1
