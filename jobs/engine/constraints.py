"""Whether Delta would commit to a table, and write rows of it again, by its CHECK constraints, invariants and generated columns.

Delta's own code answers: it reads the expressions as every transaction does, validates generated columns as a commit of metadata does,
and lets rows through the check that every write puts before them (Delta 4.4.0, `Constraints.getAll`, `GeneratedColumn`,
`TransactionalWrite.writeFiles` with its DeltaInvariantCheckerExec).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.domain.engine import Report
from jobs.domain.errors import CommandRefused, EngineFailed, EngineFailure, Refusal
from jobs.domain.predicates.stored import from_json
from jobs.engine.definitions.tables import each_of
from jobs.engine.directory import kept
from jobs.engine.errors import READING, translate
from jobs.engine.predicates import column_of
from jobs.engine.runs.rewriting import seq
from jobs.engine.table_files.unskipped import rows_of_files
from jobs.engine.versions import table_at

DELTA = "org.apache.spark.sql.delta"
CATALYST = "org.apache.spark.sql.catalyst"
# Functions of Spark that call any method of Java's.
CALLING = frozenset({"java_method", "reflect", "try_reflect"})
CODE = "constraint_fails"
UNREAD = "Spark with Delta 4.4 can’t read the table’s constraints and generated columns, so that the change would fail"
VIOLATED = "Rows that Delta would write again don’t pass the table’s constraints and generated columns, so that the change would fail"
CALLED = "A constraint or generated column of the table calls a method of Java’s, which Levee doesn’t let Spark do."
UNREAD_REMEDY = "Have the engine that wrote the constraint or generated column mend or drop it."
VIOLATED_REMEDY = "Drop the constraint by a change of the schema, or have whoever wrote the rows correct them. Then request this again."


def read_constraints(session: SparkSession, question: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Answers the question of `jobs.predicates.constraints` with `{files}`, how many were read.

    Raises CommandRefused `constraint_fails`, with the engine's condition, for what Delta would refuse; its failures to read pass
    through.
    """
    report.stage("checking constraints")
    with kept(str(question["path"])) as directory:
        with _refused(UNREAD, UNREAD_REMEDY):
            table = table_at(session, directory, int(question["version"]))
            checks = _checks(session, table)
            if question["redefines"] and _enforces_generated(session, table):
                _delta(session, "GeneratedColumn").validateGeneratedColumns(
                    session._jsparkSession, table.initialSnapshot().metadata().schema()
                )
        if checks and question["files"]:
            with _refused(VIOLATED, VIOLATED_REMEDY):
                _let_through(session, table, checks, question)
    return {"files": len(question["files"])}


@contextmanager
def _refused(text: str, remedy: str) -> Iterator[None]:
    """Turns what Delta refuses inside into a refusal. What storage, or a damaged file, is to blame for stays the engine's failure."""
    try:
        with translate():
            yield
    except EngineFailed as failed:
        failure = failed.failure
        if failure.retryable or str(failure.condition).startswith(READING):
            raise
        raise CommandRefused(Refusal(CODE, f"{text}: {_first_line(failure)}", remedy=remedy, engine=failure)) from None


def _first_line(failure: EngineFailure) -> str:
    """As a sentence, without the row's values that Delta lists on the lines after it."""
    line = failure.message.strip().split("\n")[0].removesuffix(" by row with values:")
    return line if line.endswith(".") else f"{line}."


def _checks(session: SparkSession, table: Any) -> list[Any]:
    """Delta's checks of this table but those of NOT NULL, with one for each generated column."""
    snapshot = table.initialSnapshot()
    found = _delta(session, "constraints.Constraints").getAll(snapshot.metadata(), session._jsparkSession)
    checks = [check for check in each_of(found) if check.getClass().getSimpleName() == "Check"]
    if _enforces_generated(session, table):
        checks += list(_of_generated(session, snapshot.metadata().schema()))
    if any(_calls_java(check.expression()) for check in checks):
        raise CommandRefused(Refusal(CODE, CALLED, remedy=UNREAD_REMEDY))
    return checks


def _calls_java(expression: Any) -> bool:
    """Whether a function that calls Java's methods stands anywhere in an expression, as Spark's parser read it."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        if node.getClass().getSimpleName() == "UnresolvedFunction" and str(node.nameParts().last()).lower() in CALLING:
            return True
        waiting += each_of(node.children())
    return False


def _of_generated(session: SparkSession, schema: Any) -> Iterator[Any]:
    """As Delta's write compares a generated column with its expression, NULL with NULL too."""
    jvm: Any = session._jvm
    generated = _delta(session, "GeneratedColumn")
    attribute = _module(session, f"{CATALYST}.analysis.UnresolvedAttribute")
    for index in range(schema.size()):
        field = schema.apply(index)
        expression = generated.getGenerationExpression(field)
        if expression.isDefined():
            compared = getattr(jvm, f"{CATALYST}.expressions").EqualNullSafe(
                attribute.apply(seq(session, [field.name()])), expression.get()
            )
            yield _delta(session, "constraints.Constraints$Check").apply(f"generated column {field.name()}", compared)


def _let_through(session: SparkSession, table: Any, checks: list[Any], question: Mapping[str, Any]) -> None:
    """Lets rows of the files through Delta's check, which fails at the first one that doesn't pass. Nothing is written."""
    _, frame = rows_of_files(session, table, question["files"])
    if question["kept_by"] is not None:
        matches = column_of(from_json(question["kept_by"]), session)
        frame = frame.filter(~matches.eqNullSafe(F.lit(True)))
    if question["rows"] is not None:
        frame = frame.limit(int(question["rows"]))
    jvm: Any = session._jvm
    plan = frame._jdf.queryExecution().executedPlan()
    built = _delta(session, "constraints.DeltaInvariantCheckerExec").buildInvariantChecks(
        plan.output(), seq(session, checks), session._jsparkSession
    )
    checked = getattr(jvm, f"{DELTA}.constraints").DeltaInvariantCheckerExec(plan, built)
    rows = session._jsparkSession.internalCreateDataFrame(checked.execute(), frame._jdf.schema(), False)
    DataFrame(rows, session).write.format("noop").mode("overwrite").save()


def _enforces_generated(session: SparkSession, table: Any) -> bool:
    snapshot = table.initialSnapshot()
    return bool(_delta(session, "GeneratedColumn").enforcesGeneratedColumns(snapshot.protocol(), snapshot.metadata()))


def _delta(session: SparkSession, name: str) -> Any:
    return _module(session, f"{DELTA}.{name}")


def _module(session: SparkSession, name: str) -> Any:
    """A Scala object."""
    return getattr(getattr(session._jvm, f"{name}$"), "MODULE$")
