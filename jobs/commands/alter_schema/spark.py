"""Changes of a Delta table's schema: counts the rows that violate new constraints, then Delta's own commands, one commit each.

Types reach Spark as Delta's JSON and names as lists of parts. A constraint alone is a text, which Levee prints from its checked tree:
Delta stores a text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.commands.alter_schema.comparison import protocol_words
from jobs.commands.alter_schema.rules import AlterSchema, Change, name_parts, opened, schema_digest, words_of
from jobs.domain.delta.data_types import parse_type
from jobs.domain.engine import Checked, Report
from jobs.domain.errors import EngineFailure
from jobs.domain.measures import Violating
from jobs.domain.predicates.stored import from_json
from jobs.domain.results import Result, failed_afterwards, with_warnings
from jobs.engine.commits.history import HistoryCommit, commits_after, is_own, recorded_together
from jobs.engine.definitions.redefined import REDEFINED, is_redefined, refuse_redefined
from jobs.engine.directory import Directory, changing, judged, keeping, kept
from jobs.engine.errors import CANCELLED, as_failure
from jobs.engine.predicates import column_of
from jobs.engine.runner import Rehearsal, Runner
from jobs.engine.table_v2 import loaded_table
from jobs.engine.versions import rows_of, started, table_at, version_of

COMMANDS = "org.apache.spark.sql.delta.commands"


def preview_alter_schema(session: SparkSession, command: AlterSchema, version: int | None, report: Report) -> Violating:
    """Counts, in one pass over all rows, those that violate each new constraint: where it is false or NULL, as Delta does."""
    report.stage("counting rows")
    trees = {
        str(number): change["add_constraint"]["counted"]
        for number, change in enumerate(command.changes, 1)
        if "add_constraint" in change
    }
    with kept(command.path) as directory:
        table = table_at(session, directory, version)
        holds = [column_of(from_json(tree), session).eqNullSafe(F.lit(True)) for tree in trees.values()]
        counts = [F.count_if(~each).alias(f"c{position}") for position, each in enumerate(holds)]
        found = list(rows_of(session, table).agg(*counts).collect()[0]) if counts else []
    return Violating(version_of(table), dict(zip(trees, map(int, found), strict=True)))


def run_alter_schema(
    session: SparkSession, command: AlterSchema, preview: Mapping[str, Any], checked: Checked, report: Report
) -> Result:
    """Makes the changes in order, and returns what Delta recorded of the last one; `details.commits` has all of them.

    A change that fails after others are committed is part of the result (`details.failure`); if the first one fails, its error passes
    through. Raises CommandRefused (`outside_roots`, `stale`) before any change and DirectorySwapped after one.
    """
    directory = judged(command.path)
    with keeping(directory.check):
        head = started(session, directory, checked)
        refuse_redefined(session, directory.path, checked)
    report.point("Spark started")
    commits: list[HistoryCommit] = []
    warnings: list[str] = []
    failure = None
    for change in command.changes:
        report.stage(f"change {len(commits) + 1} of {len(command.changes)}")
        report.log(words_of(change))
        before = commits[-1].version if commits else head
        try:
            if commits and is_redefined(session, directory.path, before):
                failure = EngineFailure(None, None, REDEFINED).as_json()
                break
            commits.append(_committed(session, directory, change, before, first=not commits))
        except (PySparkException, Py4JJavaError) as error:
            found = as_failure(error)
            if found.condition == CANCELLED:
                raise
            # Delta can fail after its commit, in a hook: then the change is made, and those after it follow.
            made = _own_commit(session, directory, before)
            if made is None and not commits:
                raise
            if made is None:
                failure = found.as_json()
                break
            warnings.append(failed_afterwards(found.message))
            report.log(warnings[-1])
            commits.append(made)
        report.point("commit visible")
    return with_warnings(recorded_together(commits, _details(session, command, commits, failure)), *warnings)


def _committed(session: SparkSession, directory: Directory, change: Change, head: int, *, first: bool) -> HistoryCommit:
    """Makes one change and returns its commit."""
    # The last check before Delta writes: since the one before, the path may have become a link out of the root. A refusal would say
    # that nothing was changed, which is true of the first change alone.
    directory.check() if first else directory.check_after()
    with changing(directory):
        act, value = _ACTS[opened(change)[0]], opened(change)[1]
        act(session, directory.path, value)
        commit = _own_commit(session, directory, head)
    if commit is None:
        raise RuntimeError(f"Delta made no commit of its own for: {words_of(change)}")
    return commit


def _own_commit(session: SparkSession, directory: Directory, head: int) -> HistoryCommit | None:
    """The job's first commit after a version."""
    return next((commit for commit in commits_after(directory.path, head) if is_own(session, commit)), None)


def _details(
    session: SparkSession, command: AlterSchema, commits: list[HistoryCommit], failure: dict[str, Any] | None
) -> dict[str, Any]:
    listed = [{"version": commit.version, "operation": commit.operation} for commit in commits]
    done = [
        f"version {commit.version:,}: {words_of(change)}"
        for commit, change in zip(commits, command.changes, strict=False)
    ]
    details = {"text": f"{'; '.join(done)}.", "commits": listed, **_read_again(session, command, commits[-1].version)}
    return details | ({"failure": failure} if failure else {})


def _read_again(session: SparkSession, command: AlterSchema, version: int) -> dict[str, Any]:
    """Schema and protocol at the last commit, as the comparison has them. A failure here doesn't undo the commits."""
    try:
        snapshot = loaded_table(session, {"path": command.path, "version": version}).initialSnapshot()
        protocol = snapshot.protocol()
        readers, writers = (_listed(each) for each in (protocol.readerFeatures(), protocol.writerFeatures()))
        words = protocol_words(
            {
                "min_reader_version": protocol.minReaderVersion(),
                "min_writer_version": protocol.minWriterVersion(),
                "reader_features": readers,
                "writer_features": writers,
            }
        )
        return {"schema_read": schema_digest(str(snapshot.metadata().schemaString())), "protocol_read": words}
    except (PySparkException, Py4JJavaError):
        return {}


def _listed(features: Any) -> list[str]:
    """A Scala Option of a set of names."""
    return (
        sorted(str(features.get().mkString(",")).split(","))
        if features.isDefined() and not features.get().isEmpty()
        else []
    )


# --- one change each -----------------------------------------------------------------------------------------------------


def _add(session: SparkSession, path: str, value: Mapping[str, Any]) -> None:
    changes = _changes(session)
    position = changes.ColumnPosition
    place = position.first() if value["first"] else position.after(value["after"]) if value["after"] else None
    kind = _type(session, value["type"])
    _alter(
        session,
        path,
        changes.addColumn(_array(session, name_parts(value["path"])), kind, True, value["comment"], place, None),
    )


def _rename(session: SparkSession, path: str, value: Mapping[str, Any]) -> None:
    [new] = name_parts(value["to"])
    _alter(session, path, _changes(session).renameColumn(_array(session, name_parts(value["path"])), new))


def _drop(session: SparkSession, path: str, value: Mapping[str, Any]) -> None:
    if_exists = _jvm(session).java.lang.Boolean.FALSE
    _alter(session, path, _changes(session).deleteColumn(_array(session, name_parts(value["path"])), if_exists))


def _widen(session: SparkSession, path: str, value: Mapping[str, Any]) -> None:
    column = _array(session, name_parts(value["path"]))
    _alter(session, path, _changes(session).updateColumnType(column, _type(session, value["type"])))


def _comment(session: SparkSession, path: str, value: Mapping[str, Any]) -> None:
    column = _array(session, name_parts(value["path"]))
    _alter(session, path, _changes(session).updateColumnComment(column, value["text"]))


def _nullable(session: SparkSession, path: str, value: Mapping[str, Any]) -> None:
    column = _array(session, name_parts(value["path"]))
    _alter(session, path, _changes(session).updateColumnNullability(column, True))


def _table_comment(session: SparkSession, path: str, text: str) -> None:
    _alter(session, path, _changes(session).setProperty("comment", text))


def _add_constraint(session: SparkSession, path: str, value: Mapping[str, Any]) -> None:
    _run(session, path, "AlterTableAddConstraintDeltaCommand", value["name"], value["expression"])


def _drop_constraint(session: SparkSession, path: str, value: Mapping[str, Any]) -> None:
    _run(session, path, "AlterTableDropConstraintDeltaCommand", value["name"], False)


def _cluster_by(session: SparkSession, path: str, names: Sequence[str]) -> None:
    jvm = _jvm(session)
    sequence = jvm.PythonUtils.toSeq
    _run(session, path, "AlterTableClusterByDeltaCommand", sequence([sequence(name_parts(name)) for name in names]))


_ACTS: Mapping[str, Callable[[SparkSession, str, Any], None]] = {
    "add": _add, "rename": _rename, "drop": _drop, "widen": _widen, "comment": _comment, "nullable": _nullable,
    "table_comment": _table_comment, "add_constraint": _add_constraint, "drop_constraint": _drop_constraint, "cluster_by": _cluster_by,
}  # fmt: skip


def _jvm(session: SparkSession) -> Any:
    """The session's JVM, which py4j gives no types."""
    return session._jvm


def _changes(session: SparkSession) -> Any:
    return _jvm(session).org.apache.spark.sql.connector.catalog.TableChange


def _type(session: SparkSession, text: str) -> Any:
    """Spark's type of a text, by way of Levee's own parser and Delta's JSON."""
    return _jvm(session).org.apache.spark.sql.types.DataType.fromJson(json.dumps(parse_type(text)))


def _alter(session: SparkSession, path: str, change: Any) -> None:
    """One change by Delta's catalog, which takes a path as a name in the namespace `delta`."""
    jvm, gateway = _jvm(session), session.sparkContext._gateway
    changes = gateway.new_array(_changes(session), 1)
    changes[0] = change
    identifier = jvm.org.apache.spark.sql.connector.catalog.Identifier.of(_array(session, ["delta"]), path)
    session._jsparkSession.sessionState().catalogManager().v2SessionCatalog().alterTable(identifier, changes)


def _run(session: SparkSession, path: str, command: str, *arguments: Any) -> None:
    """One of Delta's own commands on the newest version."""
    table = loaded_table(session, {"path": path})
    made = getattr(getattr(_jvm(session), COMMANDS), command)(table, *arguments)
    made.run(session._jsparkSession)


def _array(session: SparkSession, parts: Sequence[str]) -> Any:
    made = session.sparkContext._gateway.new_array(_jvm(session).java.lang.String, len(parts))
    for position, part in enumerate(parts):
        made[position] = part
    return made


def _told(result: Result) -> dict[str, Any]:
    """What a rehearsal tells of it: its commits by their operations, and the schema and protocol that came of them."""
    commits = [{"operation": commit["operation"]} for commit in result.details["commits"]]
    return {
        "commits": commits,
        **{name: result.details[name] for name in ("schema_read", "protocol_read") if name in result.details},
    }


RUNNER = Runner(run_alter_schema, preview_alter_schema, rehearsal=Rehearsal(told=_told))
