"""A table's definition as Spark has it: its properties, its protocol, and the commits that changed them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.domain.delta.protocols import DeltaProtocol
from jobs.engine.commits.history import HistoryCommit


def configuration_of(table: Any) -> dict[str, str]:
    """The properties in the metadata of the snapshot that Delta's table object keeps."""
    return mapping_of(table.initialSnapshot().metadata().configuration())


def mapping_of(scala_map: Any) -> dict[str, str]:
    """A Scala map of texts."""
    return {pair._1(): pair._2() for pair in each_of(scala_map)}


def protocol_of(table: Any) -> dict[str, Any]:
    """The protocol of the snapshot that Delta's table object keeps, as previews store it."""
    protocol = table.initialSnapshot().protocol()
    readers, writers = protocol.minReaderVersion(), protocol.minWriterVersion()
    return DeltaProtocol(
        int(readers), int(writers), _names(protocol.readerFeatures()), _names(protocol.writerFeatures())
    ).as_json()


def committed_parts(commits: Sequence[HistoryCommit]) -> list[Mapping[str, Any]]:
    """A job's commits as its result lists them: `{version, operation, operation_parameters}`."""
    return [
        {"version": c.version, "operation": c.operation, "operation_parameters": dict(c.operationParameters)}
        for c in commits
    ]


def _names(features: Any) -> tuple[str, ...] | None:
    """Of a Scala Option of a set."""
    return tuple(sorted(each_of(features.get()))) if features.isDefined() else None


def each_of(collection: Any) -> list[Any]:
    iterator, found = collection.iterator(), []
    while iterator.hasNext():
        found.append(iterator.next())
    return found


def retention_ms(table: Any, config: str) -> int:
    """The duration of one of Delta's configs (`LOG_RETENTION`, …) for the snapshot that Delta's table object keeps, in milliseconds."""
    configs = table.deltaLog().getClass().getClassLoader().loadClass("org.apache.spark.sql.delta.DeltaConfigs$")
    module = configs.getField("MODULE$").get(None)
    return int(module.getMilliSeconds(getattr(module, config)().fromMetaData(table.initialSnapshot().metadata())))
