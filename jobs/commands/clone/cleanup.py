"""The names of a deep clone's copies, and their removal after a run that died or failed without a commit.

Every name that a run gives carries its job's id and its claim's fencing token, and nothing else is removed: neither what another program
put into the directory, nor what a newer attempt has written, however late the clean-up of an older one comes. The engine cleans up after a
failure, the dispatcher after a worker's death.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from tables.deltalog.read.filenames import LOG
from tables.storage.local import directories as places
from tables.storage.stores import kind_of

# A commit that Delta hasn't renamed into place yet on a local file system, and Hadoop's checksum of it.
UNFINISHED = re.compile(r"\.{1,2}\d{20}\.(json|crc)\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp(\.crc)?")


@dataclass(frozen=True, slots=True)
class CloneClaim:
    """The job that a run works for, and the fencing token of its claim."""

    job: str
    token: int

    @property
    def file_mark(self) -> str:
        """What the name of every data file that the run copies ends with, before its extensions."""
        return f"-{self.job}-{self.token}-c000"

    @property
    def vector_directory(self) -> str:
        """The directory of the deletion vectors that the run copies. Delta takes letters and digits alone."""
        return f"{_vectors_of(self.job)}x{self.token}"


def remove(path: str, claim: CloneClaim, now: float | None = None) -> None:
    """Removes the copies below the target that the job's runs up to this claim have made, and a log that holds no commit. The target itself
    stays, empty.

    A log and directories are the job's only if nothing was put into them since `now` (seconds since 1970; None: the call). Raises OSError,
    StorageError.
    """
    kind = kind_of(path)
    if kind.remove_keys is not None:
        kind.remove_keys(path, _made_by(claim))
    elif not kind.is_remote:
        with suppress(FileNotFoundError, NotADirectoryError), places.opened(path) as top:
            _sweep(top, _made_by(claim), time.time() if now is None else now)


def _vectors_of(job: str) -> str:
    return "levee" + re.sub(r"[^A-Za-z0-9]", "", job)


def _made_by(claim: CloneClaim) -> Callable[[str, str], bool]:
    """Whether a file, by its directory's path below the target and its name, is one that the job's runs up to the claim have made.

    Those of an earlier Levee carry no token.
    """
    copy = re.compile(rf"-{re.escape(claim.job)}(?:-(\d+))?-c000")
    vectors = re.compile(rf"{_vectors_of(claim.job)}(?:x(\d+))?")

    def made(folder: str, name: str) -> bool:
        found = copy.search(name) or vectors.fullmatch(folder)
        return folder.partition("/")[0] != LOG and found is not None and int(found[1] or 0) <= claim.token

    return made


def _sweep(descriptor: int, made: Callable[[str, str], bool], now: float, folder: str = "") -> None:
    """Removes the files that `made` tells, and the directories below that are empty then. It never follows a link."""
    entries = _entries(descriptor)
    if folder == LOG and _holds_no_commit(entries):
        made = _is_unfinished if _is_older(os.fstat(descriptor), now) else _is_nothing
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            with places.opened(descriptor, entry.name) as inner:
                is_older = _is_older(os.fstat(inner), now)
                _sweep(inner, made, now, f"{folder}/{entry.name}" if folder else entry.name)
            if is_older:
                with suppress(OSError):  # it holds what isn't the job's
                    os.rmdir(entry.name, dir_fd=descriptor)
        elif entry.is_file(follow_symlinks=False) and made(folder, entry.name):
            os.unlink(entry.name, dir_fd=descriptor)


def _is_older(directory: os.stat_result, now: float) -> bool:
    return directory.st_mtime < now


def _is_nothing(folder: str, name: str) -> bool:
    return False


def _holds_no_commit(log: list[os.DirEntry[str]]) -> bool:
    return all(_is_unfinished(LOG, entry.name) for entry in log if not entry.is_dir(follow_symlinks=False))


def _is_unfinished(folder: str, name: str) -> bool:
    return UNFINISHED.fullmatch(name) is not None


def _entries(descriptor: int) -> list[os.DirEntry[str]]:
    with os.scandir(descriptor) as entries:
        return list(entries)
