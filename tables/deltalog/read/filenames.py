"""Names of the files in `_delta_log`, after the Delta protocol ("Delta Log Entries", "Checkpoints")."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

LOG = "_delta_log"
SIDECARS = f"{LOG}/_sidecars"
LAST_CHECKPOINT = "_last_checkpoint"


class LogFileKind(StrEnum):
    COMMIT = "commit"
    CHECKSUM = "checksum"
    COMPACTION = "compaction"
    CLASSIC = "classic checkpoint"
    MULTIPART = "multi-part checkpoint"
    V2 = "V2 checkpoint"


@dataclass(frozen=True, slots=True)
class LogName:
    """What a file name says. `end` is the last version of a compaction; `part` of `parts` belongs to a multi-part checkpoint."""

    kind: LogFileKind
    version: int
    end: int = 0
    part: int = 1
    parts: int = 1


_DIGITS = r"(?P<version>\d{20})"
_CHECKSUM = re.compile(rf"{_DIGITS}\.crc")
_COMPACTION = re.compile(rf"{_DIGITS}\.(?P<end>\d{{20}})\.compacted\.json")
_CLASSIC = re.compile(rf"{_DIGITS}\.checkpoint\.parquet")
_MULTIPART = re.compile(rf"{_DIGITS}\.checkpoint\.(?P<part>\d{{10}})\.(?P<parts>\d{{10}})\.parquet")
_V2 = re.compile(rf"{_DIGITS}\.checkpoint\.[0-9A-Za-z-]{{36}}\.(json|parquet)")
_LARGEST = 2**63 - 1


def commit_name(version: int) -> str:
    return f"{version:020d}.json"


def commit_version(name: str) -> int | None:
    """The version of a commit file's name, None for any other name. Called for every name of a long log."""
    if len(name) == 25 and name.endswith(".json"):
        digits = name[:20]
        if digits.isascii() and digits.isdigit() and (version := int(digits)) <= _LARGEST:
            return version
    return None


def parse(name: str) -> LogName | None:
    """What the name stands for, None for names that the protocol doesn't know."""
    if (version := commit_version(name)) is not None:
        return LogName(LogFileKind.COMMIT, version)
    if match := _CHECKSUM.fullmatch(name):
        return LogName(LogFileKind.CHECKSUM, int(match["version"]))
    if match := _COMPACTION.fullmatch(name):
        return LogName(LogFileKind.COMPACTION, int(match["version"]), end=int(match["end"]))
    return _checkpoint(name)


def _checkpoint(name: str) -> LogName | None:
    if match := _CLASSIC.fullmatch(name):
        return LogName(LogFileKind.CLASSIC, int(match["version"]))
    if match := _MULTIPART.fullmatch(name):
        part, parts = int(match["part"]), int(match["parts"])
        return LogName(LogFileKind.MULTIPART, int(match["version"]), part=part, parts=parts)
    if match := _V2.fullmatch(name):
        return LogName(LogFileKind.V2, int(match["version"]))
    return None
