"""Tells the running JVM how a bucket is reached, just before an attempt or a read works there.

The settings go into Hadoop's configuration in the JVM's memory: a key never stands in a program's arguments, in Spark's own settings,
which sessions list, or in a log. Hadoop keeps one connection per bucket and reads the settings only when it opens one, so a changed
description closes the one that is open, and replaces the executors of a cluster, which have theirs.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from pyspark.sql import SparkSession

from jobs.engine.object_stores.executors import replace_executors
from tables.storage.description import HadoopSettings, Options
from tables.storage.kind import StoreKind
from tables.storage.objects import buckets
from tables.storage.store import StorageError
from tables.storage.stores import is_remote, kind_of
from tables.storage.trees import Unreachable

# How long work under the old description may end before the connection that it uses is closed.
GRACE_SECONDS = 20.0
TRIES = 5  # at a connection with the new key
UNSURE = ""  # no description's fingerprint: it was being applied, and that failed or goes on


class BucketSettings:
    """The buckets that one JVM has been told of. Thread-safe: the interactive worker's threads share a JVM."""

    def __init__(self) -> None:
        self._changed = threading.Condition()  # around what follows, and never while the JVM or the cluster is asked
        # By scope: a bucket, or all buckets of a kind that Hadoop has one description for.
        self._applied: dict[str, str] = {}
        self._opened: dict[str, set[str]] = {}  # what may have a connection
        self._users: Counter[tuple[str, str]] = Counter()  # by scope and fingerprint; none is 0
        self._stale: Counter[str] = Counter()  # how often work left connections of an old description on the executors
        self._turns: dict[str, threading.Lock] = {}  # one thread at a time settles a scope
        self._replacing = threading.Lock()
        self._told: set[str] = set()  # the schemes of whose kinds Hadoop has been told what it is told once

    @contextmanager
    def reaching(self, session: SparkSession, paths: Iterable[str]) -> Iterator[None]:
        """Spark reaches the buckets of these paths inside, as they are described now. Local paths need nothing. Raises Unreachable."""
        remote = {path: kind_of(path) for path in paths if is_remote(path)}
        for kind in remote.values():
            self._tell_once(session, kind)
        in_buckets = (path for path, kind in remote.items() if kind.described)
        described = {options.prefix: options for options in map(_options_of, in_buckets)}
        with ExitStack() as stack:
            for options in described.values():
                stack.enter_context(self._using(session, options))
            yield

    def _tell_once(self, session: SparkSession, kind: StoreKind) -> None:
        """Once for each JVM, before its first file system of the kind: that one keeps the settings it was opened with."""
        with self._changed:
            if kind.hadoop and kind.scheme not in self._told:
                for key, value in kind.hadoop.items():
                    _configuration(session).set(key, value)
                self._told.add(kind.scheme)

    @contextmanager
    def _using(self, session: SparkSession, options: Options) -> Iterator[None]:
        self._enter(session, options)
        try:
            yield
        finally:
            self._leave(options)

    def _enter(self, session: SparkSession, options: Options) -> None:
        if self._joined(options):
            return
        with self._changed:
            turn = self._turns.setdefault(options.scope, threading.Lock())
        with turn:
            if not self._joined(options):  # perhaps another thread's doing meanwhile
                self._settle(session, options)

    def _joined(self, options: Options) -> bool:
        """Whether the JVM and its executors have this description; then one more works under it."""
        with self._changed:
            settled = self._applied.get(options.scope) == options.fingerprint and not self._stale[options.scope]
            if settled:
                self._opened[options.scope].update(options.for_hadoop().uris)
                self._users[options.scope, options.fingerprint] += 1
        return settled

    def _leave(self, options: Options) -> None:
        """Asks nothing of the JVM: what the work inside has come to stands, whatever has become of Spark."""
        scope, use = options.scope, (options.scope, options.fingerprint)
        with self._changed:
            self._users[use] -= 1
            if not self._users[use]:
                del self._users[use]
                if self._applied[scope] != options.fingerprint:
                    # Work that outlived the grace: its tasks may have been the first on the new executors.
                    self._stale[scope] += 1
            self._changed.notify_all()

    def _settle(self, session: SparkSession, options: Options) -> None:
        """Has the JVM and its executors take a description, once what runs with another one has ended or had its grace."""
        scope, wanted, settings = options.scope, options.fingerprint, options.for_hadoop()
        with self._changed:
            known = self._applied.get(scope)
            if known not in (None, wanted):
                self._changed.wait_for(lambda: not self._is_used_otherwise(scope, wanted), GRACE_SECONDS)
            marks = self._stale[scope]
            if known != wanted:
                self._applied[scope] = UNSURE
            opened = self._opened.setdefault(scope, set())
            opened.update(settings.uris)
            uris = sorted(opened)
        if known != wanted:
            _apply(session, settings)
        if known not in (None, wanted):
            _reopen(session, settings, uris)
        if known is not None:
            with self._replacing:
                replace_executors(session)
        with self._changed:
            self._applied[scope] = wanted
            self._stale[scope] -= marks  # not those that came meanwhile
            self._users[scope, wanted] += 1

    def _is_used_otherwise(self, scope: str, wanted: str) -> bool:
        return any(used == scope and by != wanted for used, by in self._users)


def _options_of(path: str) -> Options:
    try:
        return buckets.options_of(path)
    except (StorageError, ValueError) as error:
        raise Unreachable(f"{path} can't be reached: {error}") from None


def _apply(session: SparkSession, settings: HadoopSettings) -> None:
    configuration = _configuration(session)
    for name in settings.own:  # the description before may have had more of them
        configuration.unset(name)
    for key, value in settings.values.items():
        configuration.set(key, value)


def _reopen(session: SparkSession, settings: HadoopSettings, uris: Iterable[str]) -> None:
    """Closes Hadoop's open connections to these, which takes them out of its cache, and opens others. Raises Unreachable."""
    jvm: Any = session._jvm
    files = jvm.org.apache.hadoop.fs.FileSystem
    for each in uris:
        uri = jvm.java.net.URI.create(each)
        for _ in range(TRIES):
            files.get(uri, _configuration(session)).close()
            # Else work that outlived the grace could be the first to open one, with the settings that it was planned with.
            if _has_key(files.get(uri, _configuration(session)), settings):
                break
        else:
            raise Unreachable(f"{each.rstrip('/')} can't be reached: work with its key of before keeps it open")


def _has_key(files: Any, settings: HadoopSettings) -> bool:
    """Whether a connection was opened with this description's key, and not by work that outlived the grace a moment before."""
    name, value = settings.mark
    return (files.getConf().getRaw(name) or "") == value


def _configuration(session: SparkSession) -> Any:
    """Hadoop's configuration, which every session and every task of the JVM copies."""
    return session.sparkContext._jsc.hadoopConfiguration()
