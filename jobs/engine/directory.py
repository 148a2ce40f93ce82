"""Checks the directory that Levee gives to Spark: before the first read, after the table is loaded, before a commit and after it.

Spark knows a directory by its name alone, and any program that may write below a root can put a link in its place at any moment. So
each check walks the path from the top; it must lead to the very same directory, with only files and directories below it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from jobs.domain.errors import CommandRefused, DirectorySwapped, Refusal
from jobs.engine.inside import clone_at
from jobs.engine.walk import DELTA_LOG
from tables.deltalog.checkpoints.sidecars import foreign_sidecar
from tables.deltalog.replay.log import open_log
from tables.storage.local import directories as places
from tables.storage.store import StorageError

LINKS = "Replace links with real files and directories, then request it again."
COPY = "Copy the files into the table's directory, or rewrite the table."
log = logging.getLogger(__name__)
# Failures of Spark and of Levee's own readers, which never follow links. A lost JVM is handled elsewhere.
FAILURES = (PySparkException, Py4JJavaError, places.PlaceError, FileNotFoundError, NotADirectoryError)
SWAPPED = "{why}. This happened while Spark was working on it."


class Directory:
    """One directory as it was at its first check. An object store has neither links nor directories, only keys, and nothing in it leads
    to another place: there the checks pass, and the table's own log is all that could name files elsewhere.

    With `only_log` it checks only the log, since nothing reads the rest.
    """

    def __init__(self, path: str, *, only_log: bool = False) -> None:
        """Raises CommandRefused `outside_roots`, `not_found`."""
        self.path, self.only_log = path, only_log
        with _refusing(path):
            self._place = places.walk(path) if path.startswith("/") else None

    def check(self) -> None:
        """Checks that it is still the same directory, with only files and directories below it.

        Raises CommandRefused `outside_roots`, `not_a_file`, `not_found`.
        """
        with _refusing(self.path):
            self._check_whole()
        self._check_source()

    def check_place(self) -> None:
        """Checks that it is still the same directory, but not its contents, which the caller checks. Raises as `check` does."""
        with _refusing(self.path):
            self._check_path()

    def check_after(self) -> None:
        """The same check after Spark has begun to change it. Raises DirectorySwapped: the change may have gone elsewhere.

        Raises CommandRefused as `check` does for the source of a rehearsal's clone, of which nothing is changed.
        """
        self._check_source()
        try:
            with suppress(places.Irregular):
                self._check_whole()
        except (places.Linked, places.Swapped, FileNotFoundError, NotADirectoryError) as error:
            raise DirectorySwapped(SWAPPED.format(why=error.strerror)) from error
        except OSError as error:  # storage doesn't answer, which is no sign of a swap
            log.warning("not checked after the change: %s", error)

    def _check_whole(self) -> None:
        self._check_path()
        if self._place is None:
            return
        if not self.only_log:
            places.check_tree(self.path)
        elif places.holds(self.path, DELTA_LOG):
            places.check_tree(f"{self.path}/{DELTA_LOG}")

    def _check_source(self) -> None:
        """The log of a rehearsal's clone names files of its source, which Spark reads with it."""
        clone = clone_at(self.path)
        if clone is not None:
            clone.check()

    def _check_path(self) -> None:
        if self._place is not None:
            self._place.check()


@contextmanager
def kept(path: str, *, only_log: bool = False) -> Iterator[Directory]:
    """A Delta table's directory, checked from before the first read until after the answer, so that a swap invalidates the answer.

    Raises CommandRefused `outside_roots`, `not_found`, `unreadable`.
    """
    directory = judged(path, only_log=only_log)
    with keeping(directory.check):
        yield directory
    directory.check()


@contextmanager
def keeping(check: Callable[[], None]) -> Iterator[None]:
    """Replaces Spark's error about a swapped directory, which may be about another place, with the error that `check` raises."""
    try:
        yield
    except FAILURES:
        check()
        raise


@contextmanager
def changing(directory: Directory) -> Iterator[None]:
    """Wraps Spark's change of the table. Raises DirectorySwapped, before any other error, if the directory was swapped meanwhile."""
    try:
        yield
    except FAILURES:
        directory.check_after()
        raise
    directory.check_after()


def judged(path: str, *, only_log: bool = False) -> Directory:
    """A Delta table's directory, checked before Spark reads it, since Spark follows its checkpoints anywhere."""
    directory = Directory(path, only_log=only_log)
    directory.check()
    refuse_foreign_sidecars(path)
    return directory


def refuse_foreign_sidecars(path: str) -> None:
    """Raises CommandRefused: `outside_roots` if a checkpoint has files elsewhere, `unreadable` if Levee can't find out."""
    try:
        named = foreign_sidecar(open_log(path).storage)
    except StorageError as error:
        raise CommandRefused(Refusal("unreadable", f"The table's log can't be read: {error}", place=path)) from error
    if named is not None:
        text = f"The table's log names a file outside its directory: {named[:500]}"
        raise CommandRefused(Refusal("outside_roots", text, place=path, remedy=COPY))


@contextmanager
def _refusing(path: str) -> Iterator[None]:
    try:
        yield
    except places.Irregular as error:
        text = (
            f"{path}/{error.name} is {error.kind}, and reading it could block forever. Nothing of {path} was changed."
        )
        raise CommandRefused(Refusal("not_a_file", text, remedy="Remove it, then request it again.")) from error
    except places.PlaceError as error:
        text = f"{error.strerror}. Nothing of {path} was changed."
        raise CommandRefused(Refusal("outside_roots", text, place=path, remedy=LINKS)) from error
    except FileNotFoundError as error:
        raise CommandRefused(Refusal("not_found", f"{path} doesn't exist.", place=path)) from error
    except NotADirectoryError as error:
        raise CommandRefused(Refusal("not_found", f"{path} isn't a directory.", place=path)) from error
    except OSError as error:
        text = f"Levee can't read {path}: {error.strerror}."
        raise CommandRefused(Refusal("unreadable", text, place=path)) from error
