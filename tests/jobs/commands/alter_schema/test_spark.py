"""Changes of a schema on real Delta: the schema and protocol that the log predicts are those that Delta writes."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from jobs.commands.alter_schema import spark
from jobs.commands.alter_schema.comparison import compare
from jobs.commands.alter_schema.log.preview import from_log, violations, with_counts
from jobs.commands.alter_schema.rules import AlterSchema
from jobs.domain.comparison import Verdict
from jobs.domain.engine import UNCHECKED, Checked
from jobs.domain.errors import CommandRefused, EngineFailed
from jobs.domain.results import Result
from jobs.engine.definitions.redefined import REDEFINED
from jobs.engine.runs import rehearsal
from jobs.predicates.table_schema import schema_of
from jobs.targets.subject import Subject
from tables.deltalog.replay.log import open_log
from tables.deltalog.rules.schema import parse_schema
from tables.models import Table
from tests.jobs.engine.lake import commits
from tests.jobs.engine.test_rehearsal import bytes_of

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]
PROPERTIES = {"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"}
COLUMNS = (
    "id", "cast(id AS int) AS n", "concat('r', id) AS name", "struct(id AS x, 'a' AS y, cast(NULL AS date) AS z) AS st",
    "array(struct(cast(id AS int) AS q)) AS items", "map('k', cast(id AS smallint)) AS m", "cast(1.5 AS decimal(5,2)) AS d",
)  # fmt: skip


@pytest.fixture(scope="module")
def table(runtime, tmp_path_factory) -> Path:
    """One table for all, whose columns stay: ten rows, column mapping and type widening on."""
    path = Path(tmp_path_factory.mktemp("schemas"), "a table, 100 % ünlike")
    rows = runtime.new_session().range(10).selectExpr(*COLUMNS).coalesce(1)
    rows.write.format("delta").options(**PROPERTIES).save(str(path))
    return path


def subject_at(path: Path) -> Subject:
    """The table as the catalog would hand it over."""
    snapshot = open_log(str(path)).snapshot(None, path.parent / "files.arrow")
    assert snapshot.metadata
    struct = parse_schema(snapshot.metadata.schema_json)
    found = Table(path=str(path), name=path.name, clustering_columns=list(snapshot.clustering_columns))
    return Subject(found, snapshot, snapshot.metadata, struct, schema_of(struct))


@pytest.fixture
def alter(engine, marks, report):
    """Previews and runs; answers prediction and result."""

    def do(path: Path, *changes: dict[str, Any]):
        written, preview = from_log(subject_at(path), AlterSchema("t", changes))
        return preview, engine.run(written, preview, UNCHECKED, marks, report)

    return do


ALL = (
    {"add": {"path": "added", "type": "struct<a:int,b:array<struct<c:bigint>>>", "comment": "it's new", "after": "id"}},
    {"add": {"path": "items.element.w", "type": "decimal(12,3)", "first": True}},
    {"rename": {"path": "name", "to": "`a.b`"}},
    {"rename": {"path": "st.x", "to": "xx"}},
    {"comment": {"path": "`a.b`", "text": "quotes ' \" and \\"}},
    {"add_constraint": {"name": "Positive", "expression": "n>=0"}},
    {"drop_constraint": {"name": "positive"}},
    {"widen": {"path": "n", "type": "bigint"}},
    {"widen": {"path": "d", "type": "decimal(10,4)"}},
    {"widen": {"path": "m.value", "type": "int"}},
    {"widen": {"path": "items.element.q", "type": "double"}},
    {"drop": {"path": "st.y"}},
    {"cluster_by": ["id", "added.a"]},
    {"cluster_by": ["id"]},
    {"table_comment": "what it is"},
    {"add": {"path": "v", "type": "variant"}},
    {"drop": {"path": "v"}},
)  # fmt: skip


def test_every_kind_of_change_comes_out_as_predicted_in_one_commit_each(table, alter, tmp_path):
    table = Path(shutil.copytree(table, tmp_path / "a copy"))
    changes = [*ALL[:11], {"add": {"path": "st.w", "type": "date"}}, *ALL[11:]]
    preview, result = alter(table, *changes)
    lines = {line.name: line for line in compare(preview, result)}
    assert "failure" not in result.details
    assert [commit["version"] for commit in result.details["commits"]] == list(range(1, len(changes) + 1))
    assert result.read_version == 0  # what the first one read: the others of one's own are no drift
    assert {name: line.verdict for name, line in lines.items()} == dict.fromkeys(lines, Verdict.SAME), lines
    assert subject_at(table).table.clustering_columns == ["id"]
    assert subject_at(table).metadata.description == "what it is"


def test_a_rehearsal_tells_what_the_run_then_does_and_leaves_the_table_as_it_is(table, engine, marks, report, tmp_path):
    table = Path(shutil.copytree(table, tmp_path / "rehearsed"))
    written, preview = from_log(subject_at(table), AlterSchema("t", ALL))
    before = bytes_of(table)
    told = engine.rehearse(written, preview, 0, marks, report)
    assert bytes_of(table) == before
    assert not list((engine.runtime.scratch / rehearsal.FOLDER).glob("*"))
    assert told["rows_after"] == 10
    result = engine.run(written, preview, UNCHECKED, marks, report)
    made = [commit["operation"] for commit in result.details["commits"]]
    assert [commit["operation"] for commit in told["details"]["commits"]] == made
    for name in ("schema_read", "protocol_read"):
        assert told["details"][name] == result.details[name]
    as_rehearsed = Result(None, None, details=told["details"])
    lines = list(compare(preview, as_rehearsed))
    assert {line.verdict for line in lines} == {Verdict.SAME}, lines


def test_a_rehearsal_that_fails_between_two_changes_fails(table, engine, marks, report):
    changes = [
        {"add": {"path": "rehearsed", "type": "int"}},
        {"add_constraint": {"name": "large", "expression": "id > 2"}},
    ]
    written, preview = from_log(subject_at(table), AlterSchema("t", changes))
    count = len(commits(table))
    with pytest.raises(EngineFailed) as failed:
        engine.rehearse(written, preview, 0, marks, report)
    assert failed.value.failure.condition == "DELTA_NEW_CHECK_CONSTRAINT_VIOLATION"
    assert len(commits(table)) == count


def test_rows_that_violate_a_constraint_are_counted_and_it_is_refused_in_delta_s_words(
    table, engine, alter, marks, report
):
    change = {"add_constraint": {"name": "large", "expression": "id > 2 AND name <> 'r9'"}}
    written, preview = from_log(subject_at(table), AlterSchema("t", [change]))
    measured = engine.preview(written, None, marks, report)
    counted = with_counts(preview, measured.rows)
    [refusal] = violations(counted, str(table))
    count = len(commits(table))
    with pytest.raises(EngineFailed) as failed:
        alter(table, change)
    assert counted["violating_rows"] == 4
    assert refusal.engine is not None
    assert (refusal.engine.condition, refusal.engine.sqlstate) == (
        failed.value.failure.condition,
        failed.value.failure.sqlstate,
    )
    assert refusal.message.split(" ", 1)[0] == failed.value.failure.message.split(" ", 1)[0]
    assert len(commits(table)) == count


def test_null_violates_a_constraint_too_and_so_does_a_column_that_is_yet_to_come(table, engine, marks, report):
    changes = [
        {"add_constraint": {"name": "dated", "expression": "st.z > DATE '2020-01-01'"}},
        {"rename": {"path": "id", "to": "key"}},
        {"add": {"path": "later", "type": "int"}},
        {"add_constraint": {"name": "either", "expression": "key > 3 OR later > 1"}},
        {"drop_constraint": {"name": "either"}},
        {"add_constraint": {"name": "either", "expression": "key > 5"}},
    ]
    written, _ = from_log(subject_at(table), AlterSchema("t", changes))
    assert engine.preview(written, None, marks, report).rows == {"1": 10, "4": 4, "6": 6}


def test_a_change_that_fails_leaves_those_before_it_and_says_so(table, alter):
    preview, result = alter(
        table,
        {"comment": {"path": "id", "text": "first"}},
        {"add_constraint": {"name": "never", "expression": "id < 0"}},
        {"comment": {"path": "id", "text": "never made"}},
    )
    assert len(result.details["commits"]) == 1
    assert result.details["failure"]["condition"] == "DELTA_NEW_CHECK_CONSTRAINT_VIOLATION"
    assert result.version == subject_at(table).version
    [line] = [line for line in compare(preview, result) if line.name == "commits"]
    assert (line.actual, line.verdict) == (1, Verdict.DIFFERENT)


def test_delta_that_fails_after_a_commit_leaves_a_change_that_is_made(table, alter, monkeypatch):
    comment = spark._ACTS["comment"]

    def failing(session: Any, path: str, value: Any) -> None:
        comment(session, path, value)
        raise PySparkException("a hook failed")

    monkeypatch.setitem(spark._ACTS, "comment", failing)
    _, result = alter(table, {"comment": {"path": "n", "text": "made"}}, {"table_comment": "and this one"})
    assert "failure" not in result.details
    assert [commit["operation"] for commit in result.details["commits"]] == ["CHANGE COLUMN", "SET TBLPROPERTIES"]


@pytest.fixture
def meanwhile(runtime, monkeypatch):
    """Another program's statement right after each comment of Levee's."""

    def do(path: Path, statement: str) -> None:
        comment = spark._ACTS["comment"]

        def then_another(session: Any, at: str, value: Any) -> None:
            comment(session, at, value)
            runtime.new_session().sql(statement.format(f"delta.`{path}`"))

        monkeypatch.setitem(spark._ACTS, "comment", then_another)

    return do


COMMENT, NEXT = {"comment": {"path": "id", "text": "first"}}, {"drop": {"path": "name"}}


def test_another_program_s_schema_between_two_changes_stops_those_that_are_left(table, alter, meanwhile, tmp_path):
    path = Path(shutil.copytree(table, tmp_path / "other"))
    meanwhile(path, "ALTER TABLE {} ADD COLUMN more INT")
    _, result = alter(path, COMMENT, NEXT)
    assert (result.details["failure"]["message"], len(result.details["commits"])) == (REDEFINED, 1)
    assert len(commits(path)) == len(commits(table)) + 2


def test_another_program_s_rows_between_two_changes_stop_nothing(table, alter, meanwhile, tmp_path):
    path = Path(shutil.copytree(table, tmp_path / "grown"))
    meanwhile(path, "INSERT INTO {0} SELECT * FROM {0}")
    preview, result = alter(path, COMMENT, NEXT)
    assert {line.name: line.verdict for line in compare(preview, result)}["commits"] is Verdict.SAME


@pytest.mark.parametrize("name", ["a", "delta.feature.allowColumnDefaults"])
def test_a_schema_that_changed_after_the_check_makes_it_stale(table, runtime, engine, marks, report, tmp_path, name):
    path = Path(shutil.copytree(table, tmp_path / "late"))
    version = subject_at(path).version
    written, preview = from_log(subject_at(path), AlterSchema("t", [NEXT]))
    runtime.new_session().sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('{name}' = 'supported')")
    with pytest.raises(CommandRefused) as refused:
        engine.run(written, preview, Checked(version), marks, report)
    assert refused.value.refusals[0].code == "stale"
    assert subject_at(path).version == version + 1


MADE = "id BIGINT NOT NULL, n INT, day DATE, next BIGINT GENERATED ALWAYS AS (id + 1), number BIGINT GENERATED ALWAYS AS IDENTITY"
KEY = "key BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY"


def test_partition_columns_follow_and_what_delta_fills_in_is_refused_as_delta_does(runtime, tmp_path, alter):
    path = tmp_path / "made"
    options = ", ".join(f"'{name}' = '{value}'" for name, value in PROPERTIES.items())
    session = runtime.new_session()
    session.sql(
        f"CREATE TABLE delta.`{path}` ({MADE}, {KEY}) USING delta PARTITIONED BY (day) TBLPROPERTIES ({options})"
    )
    preview, result = alter(path, {"nullable": {"path": "id"}}, {"rename": {"path": "day", "to": "date"}})
    assert [line.verdict for line in compare(preview, result)] == [Verdict.SAME] * 3
    assert subject_at(path).metadata.partition_columns == ("date",)
    wider = ({"widen": {"path": name, "type": "decimal(20,0)"}} for name in ("next", "number"))
    asked = ["next TYPE decimal(20, 0)", "number TYPE decimal(20, 0)", "key DROP NOT NULL"]
    for change, words in zip([*wider, {"nullable": {"path": "key"}}], asked, strict=True):
        with pytest.raises(CommandRefused) as refused:
            from_log(subject_at(path), AlterSchema("t", [change]))
        with pytest.raises(PySparkException) as failed:
            session.sql(f"ALTER TABLE delta.`{path}` ALTER COLUMN {words}")
        engine = refused.value.refusals[0].engine
        assert engine is not None
        assert (engine.condition, engine.sqlstate) == (failed.value.getCondition(), failed.value.getSqlState())
