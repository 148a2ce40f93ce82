"""`_last_checkpoint`: where readers of Delta begin to look. Here the listing says it; the file is read to tell when it misleads them."""

from __future__ import annotations

from typing import Any

from tables.deltalog.read.fields import Fields
from tables.deltalog.read.filenames import LAST_CHECKPOINT, LOG, LogFileKind, parse
from tables.deltalog.read.lines import parse_json
from tables.deltalog.read.problems import ProblemCode, Problems
from tables.storage.store import Entry, Storage, StorageError

LARGEST = 1 << 20
"""Bytes of the file that are read. Delta keeps it small: it drops the schema of the checkpoint from it when that is long."""

_CHECKPOINTS = (LogFileKind.CLASSIC, LogFileKind.MULTIPART, LogFileKind.V2)


def check_last_checkpoint(storage: Storage, entry: Entry | None, problems: Problems) -> None:
    """Says when the file can't be read or names a checkpoint that is not there. A log without the file is a whole one."""
    if entry is None:
        return
    value = _read(storage, entry, problems)
    if value is None:
        return
    fields = Fields(value, "_last_checkpoint", LAST_CHECKPOINT, problems, ("version", "parts"))
    version, parts = fields.count("version"), fields.count("parts")
    if value.get("version") is None:
        problems.add(LAST_CHECKPOINT, "it names no version")
    elif version is not None and not _is_there(storage, version, parts):
        reason = f"it points to a checkpoint of version {version}, which is not in the log or not whole"
        problems.add(LAST_CHECKPOINT, reason, ProblemCode.DISAGREES)


def newest_checkpoint(storage: Storage) -> int:
    """The version that the file names; -1 where there is no file, or it names none."""
    entry = storage.entry(f"{LOG}/{LAST_CHECKPOINT}")
    value = _read(storage, entry, Problems()) if entry else None
    version = Fields(value, "_last_checkpoint", LAST_CHECKPOINT, Problems()).count("version") if value else None
    return -1 if version is None else version


def _read(storage: Storage, entry: Entry, problems: Problems) -> dict[str, Any] | None:
    content = bytearray()
    try:
        for chunk in storage.chunks(f"{LOG}/{LAST_CHECKPOINT}", entry.size):
            content += chunk
            if len(content) > LARGEST:
                problems.add(LAST_CHECKPOINT, f"it is longer than {LARGEST >> 20} MiB and was not read")
                return None
        value = parse_json(bytes(content).strip())
    except StorageError as error:
        problems.add(LAST_CHECKPOINT, str(error), ProblemCode.UNREADABLE)
        return None
    except ValueError as error:
        problems.add(LAST_CHECKPOINT, f"it is {error}")
        return None
    if not isinstance(value, dict):
        problems.add(LAST_CHECKPOINT, "it is not an object")
        return None
    return value


def _is_there(storage: Storage, version: int, parts: int | None) -> bool:
    """Whether a whole checkpoint of the version lies in the log; of several parts when so many are named."""
    if parts is None and storage.entry(f"{LOG}/{version:020d}.checkpoint.parquet") is not None:
        return True
    prefix = f"{version:020d}."
    log_names = [parse(name) for name in storage.names(LOG, prefix) if name.startswith(prefix)]
    points = [name for name in log_names if name is not None and name.kind in _CHECKPOINTS]
    if parts is None:
        return any(name.parts == 1 for name in points)
    return len({name.part for name in points if name.parts == parts}) == parts
