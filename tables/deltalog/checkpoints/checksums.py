"""Version checksums (`.crc`): what the writer of a version believed the table to be. A second opinion, never a source.

To Delta it is a source. Delta 4.4.0 takes protocol and metadata from the checksum of the version that it opens if that has both
(`Snapshot.getProtocolMetadataICTAndLMCFromCrc`), and fails with DELTA_STATE_RECOVER_ERROR once the log gives others
(`SnapshotStateManager.computedState`). All else of it is compared when a checkpoint is written (`ValidateChecksum.checkMismatch`, called
by `Checkpoints.writeCheckpoint`), and a difference only keeps that checkpoint from being written (`withCheckpointExceptionHandling`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tables.deltalog.read.actions import Action, Metadata, Protocol
from tables.deltalog.read.fields import Fields
from tables.deltalog.read.filenames import LOG
from tables.deltalog.read.lines import parse_json, read_lines
from tables.deltalog.read.parsing import parse_action
from tables.deltalog.read.problems import ProblemCode, Problems
from tables.deltalog.state.state import TableState
from tables.storage.store import Entry, Storage


@dataclass(frozen=True, slots=True)
class Checksum:
    """Counts of a version's checksum file; None where it says nothing."""

    file: str
    num_files: int | None
    size_bytes: int | None
    protocol: Protocol | None = None
    metadata: Metadata | None = None


def read_checksum(storage: Storage, entry: Entry | None, problems: Problems) -> Checksum | None:
    """The checksum, None without one or when it can't be read (which becomes a problem)."""
    if entry is None:
        return None
    for _, line in read_lines(storage, f"{LOG}/{entry.name}", entry.size, entry.name, problems):
        try:
            value = parse_json(line)
        except ValueError as error:
            problems.add(entry.name, f"the checksum is {error}")
            return None
        if not isinstance(value, dict):
            problems.add(entry.name, "the checksum is not an object")
            return None
        fields = Fields(value, "checksum", entry.name, problems, ("numFiles", "tableSizeBytes"))
        return Checksum(entry.name, fields.count("numFiles"), fields.count("tableSizeBytes"), *_opening(value))
    return None


def compare_checksum(checksum: Checksum | None, num_files: int, size_bytes: int | None, problems: Problems) -> None:
    """Says where the checksum and what was read differ; unknown values are not compared."""
    if checksum is None:
        return
    why = "Delta writes no checkpoint while they differ"
    pairs = (("files", checksum.num_files, num_files), ("bytes", checksum.size_bytes, size_bytes))
    for name, stored, actual in pairs:
        if stored is not None and actual is not None and stored != actual:
            problems.add(
                checksum.file,
                f"the checksum says {stored:,} {name}, the log gives {actual:,}; {why}",
                ProblemCode.DISAGREES,
            )


def compare_opening(checksum: Checksum | None, state: TableState, problems: Problems) -> None:
    """Says where the protocol and the metadata that Delta opens the version with aren't the log's; unknown ones aren't compared."""
    if checksum is None or checksum.protocol is None or checksum.metadata is None:
        return
    if state.protocol is None or state.metadata is None:
        return
    differing = [] if _rules(checksum.protocol) == _rules(state.protocol) else ["protocol"]
    before, now = asdict(checksum.metadata), asdict(state.metadata)
    differing += [word for name, word in _WORDS.items() if before[name] != now[name]]
    if differing:
        reason = (
            f"the checksum’s {' and '.join(differing)} {'differs' if len(differing) == 1 else 'differ'} from the log’s"
        )
        problems.add(checksum.file, reason, ProblemCode.STOPS_SPARK)


_WORDS = {
    "schema_json": "schema",
    "partition_columns": "partition columns",
    "configuration": "properties",
    "id": "table id",
    "name": "name",
    "description": "comment",
    "format_provider": "format",
    "created_at": "creation time",
}


def _opening(value: dict[str, Any]) -> tuple[Protocol | None, Metadata | None]:
    """Protocol and metadata as the checksum has them; None for one that is missing or can't be read."""
    found: dict[str, Action | None] = {}
    for key, action in (("protocol", "protocol"), ("metadata", "metaData")):
        problems = Problems()
        parsed = parse_action(action, value[key], "", problems) if isinstance(value.get(key), dict) else None
        found[key] = None if problems else parsed
    protocol, metadata = found["protocol"], found["metadata"]
    return (
        protocol if isinstance(protocol, Protocol) else None,
        metadata if isinstance(metadata, Metadata) else None,
    )


def _rules(protocol: Protocol) -> tuple[object, ...]:
    """A protocol as Delta compares it: its features are sets."""
    lists = (protocol.reader_features, protocol.writer_features)
    return (
        protocol.min_reader_version,
        protocol.min_writer_version,
        *(None if names is None else frozenset(names) for names in lists),
    )
