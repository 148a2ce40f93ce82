"""Remembers what a step was made from, so that the second run has nothing to do."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path


def digest(files: Iterable[Path], *words: str) -> str:
    """Sha256 over names and contents of `files` and over `words`; a missing file counts as such."""
    total = hashlib.sha256()
    for word in words:
        total.update(f"word {word}\n".encode())
    for file in sorted(files):
        body = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "absent"
        total.update(f"file {file.name} {body}\n".encode())
    return total.hexdigest()


def holds(stamps: Path, name: str, value: str) -> bool:
    """True when the step `name` was finished with exactly `value`."""
    stamp = stamps / name
    return stamp.is_file() and stamp.read_text() == value


def write(stamps: Path, name: str, value: str) -> None:
    """Record that the step `name` is finished; whole or not at all."""
    stamps.mkdir(parents=True, exist_ok=True)
    part = stamps / f"{name}.part"
    part.write_text(value)
    part.rename(stamps / name)


def drop(stamps: Path, name: str) -> None:
    """Forget that the step `name` was ever finished."""
    (stamps / name).unlink(missing_ok=True)
