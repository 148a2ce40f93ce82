"""Whether Delta would commit to a table, and write rows of it again, by its CHECK constraints, invariants and generated columns.

Delta's own code answers: it reads the expressions as every transaction does, validates generated columns as a commit of metadata does,
and lets rows through the check that every write puts before them (Delta 4.4.0, `Constraints.getAll`, `GeneratedColumn`,
`TransactionalWrite.writeFiles` with its DeltaInvariantCheckerExec).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.domain.engine import Report
from jobs.domain.errors import CommandRefused, EngineFailed, EngineFailure, EngineLost, Refusal
from jobs.domain.predicates.stored import from_json
from jobs.engine.definitions.tables import each_of
from jobs.engine.directory import kept
from jobs.engine.errors import translate
from jobs.engine.predicates import column_of
from jobs.engine.runs.rewriting import seq
from jobs.engine.table_files.unskipped import rows_of_files
from jobs.engine.versions import table_at

DELTA = "org.apache.spark.sql.delta"
CATALYST = "org.apache.spark.sql.catalyst"
CODE = "constraint_fails"
UNREAD = "Spark with Delta 4.4 can’t read the table’s constraints and generated columns, so that the change would fail"
VIOLATED = "Rows that Delta would write again don’t pass the table’s constraints and generated columns, so that the change would fail"
QUERIES = "A constraint or generated column of the table asks a query of its own, so that the change would fail."
UNREAD_REMEDY = "Have the engine that wrote the constraint or generated column mend or drop it."
VIOLATED_REMEDY = "Drop the constraint by a change of the schema, or have whoever wrote the rows correct them. Then request this again."
# By SQLSTATE: what an expression or a row is to blame for. Of the rest the table isn't: storage, the JVM, an executor.
VALUES, VIOLATIONS, SYNTAX = "22", "23", "42"
NO_FILE = "42K03"


def read_constraints(session: SparkSession, question: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Answers the question of `jobs.predicates.constraints` with `{files}`, how many of the named ones the version has.

    Raises CommandRefused `constraint_fails`, with the engine's condition and no value of a row, for what Delta would refuse; other
    failures pass through.
    """
    report.stage("checking constraints")
    path, version = str(question["path"]), int(question["version"])
    with _refused(UNREAD, UNREAD_REMEDY), kept(path) as directory:
        table = table_at(session, directory, version)
        metadata = table.initialSnapshot().metadata()
        _delta(session, "constraints.Invariants").getFromSchema(metadata.schema(), session._jsparkSession)
        if question["redefines"]:
            _let_be_committed(session, metadata)
        checks = _checks(session, table) if question["files"] else []
    if not checks:
        return {"files": 0}
    with _refused(VIOLATED, VIOLATED_REMEDY), kept(path):
        return {"files": _let_through(session, table, checks, question)}


@contextmanager
def _refused(text: str, remedy: str) -> Iterator[None]:
    """Turns what Delta refuses inside into a refusal. What else is to blame stays the engine's failure."""
    try:
        with translate():
            yield
    except EngineLost:
        raise
    except EngineFailed as failed:
        if not _is_of_the_table(failed.failure):
            raise
        failure = _without_values(failed.failure)
        raise CommandRefused(Refusal(CODE, f"{text}: {failure.message}", remedy=remedy, engine=failure)) from None


def _is_of_the_table(failure: EngineFailure) -> bool:
    state = failure.sqlstate or ""
    return not failure.retryable and state[:2] in (VALUES, VIOLATIONS, SYNTAX) and state != NO_FILE


def _without_values(failure: EngineFailure) -> EngineFailure:
    """The failure without values of rows, which not everybody may see who may see the job."""
    line = failure.message.strip().split("\n")[0].removesuffix(" by row with values:")
    if (failure.sqlstate or "").startswith(VALUES):
        line = f"An expression fails on a value ({failure.condition})"
    return replace(failure, message=line if line.endswith(".") else f"{line}.", parameters={})


def _let_be_committed(session: SparkSession, metadata: Any) -> None:
    """As every commit of metadata reads constraints and looks at generated columns, whatever the protocol says of them."""
    generated = _delta(session, "GeneratedColumn")
    _delta(session, "constraints.Constraints").getAll(metadata, session._jsparkSession)
    if generated.hasGeneratedColumns(metadata.schema()):
        for field in _fields(metadata.schema()):
            if (expression := generated.getGenerationExpression(field)).isDefined():
                _refuse_queries(session, expression.get())
        generated.validateGeneratedColumns(session._jsparkSession, metadata.schema())


def _checks(session: SparkSession, table: Any) -> list[Any]:
    """Delta's checks of this table's rows but those of NOT NULL, with one for each generated column that its protocol has."""
    snapshot = table.initialSnapshot()
    found = _delta(session, "constraints.Constraints").getAll(snapshot.metadata(), session._jsparkSession)
    checks = [check for check in each_of(found) if check.getClass().getSimpleName() == "Check"]
    if _delta(session, "GeneratedColumn").enforcesGeneratedColumns(snapshot.protocol(), snapshot.metadata()):
        checks += list(_of_generated(session, snapshot.metadata().schema()))
    for check in checks:
        _refuse_queries(session, check.expression())
    return checks


def _refuse_queries(session: SparkSession, expression: Any) -> None:
    """Refuses an expression with a query, which Spark would analyse, and with it read whatever place the query names."""
    if _module(session, f"{CATALYST}.expressions.SubqueryExpression").hasSubquery(expression):
        raise CommandRefused(Refusal(CODE, QUERIES, remedy=UNREAD_REMEDY))


def _of_generated(session: SparkSession, schema: Any) -> Iterator[Any]:
    """As Delta's write compares a generated column with its expression, NULL with NULL too."""
    jvm: Any = session._jvm
    generated = _delta(session, "GeneratedColumn")
    attribute = _module(session, f"{CATALYST}.analysis.UnresolvedAttribute")
    for field in _fields(schema):
        expression = generated.getGenerationExpression(field)
        if expression.isDefined():
            compared = getattr(jvm, f"{CATALYST}.expressions").EqualNullSafe(
                attribute.apply(seq(session, [field.name()])), expression.get()
            )
            yield _delta(session, "constraints.Constraints$Check").apply(f"generated column {field.name()}", compared)


def _let_through(session: SparkSession, table: Any, checks: list[Any], question: Mapping[str, Any]) -> int:
    """Lets rows of the files through Delta's check, which fails at the first one that doesn't pass. Nothing is written.

    Returns how many of the files there are. At most so many rows are read as asked, as many of each of Spark's tasks: a limit of the
    whole would first bring as many of each of them together.
    """
    jvm: Any = session._jvm
    count, frame = rows_of_files(session, table, question["files"])
    if question["kept_by"] is not None:
        matches = column_of(from_json(question["kept_by"]), session)
        frame = frame.filter(~matches.eqNullSafe(F.lit(True)))
    plan = frame._jdf.queryExecution().executedPlan()
    if question["rows"] is not None:
        tasks = max(1, plan.execute().getNumPartitions())
        plan = jvm.org.apache.spark.sql.execution.LocalLimitExec(-(-int(question["rows"]) // tasks), plan)
    built = _delta(session, "constraints.DeltaInvariantCheckerExec").buildInvariantChecks(
        plan.output(), seq(session, checks), session._jsparkSession
    )
    checked = getattr(jvm, f"{DELTA}.constraints").DeltaInvariantCheckerExec(plan, built)
    rows = session._jsparkSession.internalCreateDataFrame(checked.execute(), frame._jdf.schema(), False)
    DataFrame(rows, session).write.format("noop").mode("overwrite").save()
    return count


def _fields(schema: Any) -> Iterator[Any]:
    return (schema.apply(index) for index in range(schema.size()))


def _delta(session: SparkSession, name: str) -> Any:
    return _module(session, f"{DELTA}.{name}")


def _module(session: SparkSession, name: str) -> Any:
    """A Scala object."""
    return getattr(getattr(session._jvm, f"{name}$"), "MODULE$")
