"""The names of a deep clone's copies, and their removal after a run that died or failed without a commit.

Every name that a run gives carries its job's id, and nothing else is removed: not what another program put into the directory. The
engine cleans up after a failure, the dispatcher after a worker's death.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from tables.deltalog.read import object_stores, places
from tables.deltalog.read.filenames import LOG
from tables.deltalog.read.storage import StorageError
from tables.deltalog.read.store_errors import turning_panics

if TYPE_CHECKING:
    from obstore.store import S3Store

# A commit that Delta hasn't renamed into place yet on a local file system, and Hadoop's checksum of it.
UNFINISHED = re.compile(r"\.{1,2}\d{20}\.(json|crc)\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp(\.crc)?")


def file_mark(job: str) -> str:
    """What the name of every data file that the job copies ends with, before its extensions."""
    return f"-{job}-c000"


def vector_directory(job: str) -> str:
    """The directory of the deletion vectors that the job copies. Delta takes letters and digits alone."""
    return "levee" + re.sub(r"[^A-Za-z0-9]", "", job)


def remove(path: str, job: str) -> None:
    """Removes the job's copies below the target, and a log that holds no commit. The target itself stays, empty.

    Raises OSError, StorageError.
    """
    if object_stores.is_object_store(path):
        _remove_keys(path, job)
    elif path.startswith("/"):
        with suppress(FileNotFoundError, NotADirectoryError), places.opened(path) as top:
            _sweep(top, _of_job(job))


def _of_job(job: str) -> Callable[[str, str], bool]:
    """Whether a file, by its directory's path below the target and its name, is one that the job's run has made."""
    mark, vectors = file_mark(job), vector_directory(job)

    return lambda folder, name: folder.partition("/")[0] != LOG and (mark in name or folder == vectors)


def _sweep(descriptor: int, made: Callable[[str, str], bool], folder: str = "") -> None:
    """Removes the files that `made` tells, and the directories below that are empty then. It never follows a link."""
    entries = _entries(descriptor)
    if folder == LOG and _holds_no_commit(entries):
        made = _is_unfinished
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            with places.opened(descriptor, entry.name) as inner:
                _sweep(inner, made, f"{folder}/{entry.name}" if folder else entry.name)
            with suppress(OSError):  # it holds what isn't the job's
                os.rmdir(entry.name, dir_fd=descriptor)
        elif entry.is_file(follow_symlinks=False) and made(folder, entry.name):
            os.unlink(entry.name, dir_fd=descriptor)


def _holds_no_commit(log: list[os.DirEntry[str]]) -> bool:
    return all(_is_unfinished(LOG, entry.name) for entry in log if not entry.is_dir(follow_symlinks=False))


def _is_unfinished(folder: str, name: str) -> bool:
    return UNFINISHED.fullmatch(name) is not None


def _entries(descriptor: int) -> list[os.DirEntry[str]]:
    with os.scandir(descriptor) as entries:
        return list(entries)


def _remove_keys(uri: str, job: str) -> None:
    import obstore
    from obstore.exceptions import BaseError

    store, prefix = object_stores.opened(uri)
    made, top = _of_job(job), f"{prefix}/" if prefix else ""
    try:
        with turning_panics:
            for keys in _pages(store, top):
                own = [key for key in keys if made(*_split(key.removeprefix(top)))]
                if own:
                    obstore.delete(store, own)
    except BaseError as error:
        raise StorageError(str(object_stores.refused(store, error))) from None


def _split(relative: str) -> tuple[str, str]:
    folder, _, name = relative.rpartition("/")
    return folder, name


def _pages(store: S3Store, top: str) -> Iterator[list[str]]:
    import obstore

    for page in obstore.list(store, top or None):
        yield [str(item["path"]) for item in page]
