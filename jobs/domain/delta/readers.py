"""Who can still read and write a table: engines by version, with the features that each supports and where that is written.

A feature that the source doesn't name counts as unsupported, as pages say below the list.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    seen: str = "2026-11"


_LEGACY = ("appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns", "columnMapping")
_DELTA_2 = frozenset((*_LEGACY, "deletionVectors", "timestampNtz"))
_DELTA_3_2 = _DELTA_2 | {
    "allowColumnDefaults", "icebergCompatV1", "icebergCompatV2", "v2Checkpoint", "domainMetadata", "clustering", "rowTracking",
    "typeWidening-preview", "vacuumProtocolCheck",
}  # fmt: skip
# Its jars list typeWidening and variantType-preview too: Spark 3.5 reads a part of the one and has no such type as the other.
_DELTA_3_3 = _DELTA_3_2 | {"identityColumns", "inCommitTimestamp", "checkpointProtection", "coordinatedCommits-preview"}
# 4.0.0 knows catalogManaged by an earlier name alone, catalogOwned-preview; 4.0.1 by this one.
_DELTA_4_0 = _DELTA_3_3 | {"typeWidening", "variantType", "variantType-preview", "variantShredding-preview"}
_DELTA_4_1 = _DELTA_4_0 | {"catalogManaged", "materializePartitionColumns", "variantShredding"}  # and 4.2
_DELTA_4_3 = _DELTA_4_1 | {"geospatial", "geospatial-dev", "icebergCompatV3"}
_DELTA_4_4 = frozenset(FEATURES)
_DELTARS_READS = frozenset((
    "columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint", "variantType", "variantType-preview",
))  # fmt: skip
_KERNEL_READS = _DELTARS_READS | {"typeWidening", "typeWidening-preview", "vacuumProtocolCheck"}
_TRINO_WRITES = frozenset((
    "appendOnly", "invariants", "checkConstraints", "changeDataFeed", "columnMapping", "deletionVectors", "timestampNtz",
    "vacuumProtocolCheck",
))  # fmt: skip


def _for_readers(features: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name in features if FEATURES[name].for_readers)


READERS: tuple[Reader, ...] = (
    Reader(
        "Spark with Delta Lake", "4.4.0", _for_readers(_DELTA_4_4), _DELTA_4_4, (2, 6),
        "TableFeature.scala of Delta Lake 4.4.0",
    ),
    Reader(
        "Spark with Delta Lake", "4.3", _for_readers(_DELTA_4_3), _DELTA_4_3, (2, 6),
        "TableFeature in the jars of delta-spark 4.3.0 and 4.3.1",
    ),
    Reader(
        "Spark with Delta Lake", "4.2", _for_readers(_DELTA_4_1), _DELTA_4_1, (2, 6),
        "TableFeature in the jar of delta-spark 4.2.0",
    ),
    Reader(
        "Spark with Delta Lake", "4.1", _for_readers(_DELTA_4_1), _DELTA_4_1, (2, 6),
        "TableFeature in the jar of delta-spark 4.1.0",
    ),
    Reader(
        "Spark with Delta Lake", "4.0", _for_readers(_DELTA_4_0), _DELTA_4_0, (2, 6),
        "TableFeature in the jars of delta-spark 4.0.0 and 4.0.1",
    ),
    Reader(
        "Spark with Delta Lake", "3.3", _for_readers(_DELTA_3_3), _DELTA_3_3, (2, 6),
        "docs.delta.io, How does Delta Lake manage feature compatibility?, and TableFeature in the jars of delta-spark 3.3.0 and 3.3.2",
    ),
    Reader(
        "Spark with Delta Lake", "3.2", _for_readers(_DELTA_3_2), _DELTA_3_2, (2, 5),
        "docs.delta.io/3.2.0/versioning.html, and TableFeature.scala",
    ),
    Reader(
        "Spark with Delta Lake", "2.4", _for_readers(_DELTA_2), _DELTA_2, (2, 5),
        "docs.delta.io/3.2.0/versioning.html",
    ),
    Reader(
        "delta-rs (deltalake)", "1.6.6", _DELTARS_READS, _DELTARS_READS | frozenset(_LEGACY), (2, 5),
        "tried with the package, one table for each feature",
    ),
    Reader(
        "Trino", "477", _KERNEL_READS, _TRINO_WRITES, (2, 6),
        "DeltaLakeTableFeatures.java of trinodb/trino, and trino.io, Delta Lake connector",
    ),
    Reader(
        "DuckDB delta extension", "1.5", _KERNEL_READS, None, (2, 6),
        "duckdb.org, Delta Extension (built on Delta Kernel), and table_features of delta_kernel",
    ),
    Reader(
        "Flink connector (Delta Standalone)", "3.0", frozenset(), frozenset(("appendOnly", "invariants")), (1, 2),
        "delta-io/delta issues 2874 and 6033: “Standalone Reader/Writer (1,2)”",
    ),
)  # fmt: skip


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


def readers_of(protocol: DeltaProtocol) -> list[dict[str, Any]]:
    """Each engine's answer: `{name, version, reads, writes, why, source, seen}`.

    `writes` is None where the source doesn't say; `why` names what is missing, empty if nothing is.
    """
    return [_answer(reader, protocol) for reader in READERS]


def stop_reading(before: DeltaProtocol, after: DeltaProtocol) -> list[str]:
    """The engines, with versions, that read the table before and don't after."""
    pairs = ((reader, _missing(reader, before), _missing(reader, after)) for reader in READERS)
    return [f"{reader.name} {reader.version}" for reader, was, now in pairs if now and not was]


def stop_writing(before: DeltaProtocol, after: DeltaProtocol) -> list[str]:
    """The engines, with versions, that write to the table before and don't after."""
    return [f"{r.name} {r.version}" for r in READERS if _writes(r, before) and not _writes(r, after)]


def _answer(reader: Reader, protocol: DeltaProtocol) -> dict[str, Any]:
    missing = _missing(reader, protocol)
    writes = _writes(reader, protocol)
    why = _why(missing) if missing else _why_no_writes(reader, protocol) if writes is False else ""
    return {
        "name": reader.name,
        "version": reader.version,
        "reads": not missing,
        "writes": writes,
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


def _why(missing: list[str]) -> str:
    return f"It doesn’t support {', '.join(missing)}."


def _why_no_writes(reader: Reader, protocol: DeltaProtocol) -> str:
    return f"It can’t write: it doesn’t support {', '.join(_missing_to_write(reader, protocol))}."
