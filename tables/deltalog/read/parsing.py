"""From the JSON of an action to its typed value; what is odd becomes a problem, what can't be without is left out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tables.deltalog.read.actions import (
    Action,
    AddCDCFile,
    AddFile,
    CheckpointMetadata,
    CommitInfo,
    DeletionVector,
    DomainMetadata,
    Metadata,
    Protocol,
    RemoveFile,
    SetTransaction,
    Sidecar,
    UnknownAction,
)
from tables.deltalog.read.fields import Fields, as_text
from tables.deltalog.read.lines import actions_in, parse_json, read_blocks
from tables.deltalog.read.paths import check_path, is_plain
from tables.deltalog.read.problems import ProblemCode, Problems
from tables.deltalog.read.usual_adds import NUM_RECORDS, BareAdds, bare_adds, is_whole, usual_add
from tables.storage.store import Chunks


def typed_actions(storage: Chunks, path: str, size: int, file: str, problems: Problems) -> Iterator[Action]:
    """A file's actions, typed, in order. What can't be read, or lacks what it can't be without, becomes a problem of `file`."""
    for number, block in read_blocks(storage, path, size, file, problems):
        yield from _in_lines(number, block, file, problems)


def commit_actions(storage: Chunks, path: str, size: int, file: str, problems: Problems) -> Iterator[Action | BareAdds]:
    """As `typed_actions`, but adds without statistics come together where there are many."""
    for number, block in read_blocks(storage, path, size, file, problems):
        parts = bare_adds(block)
        if parts is None:
            yield from _in_lines(number, block, file, problems)
            continue
        before, adds, after = parts
        yield from _in_lines(number, before, file, problems)
        yield adds
        if after:
            yield from _in_lines(number + block.count(b"\n") - after.count(b"\n"), after, file, problems)


def _in_lines(first: int, block: bytes, file: str, problems: Problems) -> Iterator[Action]:
    for number, line in enumerate(block.split(b"\n"), first):
        if not line or line.isspace():
            continue
        usual = usual_add(line)
        if usual is not None:
            yield usual
            continue
        for name, value in actions_in(line, number, file, problems):
            action = parse_action(name, value, file, problems)
            if action is not None:
                yield action


def parse_action(name: str, value: Any, file: str, problems: Problems) -> Action | None:
    """The typed action, None when it lacks what it can't be without (which becomes a problem of `file`)."""
    parser = _PARSERS.get(name)
    if parser is None:
        problems.add(file, f"unknown action {name[:100]!r} is not interpreted", ProblemCode.UNSUPPORTED)
        return UnknownAction(name[:100])
    if not isinstance(value, dict):
        problems.add(file, f"{name} is not an object")
        return None
    return parser(value, file, problems)


_NUM_RECORDS = re.compile(r'\s*\{\s*"numRecords"\s*:\s*(0|[1-9][0-9]{0,17})\s*[,}]')


def num_records_of(stats: str | None, file: str, problems: Problems) -> int | None:
    """The row count of a statistics text. Delta writes it first; other orders are parsed in full."""
    if not stats:
        return None
    if (match := _NUM_RECORDS.match(stats)) and is_whole(stats):
        return int(match[1])
    try:
        value = parse_json(stats)
        if stats.count(NUM_RECORDS) > 1 and _is_named_twice(stats):
            raise ValueError("it names its number of rows twice")
    except ValueError:
        problems.add(file, "statistics of a file are not readable", ProblemCode.ODD)
        return None
    if not isinstance(value, dict):
        problems.add(file, "statistics of a file are not an object", ProblemCode.ODD)
        return None
    return Fields(value, "stats", file, problems, by_schema=False).count("numRecords")


def _is_named_twice(stats: str) -> bool:
    """Whether the outermost object of a JSON text, which comes last, has two numbers of rows."""
    names: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        names[:] = [name for name, _ in pairs]

    json.loads(stats, object_pairs_hook=note)
    return names.count("numRecords") > 1


def _vector(fields: Fields) -> DeletionVector | None:
    value = fields.group("deletionVector")
    if value is None:
        return None
    storage, place = value.get("storageType"), value.get("pathOrInlineDv")
    if storage not in ("u", "i", "p") or not isinstance(place, str):
        fields.wrong("deletionVector", "a deletion vector that can be read")
        return DeletionVector(str(storage)[:1], place if isinstance(place, str) else "", None, None, None)
    numbers = [value.get(name) for name in ("offset", "sizeInBytes", "cardinality")]
    known = [n if type(n) is int and 0 <= n < 2**63 else None for n in numbers]
    if any(n is not None and k is None for n, k in zip(numbers, known, strict=True)):
        fields.wrong("deletionVector", "a deletion vector of whole numbers")
    return DeletionVector(storage, place, *known)


# What tells files apart, and the values by which they are chosen; all else is for history, statistics and display.
_NEEDED_OF_FILES = frozenset(("path", "partitionValues", "deletionVector"))
_LISTS_OF_READERS, _LISTS_OF_WRITERS = 3, 7  # the versions of the protocol that list features
MISMATCH = "the protocol"
"""How the reason begins of a protocol that Delta in Spark can't decode."""
_NEEDED_OF_PROTOCOL = frozenset(("minReaderVersion", "minWriterVersion", "readerFeatures", "writerFeatures"))
_USUAL_REMOVE = frozenset(
    ("path", "deletionTimestamp", "dataChange", "partitionValues", "size", "stats", "deletionVector")
)
_USUAL_ADD = frozenset(("path", "partitionValues", "size", "modificationTime", "dataChange", "stats"))


def _path(fields: Fields, what: str, file: str, problems: Problems) -> str | None:
    path = fields.text("path")
    if not path:
        problems.add(file, f"{what} without a path")
        return None
    check_path(path, what, file, problems)
    return path


def _add(value: dict[str, Any], file: str, problems: Problems) -> AddFile | None:
    get = value.get
    path, size, stats = get("path"), get("size"), get("stats")
    if type(path) is not str or type(size) is not int or type(stats) is not str or not 0 <= size < 2**63:
        return _odd_add(value, file, problems)
    if not _USUAL_ADD.issuperset(value):
        return _odd_add(value, file, problems)
    match = _NUM_RECORDS.match(stats)
    if match is None or not is_plain(path) or not is_whole(stats):
        return _odd_add(value, file, problems)
    fields = Fields(value, "add", file, problems, _NEEDED_OF_FILES)
    partition_values = fields.mapping("partitionValues")
    time, change = fields.count("modificationTime"), fields.flag("dataChange")
    return AddFile(path, partition_values, size, time, change, stats, int(match[1]))


def _odd_add(value: dict[str, Any], file: str, problems: Problems) -> AddFile | None:
    """Any add; `_add` answers the usual one, of which logs have millions, in half the time."""
    fields = Fields(value, "add", file, problems, _NEEDED_OF_FILES)
    path = _path(fields, "add", file, problems)
    if path is None:
        return None
    stats = fields.text("stats")
    return AddFile(
        path,
        fields.mapping("partitionValues"),
        fields.count("size"),
        fields.count("modificationTime"),
        fields.flag("dataChange"),
        stats,
        num_records_of(stats, file, problems),
        _vector(fields),
        fields.count("baseRowId"),
        fields.count("defaultRowCommitVersion"),
        fields.text("clusteringProvider"),
        fields.mapping("tags"),
    )


def _remove(value: dict[str, Any], file: str, problems: Problems) -> RemoveFile | None:
    fields = Fields(value, "remove", file, problems, ("path", "deletionVector"))
    path = _path(fields, "remove", file, problems)
    if path is None:
        return None
    if not _USUAL_REMOVE.issuperset(value):
        fields.mapping("tags")
        fields.flag("extendedFileMetadata")
        fields.count("baseRowId")
        fields.count("defaultRowCommitVersion")
    return RemoveFile(
        path,
        fields.moment("deletionTimestamp"),
        fields.flag("dataChange"),
        fields.mapping("partitionValues"),
        fields.count("size"),
        num_records_of(fields.text("stats"), file, problems),
        _vector(fields),
    )


def _cdc(value: dict[str, Any], file: str, problems: Problems) -> AddCDCFile | None:
    fields = Fields(value, "cdc", file, problems)
    path = _path(fields, "cdc", file, problems)
    fields.mapping("tags")
    fields.flag("dataChange")
    return None if path is None else AddCDCFile(path, fields.mapping("partitionValues"), fields.count("size"))


def _metadata(value: dict[str, Any], file: str, problems: Problems) -> Metadata:
    fields = Fields(value, "metaData", file, problems, ("partitionColumns", "configuration"))
    schema = fields.text("schemaString")
    if schema is None:
        problems.add(
            file, "metaData has no schema", ProblemCode.ODD
        )  # a later one may have it; `Replay` asks at the end
    provider = (fields.group("format") or {}).get("provider")
    return Metadata(
        id=fields.text("id") or "",
        name=fields.text("name"),
        description=fields.text("description"),
        format_provider=provider if isinstance(provider, str) else None,
        schema_json=schema or "",
        partition_columns=_partition_columns(fields, file, problems),
        configuration=_without_nulls(fields.mapping("configuration")),
        created_at=fields.moment("createdTime"),
    )


_MOST_COLUMNS = 1000
"""Partition columns that are told apart: the live files have a column for each."""


def _partition_columns(fields: Fields, file: str, problems: Problems) -> tuple[str, ...]:
    names = fields.texts("partitionColumns") or ()
    if len(names) > _MOST_COLUMNS:
        reason = f"metaData names {len(names):,} partition columns; the first {_MOST_COLUMNS:,} are told apart"
        problems.add(file, reason, ProblemCode.MORE)
    return names[:_MOST_COLUMNS]


def _without_nulls(mapping: Mapping[str, str | None]) -> dict[str, str]:
    return {key: value for key, value in mapping.items() if value is not None}


def _protocol(value: dict[str, Any], file: str, problems: Problems) -> Protocol:
    fields = Fields(value, "protocol", file, problems, _NEEDED_OF_PROTOCOL)
    found = Protocol(
        fields.count("minReaderVersion") or 1,
        fields.count("minWriterVersion") or 1,
        _sorted(fields.texts("readerFeatures")),
        _sorted(fields.texts("writerFeatures")),
    )
    for fault in _mismatches(found):
        problems.add(file, fault, ProblemCode.STOPS_SPARK)
    return found


def _mismatches(protocol: Protocol) -> Iterator[str]:
    """What Delta requires of a protocol as it reads it (4.4.0, `Protocol`): the lists are there from the version on that has lists, and
    not before, and what lists for readers lists for writers. delta-rs up to 0.25 writes empty ones beside older versions."""
    pairs = (
        ("reader", protocol.min_reader_version, protocol.reader_features, _LISTS_OF_READERS),
        ("writer", protocol.min_writer_version, protocol.writer_features, _LISTS_OF_WRITERS),
    )
    for who, version, names, listed in pairs:
        if (names is not None) != (version >= listed):
            has = "has no" if names is None else "has a"
            yield f"{MISMATCH} {has} list of {who} features beside {who} version {version}"
    if protocol.min_reader_version >= _LISTS_OF_READERS and protocol.min_writer_version < _LISTS_OF_WRITERS:
        yield f"{MISMATCH} has reader version {protocol.min_reader_version} beside writer version {protocol.min_writer_version}"


def _sorted(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(sorted(set(names)))


def _txn(value: dict[str, Any], file: str, problems: Problems) -> SetTransaction | None:
    fields = Fields(value, "txn", file, problems, ("appId", "version"))
    app, version = fields.text("appId"), fields.whole("version")
    if app is None or version is None:
        problems.add(file, "txn without an application or a version")
        return None
    return SetTransaction(app, version, fields.moment("lastUpdated"))


def _domain(value: dict[str, Any], file: str, problems: Problems) -> DomainMetadata | None:
    fields = Fields(value, "domainMetadata", file, problems, ("domain", "configuration", "removed"))
    domain = fields.text("domain")
    if domain is None:
        problems.add(file, "domainMetadata without a domain")
        return None
    return DomainMetadata(domain, fields.text("configuration") or "", bool(fields.flag("removed")))


# Levee does without them; of another kind than Delta's schema has, they stop Spark. A writer's own fields often have such names.
_UNREAD_INFO = frozenset(("job", "notebook", "tags", "version"))
_TEXTS = ("isolationLevel", "txnId", "userMetadata", "operation")


def _commit_info(value: dict[str, Any], file: str, problems: Problems) -> CommitInfo:
    fields = Fields(value, "commitInfo", file, problems)
    if _UNREAD_INFO.intersection(value):
        fields.group("job")
        fields.group("notebook")
        fields.mapping("tags")
        fields.whole("version")
    isolation, txn, metadata, operation = fields.all_texts(_TEXTS)
    return CommitInfo(
        fields.time("timestamp"),
        fields.moment("inCommitTimestamp"),
        operation,
        fields.mapping("operationParameters"),
        fields.mapping("operationMetrics"),
        as_text(value.get("userId")),
        as_text(value.get("userName")),
        _engine(value),
        isolation,
        fields.flag("isBlindAppend"),
        fields.whole("readVersion"),
        txn,
        metadata,
    )


def _engine(info: dict[str, Any]) -> str | None:
    """What wrote the commit: `engineInfo`, or `clientVersion`, by which delta-rs named itself before it wrote that one.

    A writer may store any JSON there (PROTOCOL.md, "Commit Provenance Information"), so another value than a text is shown as it is.
    """
    named = [value for name in ("engineInfo", "clientVersion") if (value := info.get(name)) not in (None, "")]
    return as_text(named[0]) if named else None


def _sidecar(value: dict[str, Any], file: str, problems: Problems) -> Sidecar | None:
    fields = Fields(value, "sidecar", file, problems, ("path",))
    path = fields.text("path")
    if not path:
        problems.add(file, "sidecar without a path")
        return None
    return Sidecar(path, fields.count("sizeInBytes"), fields.count("modificationTime"))


def _checkpoint_metadata(value: dict[str, Any], file: str, problems: Problems) -> CheckpointMetadata:
    return CheckpointMetadata(Fields(value, "checkpointMetadata", file, problems).count("version"))


_PARSERS: dict[str, Callable[[dict[str, Any], str, Problems], Action | None]] = {
    "add": _add,
    "remove": _remove,
    "cdc": _cdc,
    "metaData": _metadata,
    "protocol": _protocol,
    "txn": _txn,
    "domainMetadata": _domain,
    "commitInfo": _commit_info,
    "sidecar": _sidecar,
    "checkpointMetadata": _checkpoint_metadata,
}
