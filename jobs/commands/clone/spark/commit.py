"""The one commit of a clone, by Delta's own classes.

A shallow clone is Delta's CloneTableCommand. A deep clone's commit is made of the same parts (CloneTableBase of Delta 4.4.0): the metadata
and protocol that the command determines, the domains that come along, its operation and its metrics. Two of them are private to the
command and are reached by reflection; an upgrade that changes them fails loudly before anything is committed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from jobs.commands.clone.spark.values import CloneTarget, Copies
from jobs.domain.errors import CommandRefused, Refusal

DELTA = "org.apache.spark.sql.delta"
METADATA, PROTOCOL = "determineTargetMetadata", "determineTargetProtocol"


def commit_shallow(session: SparkSession, target: CloneTarget, table: Any) -> None:
    """Delta's own clone of its table object."""
    log, transaction = _begun(session, target)
    none = _jvm(session).scala.Option.empty()
    _command(session, target, table).handleClone(session._jsparkSession, transaction, log, none)


def commit_deep(session: SparkSession, target: CloneTarget, table: Any, copies: Copies) -> None:
    """The same commit, with the copies in place of the source's files."""
    jvm, spark = _jvm(session), session._jsparkSession
    command, snapshot = _command(session, target, table), table.initialSnapshot()
    log, transaction = _begun(session, target)
    operation = getattr(_delta(session), "DeltaOperations$Clone")(table.name(), snapshot.version())
    log.createLogDirectoriesIfNotExists()
    metadata = _private(session, command, METADATA, spark, transaction.snapshot(), operation.name())
    # Delta adds no defaults of the session here, or source and clone would have other properties.
    transaction.updateMetadata(metadata, True)
    protocol = _private(session, command, PROTOCOL, spark, transaction, operation.name())
    domains = _delta(session).DomainMetadataUtils.handleDomainMetadataForCloneTable(snapshot, transaction.snapshot())
    metrics = {
        "sourceTableSize": str(snapshot.sizeInBytes()),
        "sourceNumOfFiles": str(snapshot.numOfFiles()),
        "numRemovedFiles": "0",
        "numCopiedFiles": str(copies.files),
        "removedFilesSize": "0",
        "copiedFilesSize": str(copies.bytes),
    }
    transaction.commitLarge(
        spark,
        _actions(session, copies, domains),
        jvm.scala.Some(protocol),
        operation,
        _map(session, {}),
        _map(session, metrics),
    )


def _begun(session: SparkSession, target: CloneTarget) -> tuple[Any, Any]:
    """The target's log and a transaction on it. Raises CommandRefused `not_empty` if a table is there by now."""
    logs = _delta(session).DeltaLog
    # Of a table that lay there before, Delta may still remember a snapshot.
    logs.invalidateCache(session._jsparkSession, target.path)
    log = logs.forTable(session._jsparkSession, target.path)
    transaction = log.startTransaction()
    if transaction.readVersion() >= 0:
        text = f"{target.directory.path} is a Delta table by now."
        raise CommandRefused(Refusal("not_empty", text, remedy="Choose an empty or a new directory."))
    return log, transaction


def _command(session: SparkSession, target: CloneTarget, table: Any) -> Any:
    jvm, commands = _jvm(session), _delta(session).commands
    identifier = jvm.org.apache.spark.sql.catalyst.TableIdentifier(target.directory.path, jvm.scala.Some("delta"))
    return commands.CloneTableCommand(commands.CloneDeltaSource(table), identifier, _map(session, {}), target.path)


def _private(session: SparkSession, command: Any, name: str, *given: Any) -> Any:
    """What a private method of Delta's command returns. Raises RuntimeError if this Delta has no such method."""
    jvm = _jvm(session)
    methods = [each for each in command.getClass().getSuperclass().getDeclaredMethods() if each.getName() == name]
    if len(methods) != 1 or methods[0].getParameterCount() != len(given):
        raise RuntimeError(f"this Delta has no CloneTableBase.{name} of {len(given)} parameters: deep clones need it")
    [method] = methods
    method.setAccessible(True)
    values = session.sparkContext._gateway.new_array(jvm.java.lang.Object, len(given))
    for place, value in enumerate(given):
        values[place] = value
    return method.invoke(command, values)


def _actions(session: SparkSession, copies: Copies, domains: Any) -> Any:
    """Scala's iterator over the files and the domains, row by row: a large table's actions aren't collected first."""
    jvm = _jvm(session)
    encoder = getattr(getattr(_delta(session).implicits, "package$"), "MODULE$").addFileEncoder()
    converters = jvm.scala.jdk.javaapi.CollectionConverters
    files = getattr(copies.actions._jdf, "as")(encoder).toLocalIterator()
    both = jvm.org.apache.commons.collections4.IteratorUtils.chainedIterator(
        files, converters.asJava(domains).iterator()
    )
    return converters.asScala(both)


def _map(session: SparkSession, values: Mapping[str, str]) -> Any:
    return _jvm(session).PythonUtils.toScalaMap(dict(values))


def _jvm(session: SparkSession) -> Any:
    return session._jvm


def _delta(session: SparkSession) -> Any:
    return getattr(_jvm(session), DELTA)
