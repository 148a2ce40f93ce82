"""Who can still read and write a table: engines by version, with the features that each supports and where that is written.

A feature that the source doesn't name counts as unsupported, as pages say below the list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.domain.consequences import Consequence, said
from jobs.domain.delta.protocols import FEATURES, FEATURES_READER, FEATURES_WRITER, DeltaProtocol


@dataclass(frozen=True, slots=True)
class Reader:
    """An engine. `reads` are the reader features that it supports, `writes` all features with which it can write (None: its source
    doesn't say). `legacy` is the highest (reader, writer) version that it takes in protocols that list no features.

    `source` is where this stands, `seen` the month in which it was looked up (`2026-11`).
    """

    name: str
    version: str
    reads: frozenset[str]
    writes: frozenset[str] | None
    legacy: tuple[int, int]
    source: str
    seen: str


def reader_of(row: Mapping[str, Any]) -> Reader:
    """The engine of a row with these fields. Raises KeyError, TypeError or ValueError for one that isn't as it should be."""
    reader, writer = row["legacy"]
    writes = frozenset(row["writes"]) if "writes" in row else None
    if unknown := (frozenset(row["reads"]) | (writes or frozenset())) - FEATURES.keys():
        raise ValueError(f"{row['name']} {row['version']}: Delta has no feature {min(unknown)}")
    rest = {name: str(row[name]) for name in ("name", "version", "source", "seen")}
    return Reader(reads=frozenset(row["reads"]), writes=writes, legacy=(int(reader), int(writer)), **rest)


def unseen_by(formats: Sequence[str]) -> list[Consequence]:
    """What a commit means for those who read the table as one of other formats, such as Iceberg.

    Delta 4.4 has no converter for the Spark that Levee runs: it commits, logs that, and leaves the other format's metadata as it is
    [run].
    """
    if not formats:
        return []
    named = " and ".join(formats)
    text = (
        f"The table is also read as {named}. Levee’s Spark has no converter: {named} readers won’t see this change until a writer that"
        " has one commits to the table."
    )
    return [said("unseen", text)]


def unseen_files_go(formats: Sequence[str]) -> list[Consequence]:
    """The same for the files that a vacuum deletes."""
    if not formats:
        return []
    named = " and ".join(formats)
    text = (
        f"The table is also read as {named}, whose own metadata may be older than Delta’s log: {named} readers fail on files that it"
        " names and this deletes."
    )
    return [said("unseen", text)]


def still_unseen(formats: Sequence[str], version: int) -> str:
    """The warning after such a commit."""
    named = " and ".join(formats)
    text = f"{named} readers don’t see version {version:,} yet: Levee’s Spark has no converter."
    return f"{text} Have a writer that has one commit to the table."


def readers_of(readers: Sequence[Reader], protocol: DeltaProtocol) -> list[dict[str, Any]]:
    """Each engine's answer: `{name, version, reads, writes, only_reads, why, source, seen}`.

    `writes` is None where the source doesn't say; `only_reads` says that it writes no table; `why` names what is missing, empty if
    nothing is.
    """
    return [_answer(reader, protocol) for reader in readers]


def stop_reading(readers: Sequence[Reader], before: DeltaProtocol, after: DeltaProtocol) -> list[str]:
    """The engines, with versions, that read the table before and don't after."""
    pairs = ((reader, _missing(reader, before), _missing(reader, after)) for reader in readers)
    return [f"{reader.name} {reader.version}" for reader, was, now in pairs if now and not was]


def stop_writing(readers: Sequence[Reader], before: DeltaProtocol, after: DeltaProtocol) -> list[str]:
    """The engines, with versions, that write to the table before and don't after."""
    return [f"{r.name} {r.version}" for r in readers if _writes(r, before) and not _writes(r, after)]


def _answer(reader: Reader, protocol: DeltaProtocol) -> dict[str, Any]:
    missing = _missing(reader, protocol)
    writes = _writes(reader, protocol)
    why = _why(missing) if missing else _why_no_writes(reader, protocol) if writes is False else ""
    return {
        "name": reader.name,
        "version": reader.version,
        "reads": not missing,
        "writes": writes,
        "only_reads": _only_reads(reader),
        "why": why,
        "source": reader.source,
        "seen": reader.seen,
    }


def _missing(reader: Reader, protocol: DeltaProtocol) -> list[str]:
    """What it lacks to read the table: features, or `reader version N`."""
    if protocol.min_reader >= FEATURES_READER:
        if not reader.reads:
            return [f"reader version {protocol.min_reader}"]
        return sorted(set(protocol.reader_features or ()) - reader.reads)
    return [f"reader version {protocol.min_reader}"] if protocol.min_reader > reader.legacy[0] else []


def _writes(reader: Reader, protocol: DeltaProtocol) -> bool | None:
    if _missing(reader, protocol):
        return False
    if reader.writes is None:
        return None
    return not _missing_to_write(reader, protocol)


def _missing_to_write(reader: Reader, protocol: DeltaProtocol) -> list[str]:
    if protocol.min_writer < FEATURES_WRITER:
        version = [f"writer version {protocol.min_writer}"]
        return version if protocol.min_writer > reader.legacy[1] else []
    if reader.legacy[1] < 5:  # it knows no lists of features
        return [f"writer version {protocol.min_writer}"]
    return sorted(set(protocol.writer_features or ()) - (reader.writes or frozenset()))


def _only_reads(reader: Reader) -> bool:
    return reader.writes is not None and not reader.writes and not reader.legacy[1]


def _why(missing: list[str]) -> str:
    return f"It doesn’t support {', '.join(missing)}."


def _why_no_writes(reader: Reader, protocol: DeltaProtocol) -> str:
    if _only_reads(reader):
        return "It only reads Delta tables."
    return f"It can’t write: it doesn’t support {', '.join(_missing_to_write(reader, protocol))}."
