"""What Delta makes of constraints that another writer put there: Levee says beforehand what Delta does then, with the same condition."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from jobs.commands.optimize.rules import Optimize
from jobs.commands.set_properties.log.preview import written_for as properties_of
from jobs.commands.set_properties.rules import SetProperties
from jobs.domain.engine import UNCHECKED
from jobs.domain.errors import CommandRefused, EngineFailed, EngineFailure, EngineLost
from jobs.predicates.constraints import KIND, constraints_question
from tests.jobs.commands.optimize.test_spark import predicted, subject_at
from tests.jobs.engine.deltas import deletion

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]
Field = dict[str, Any]
VIOLATED, UNPARSED, CAST = "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", "PARSE_SYNTAX_ERROR", "CAST_INVALID_INPUT"


def check(text: str) -> dict[str, Any]:
    return {"configuration": {"delta.constraints.c": text}}


def column(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {f"delta.{name}": value for name, value in metadata.items()}}


def rule(text: str) -> str:
    return json.dumps({"expression": {"expression": text}})


# What the table is given, and the conditions by which Delta refuses: a delete that copies rows, an optimize, a change of properties.
CASES: dict[str, tuple[dict[str, Any], tuple[str | None, str | None, str | None]]] = {
    "kept": (check("id > 0"), (None, None, None)),
    "no boolean": (check("id + 1"), (None, None, None)),
    "a missing column is null": (check("nosuch IS NULL"), (None, None, None)),
    "another engine's quotes": (check('"Select" > 0'), (CAST, CAST, None)),
    "another engine's operator": (check("s ~ '^[a-z]'"), (UNPARSED, UNPARSED, UNPARSED)),
    "in other letters": ({"configuration": {"DELTA.Constraints.c": "s ~ 'x'"}}, (UNPARSED, UNPARSED, UNPARSED)),
    "no such column": (check("nosuch > 0"), (VIOLATED, VIOLATED, None)),
    "no such function": (check("regexp_like_x(s, 'a')"), ("UNRESOLVED_ROUTINE", "UNRESOLVED_ROUTINE", None)),
    "rows violate": (check("id > 5"), (VIOLATED, VIOLATED, None)),
    "only the deleted row violates": (check("id > 1"), (None, VIOLATED, None)),
    "only rows of another file violate": (check("id < 10"), (None, VIOLATED, None)),
    "null": (check("length(n) > 0"), (VIOLATED, VIOLATED, None)),
    "a value fails": (check("cast(s as int) > 0"), (CAST, CAST, None)),
    "a function that calls Java's methods": (
        check("java_method('java.lang.System', 'lineSeparator') <> s"),
        ("UNRESOLVED_ROUTINE", "UNRESOLVED_ROUTINE", None),
    ),
    "an invariant's operator": (column(invariants=rule("s ~ 'x'")), (UNPARSED, UNPARSED, UNPARSED)),
    "rows violate an invariant": (column(invariants=rule("id > 5")), (VIOLATED, VIOLATED, None)),
    "a generated column's operator": (column(generationExpression="s ~ 'x'"), (UNPARSED, UNPARSED, UNPARSED)),
    "other values than generated": (column(generationExpression="length(s) + 100L"), (VIOLATED, VIOLATED, None)),
    "generated of another type": (
        column(generationExpression="length(s) + 100"),
        (VIOLATED, VIOLATED, "DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH"),
    ),
    "generated from a missing column": (
        column(generationExpression="nosuch + 1L"),
        (VIOLATED, VIOLATED, "DELTA_INVALID_GENERATED_COLUMN_REFERENCES"),
    ),
}


def foreign(
    path: Path,
    configuration: dict[str, str] | None = None,
    metadata: dict[str, Any] | None = None,
    protocol: dict[str, Any] | None = None,
) -> Path:
    """Two files, of ids 1 to 3 and 11 to 13, whose metadata another writer changed afterwards without looking at the rows."""
    for first in (1, 11):
        rows = pa.table({"id": [first, first + 1, first + 2], "s": ["a", "b", "C"], "n": pa.nulls(3, pa.string())})
        write_deltalake(str(path), rows, mode="append")
    log = path / "_delta_log"
    lines = (log / f"{0:020}.json").read_text().splitlines()
    found = next(json.loads(line)["metaData"] for line in lines if "metaData" in line)
    schema = json.loads(found["schemaString"])
    schema["fields"][0]["metadata"] = metadata or {}
    changed = {"metaData": {**found, "schemaString": json.dumps(schema), "configuration": configuration or {}}}
    features = ["appendOnly", "checkConstraints", "generatedColumns", "invariants"]
    listed = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": features}
    actions = [{"commitInfo": {"timestamp": 1, "operation": "SET"}}, {"protocol": protocol or listed}, changed]
    (log / f"{2:020}.json").write_text("".join(json.dumps(action) + "\n" for action in actions))
    return path


def condition_of(act) -> str | None:
    """By which the engine refuses; None if it does it."""
    try:
        act()
    except EngineFailed as failed:
        return failed.failure.condition
    return None


def foretold(engine, marks, report, question: dict[str, Any]) -> str | None:
    """The condition of Levee's refusal; None without one."""
    try:
        engine.read(KIND, question, marks, report)
    except CommandRefused as refused:
        first = refused.refusals[0]
        assert first.code == "constraint_fails"
        assert first.remedy
        assert first.engine
        return first.engine.condition
    return None


@pytest.mark.parametrize("name", CASES)
def test_what_a_copying_delete_meets_is_foretold(engine, marks, report, tmp_path: Path, name: str) -> None:
    made, (expected, _, _) = CASES[name]
    path = foreign(tmp_path / "t", **made)
    command = deletion(path, "id = 1")
    held = [each for each in files(path) if 1 in pq.read_table(path / each).column("id").to_pylist()]
    question = constraints_question(str(path), 2, pa.table({"path": held}), kept_by=command.tree)
    assert foretold(engine, marks, report, question) == expected
    assert condition_of(lambda: engine.run(command, {}, UNCHECKED, marks, report)) == expected


@pytest.mark.parametrize("name", CASES)
def test_what_a_change_of_properties_and_an_optimize_meet_is_foretold(
    engine, marks, report, tmp_path: Path, name: str
) -> None:
    made, (_, rewritten, redefined) = CASES[name]
    path = foreign(tmp_path / "t", **made)
    question = subject_at(path).asked_of_constraints(redefines=True)
    assert question
    assert foretold(engine, marks, report, question) == redefined
    change = properties_of(subject_at(path), SetProperties("t", set={"delta.checkpointInterval": "50"}))
    after = {"after": {"delta.checkpointInterval": "50"}}
    assert condition_of(lambda: engine.run(change, after, UNCHECKED, marks, report)) == redefined
    subject = subject_at(path)
    question = subject.asked_of_constraints(subject.snapshot.files)
    assert question
    assert foretold(engine, marks, report, question) == rewritten
    command, _ = predicted(path, Optimize("t"))
    assert condition_of(lambda: engine.run(command, {}, UNCHECKED, marks, report)) == rewritten


@pytest.mark.parametrize("place", [check, lambda text: column(generationExpression=text)], ids=["check", "generated"])
def test_spark_analyses_no_query_of_a_constraint(engine, marks, report, tmp_path: Path, place: Any) -> None:
    """Delta refuses them too, and Spark would have listed the place that the query names."""
    elsewhere = tmp_path / "elsewhere"
    path = foreign(tmp_path / "t", **place(f"id + (SELECT count(*) FROM parquet.`{elsewhere}`)"))
    question = constraints_question(str(path), 2, pa.table({"path": files(path)}), redefines=place is not check)
    with pytest.raises(CommandRefused) as refused:
        engine.read(KIND, question, marks, report)
    first = refused.value.refusals[0]
    assert (first.code, first.engine) == ("constraint_fails", None)
    assert "asks a query of its own" in first.message
    command, _ = predicted(path, Optimize("t"))
    assert condition_of(lambda: engine.run(command, {}, UNCHECKED, marks, report)) is not None


UNREADABLE = ["another engine's operator", "an invariant's operator", "a generated column's operator"]


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_protocol_without_a_list_of_features_opens_a_table_whose_constraints_are_unreadable(
    engine, marks, report, tmp_path: Path, name: str
) -> None:
    made, _ = CASES[name]
    path = foreign(tmp_path / "t", **made, protocol={"minReaderVersion": 1, "minWriterVersion": 4})
    subject = subject_at(path)
    for redefines, files_of in ((True, lambda: None), (False, subject.snapshot.files)):
        question = subject.asked_of_constraints(files_of, redefines=redefines)
        assert question
        assert foretold(engine, marks, report, question) == UNPARSED
    change = properties_of(subject, SetProperties("t", set={"delta.checkpointInterval": "50"}))
    after = {"after": {"delta.checkpointInterval": "50"}}
    assert condition_of(lambda: engine.run(change, after, UNCHECKED, marks, report)) == UNPARSED
    command, _ = predicted(path, Optimize("t"))
    assert condition_of(lambda: engine.run(command, {}, UNCHECKED, marks, report)) == UNPARSED
    question = subject.asked_of_constraints()  # of a change that neither redefines the table nor writes rows
    expected = None if question is None else foretold(engine, marks, report, question)
    assert condition_of(lambda: engine.run(deletion(path, None), {}, UNCHECKED, marks, report)) == expected
    assert expected == (UNPARSED if "invariant" in name else None)


def test_no_value_of_a_row_is_told(engine, marks, report, tmp_path: Path) -> None:
    for name, made in {"violates": check("length(s) > 1"), "fails": check("cast(s as int) > 0")}.items():
        path = foreign(tmp_path / name, **made)
        question = constraints_question(str(path), 2, pa.table({"path": files(path)}))
        with pytest.raises(CommandRefused) as refused:
            engine.read(KIND, question, marks, report)
        told = json.dumps(refused.value.refusals[0].as_json())
        assert "s : a" not in told
        assert "'a'" not in told


def test_a_file_that_is_gone_is_no_fault_of_a_constraint(engine, marks, report, tmp_path: Path) -> None:
    path = foreign(tmp_path / "t", **check("id > 0"))
    question = constraints_question(str(path), 2, pa.table({"path": files(path)}))
    (path / files(path)[0]).unlink()
    with pytest.raises(EngineFailed) as failed:
        engine.read(KIND, question, marks, report)
    assert str(failed.value.failure.condition).startswith("FAILED_READ_FILE")


def test_a_table_without_conditions_is_asked_nothing(tmp_path: Path) -> None:
    subject = subject_at(foreign(tmp_path / "t"))
    assert subject.asked_of_constraints(subject.snapshot.files, redefines=True) is None


def files(path: Path) -> list[str]:
    found: list[str] = subject_at(path).snapshot.files().column("path").to_pylist()
    return found


@pytest.mark.parametrize(
    ("failed", "passes"),
    [
        (EngineLost(EngineFailure("SYNTAX", "42601", "java.lang.OutOfMemoryError")), EngineLost),
        (EngineFailed(EngineFailure(None, None, "no space left on device")), EngineFailed),
        (EngineFailed(EngineFailure("DELTA_FILE_NOT_FOUND", "42K03", "gone")), EngineFailed),
        (EngineFailed(EngineFailure("PARSE_SYNTAX_ERROR", "42601", "odd", retryable=True)), EngineFailed),
    ],
)
def test_what_else_is_to_blame_is_no_refusal(
    engine, marks, report, tmp_path: Path, monkeypatch, failed: EngineFailed, passes: type[EngineFailed]
) -> None:
    def fails(*of: Any) -> None:
        raise failed

    path = foreign(tmp_path / "t", **check("id > 0"))
    monkeypatch.setattr("jobs.engine.constraints.table_at", fails)
    with pytest.raises(passes) as raised:
        engine.read(KIND, constraints_question(str(path), 2, redefines=True), marks, report)
    assert raised.value is failed
