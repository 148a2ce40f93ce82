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
from jobs.domain.errors import CommandRefused, EngineFailed
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
    "a query": (check("id IN (SELECT 1)"), ("INTERNAL_ERROR", "INTERNAL_ERROR", None)),
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


def foreign(path: Path, configuration: dict[str, str] | None = None, metadata: dict[str, Any] | None = None) -> Path:
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
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": features}
    actions = [{"commitInfo": {"timestamp": 1, "operation": "SET"}}, {"protocol": protocol}, changed]
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
    question = subject.asked_of_constraints(subject.snapshot.files())
    assert question
    assert foretold(engine, marks, report, question) == rewritten
    command, _ = predicted(path, Optimize("t"))
    assert condition_of(lambda: engine.run(command, {}, UNCHECKED, marks, report)) == rewritten


@pytest.mark.parametrize(
    "call", ["java_method('java.lang.System', 'lineSeparator') <> s", "1 IN (2, length(`Reflect`/**/('a', 'b')))"]
)
def test_spark_calls_no_method_for_a_constraint(engine, marks, report, tmp_path: Path, call: str) -> None:
    path = foreign(tmp_path / "t", **check(call))
    question = constraints_question(str(path), 2, pa.table({"path": files(path)}))
    with pytest.raises(CommandRefused) as refused:
        engine.read(KIND, question, marks, report)
    first = refused.value.refusals[0]
    assert (first.code, first.engine) == ("constraint_fails", None)
    assert "calls a method of Java’s" in first.message


def test_a_file_that_is_gone_is_no_fault_of_a_constraint(engine, marks, report, tmp_path: Path) -> None:
    path = foreign(tmp_path / "t", **check("id > 0"))
    question = constraints_question(str(path), 2, pa.table({"path": files(path)}))
    (path / files(path)[0]).unlink()
    with pytest.raises(EngineFailed) as failed:
        engine.read(KIND, question, marks, report)
    assert str(failed.value.failure.condition).startswith("FAILED_READ_FILE")


def test_a_table_without_conditions_is_asked_nothing(tmp_path: Path) -> None:
    subject = subject_at(foreign(tmp_path / "t"))
    assert subject.asked_of_constraints(subject.snapshot.files(), redefines=True) is None


def files(path: Path) -> list[str]:
    found: list[str] = subject_at(path).snapshot.files().column("path").to_pylist()
    return found
