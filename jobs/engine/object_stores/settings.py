"""Tells the running JVM how a bucket is reached, just before an attempt or a read works there.

The settings go into Hadoop's configuration in the JVM's memory: a key never stands in a program's arguments, in Spark's own settings,
which sessions list, or in a log. Hadoop keeps one connection per bucket and reads the settings only when it opens one, so a changed
description closes the one that is open, and replaces the executors of a cluster, which have theirs.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from pyspark.sql import SparkSession

from jobs.engine.object_stores.executors import replace_executors
from tables.storage.hdfs.kind import HDFS
from tables.storage.patience import PATIENT
from tables.storage.s3 import buckets as object_stores
from tables.storage.s3.buckets import ObjectStoreOptions
from tables.storage.s3.kind import S3
from tables.storage.store import StorageError
from tables.storage.trees import Unreachable

S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"
GIVEN_KEY = "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"
GIVEN_TOKEN = "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider"
# Levee writes `s3://` alone; a log or a stream's metadata that another program wrote may say `s3a://`.
SCHEMES: Mapping[str, str] = {"fs.s3.impl": S3A, "fs.s3a.impl": S3A}
# A store that is gone fails an attempt after a minute, not after the quarter of an hour of the defaults.
PATIENCE: Mapping[str, str] = {
    "attempts.maximum": "3",
    "retry.limit": "3",
    "retry.interval": "500ms",
    # For a store that answers 503. Each pause is twice the one before: five make half a minute. The twenty of the defaults make days.
    "retry.throttle.limit": "5",
    "retry.throttle.interval": "500ms",
    "connection.establish.timeout": "15s",  # the least that s3a takes
    "connection.timeout": f"{PATIENT.answer_s:g}s",
}
# The same for HDFS, whose client would go on for a quarter of an hour as well.
HDFS_PATIENCE: Mapping[str, str] = {
    "ipc.client.connect.timeout": "15000",
    "ipc.client.connect.max.retries": "3",
    "ipc.client.connect.max.retries.on.timeouts": "2",
    "ipc.client.rpc-timeout.ms": "60000",
}
# How long work under the old description may end before the connection that it uses is closed.
GRACE_SECONDS = 20.0
TRIES = 5  # at a connection with the new key
UNSURE = ""  # no description's fingerprint: it was being applied, and that failed or goes on
_OWN = ("endpoint", "endpoint.region", "access.key", "secret.key", "session.token", "aws.credentials.provider")


def s3a_settings(options: ObjectStoreOptions) -> dict[str, str]:
    """One bucket's description in the words of Hadoop's s3a. Without a key s3a looks for the process's own identity."""
    values = {
        "endpoint": options.endpoint,
        "endpoint.region": options.region,
        "path.style.access": str(options.path_style).lower(),
        "connection.ssl.enabled": str(not options.endpoint.startswith("http://")).lower(),
        "access.key": options.key_id,
        "secret.key": options.secret,
        "session.token": options.token,
        "aws.credentials.provider": _provider(options),
        **PATIENCE,
    }
    prefix = f"fs.s3a.bucket.{options.bucket}."
    return {f"{prefix}{name}": value for name, value in values.items() if value}


def _provider(options: ObjectStoreOptions) -> str:
    if not options.key_id:
        return ""
    return GIVEN_TOKEN if options.token else GIVEN_KEY


class BucketSettings:
    """The buckets that one JVM has been told of. Thread-safe: the interactive worker's threads share a JVM."""

    def __init__(self) -> None:
        self._changed = threading.Condition()  # around what follows, and never while the JVM or the cluster is asked
        self._applied: dict[str, str] = {}
        self._users: Counter[tuple[str, str]] = Counter()  # by bucket and fingerprint; none is 0
        self._stale: Counter[str] = Counter()  # how often work left connections of an old description on the executors
        self._turns: dict[str, threading.Lock] = {}  # one thread at a time settles a bucket
        self._replacing = threading.Lock()
        self._is_patient = False  # with HDFS

    @contextmanager
    def reaching(self, session: SparkSession, paths: Iterable[str]) -> Iterator[None]:
        """Spark reaches the buckets of these paths inside, as they are described now. Local paths need nothing. Raises Unreachable."""
        wanted = list(paths)
        if any(path.startswith(HDFS.prefix) for path in wanted):
            self._be_patient(session)
        in_buckets = (path for path in wanted if path.startswith(S3.prefix))
        described = {options.bucket: options for options in map(_options_of, in_buckets)}
        with ExitStack() as stack:
            for options in described.values():
                stack.enter_context(self._using(session, options))
            yield

    def _be_patient(self, session: SparkSession) -> None:
        """Once for each JVM, before its first file system on HDFS: that one keeps the settings it was opened with."""
        with self._changed:
            if not self._is_patient:
                for key, value in HDFS_PATIENCE.items():
                    _configuration(session).set(key, value)
                self._is_patient = True

    @contextmanager
    def _using(self, session: SparkSession, options: ObjectStoreOptions) -> Iterator[None]:
        self._enter(session, options)
        try:
            yield
        finally:
            self._leave(options)

    def _enter(self, session: SparkSession, options: ObjectStoreOptions) -> None:
        if self._joined(options):
            return
        with self._changed:
            turn = self._turns.setdefault(options.bucket, threading.Lock())
        with turn:
            if not self._joined(options):  # perhaps another thread's doing meanwhile
                self._settle(session, options)

    def _joined(self, options: ObjectStoreOptions) -> bool:
        """Whether the JVM and its executors have this description; then one more works under it."""
        with self._changed:
            settled = self._applied.get(options.bucket) == options.fingerprint and not self._stale[options.bucket]
            if settled:
                self._users[options.bucket, options.fingerprint] += 1
        return settled

    def _leave(self, options: ObjectStoreOptions) -> None:
        """Asks nothing of the JVM: what the work inside has come to stands, whatever has become of Spark."""
        bucket, use = options.bucket, (options.bucket, options.fingerprint)
        with self._changed:
            self._users[use] -= 1
            if not self._users[use]:
                del self._users[use]
                if self._applied[bucket] != options.fingerprint:
                    # Work that outlived the grace: its tasks may have been the first on the new executors.
                    self._stale[bucket] += 1
            self._changed.notify_all()

    def _settle(self, session: SparkSession, options: ObjectStoreOptions) -> None:
        """Has the JVM and its executors take a description, once what runs with another one has ended or had its grace."""
        bucket, wanted = options.bucket, options.fingerprint
        with self._changed:
            known = self._applied.get(bucket)
            if known not in (None, wanted):
                self._changed.wait_for(lambda: not self._is_used(bucket), GRACE_SECONDS)
            marks = self._stale[bucket]
            if known != wanted:
                self._applied[bucket] = UNSURE
        if known != wanted:
            _apply(session, options)
        if known not in (None, wanted):
            _reopen(session, options)
        if known is not None:
            with self._replacing:
                replace_executors(session)
        with self._changed:
            self._applied[bucket] = wanted
            self._stale[bucket] -= marks  # not those that came meanwhile
            self._users[bucket, wanted] += 1

    def _is_used(self, bucket: str) -> bool:
        return any(used == bucket for used, _ in self._users)


def _options_of(path: str) -> ObjectStoreOptions:
    try:
        return object_stores.options_of(path)
    except (StorageError, ValueError) as error:
        raise Unreachable(f"{path} can't be reached: {error}") from None


def _apply(session: SparkSession, options: ObjectStoreOptions) -> None:
    configuration = _configuration(session)
    for name in _OWN:  # the description before may have had more of them
        configuration.unset(f"fs.s3a.bucket.{options.bucket}.{name}")
    for key, value in {**SCHEMES, **s3a_settings(options)}.items():
        configuration.set(key, value)


def _reopen(session: SparkSession, options: ObjectStoreOptions) -> None:
    """Closes Hadoop's open connections to a bucket, which takes them out of its cache, and opens others. Raises Unreachable."""
    jvm: Any = session._jvm
    files = jvm.org.apache.hadoop.fs.FileSystem
    for scheme in ("s3", "s3a"):
        uri = jvm.java.net.URI.create(f"{scheme}://{options.bucket}/")
        for _ in range(TRIES):
            files.get(uri, _configuration(session)).close()
            # Else work that outlived the grace could be the first to open one, with the settings that it was planned with.
            if _has_key(files.get(uri, _configuration(session)), options):
                break
        else:
            raise Unreachable(
                f"{scheme}://{options.bucket} can't be reached: work with its key of before keeps it open"
            )


def _has_key(files: Any, options: ObjectStoreOptions) -> bool:
    """Whether a connection was opened with this description's key, and not by work that outlived the grace a moment before."""
    return (files.getConf().getRaw(f"fs.s3a.bucket.{options.bucket}.access.key") or "") == (options.key_id or "")


def _configuration(session: SparkSession) -> Any:
    """Hadoop's configuration, which every session and every task of the JVM copies."""
    return session.sparkContext._jsc.hadoopConfiguration()
