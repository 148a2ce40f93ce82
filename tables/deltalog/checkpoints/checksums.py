"""Version checksums (`.crc`): what the writer of a version believed the table to be. A second opinion, never a source."""

from __future__ import annotations

from dataclasses import dataclass

from tables.deltalog.read.fields import Fields
from tables.deltalog.read.filenames import LOG
from tables.deltalog.read.lines import parse_json, read_lines
from tables.deltalog.read.problems import Code, Problems
from tables.deltalog.read.storage import Entry, Storage


@dataclass(frozen=True, slots=True)
class Checksum:
    """Counts of a version's checksum file; None where it says nothing."""

    file: str
    num_files: int | None
    size_bytes: int | None


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
        return Checksum(entry.name, fields.count("numFiles"), fields.count("tableSizeBytes"))
    return None


def compare_checksum(checksum: Checksum | None, num_files: int, size_bytes: int | None, problems: Problems) -> None:
    """Says where the checksum and what was read differ; unknown values are not compared."""
    if checksum is None:
        return
    pairs = (("files", checksum.num_files, num_files), ("bytes", checksum.size_bytes, size_bytes))
    for name, stored, actual in pairs:
        if stored is not None and actual is not None and stored != actual:
            problems.add(
                checksum.file, f"the checksum says {stored:,} {name}, the log gives {actual:,}", Code.DISAGREES
            )
