"""HDFS, asked through hdfs-native; every question has an end.

hdfs-native waits for as long as a name node that has taken the connection says nothing. So each question is asked by a thread of its
own, and given up after a time. Standard library and hdfs_native only: Spark's tasks go by it, and have no copy of Levee.
"""

from __future__ import annotations

import errno
import getpass
import itertools
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

USER = "HADOOP_USER_NAME"
PAGE = 1_000  # names that are taken at once; a name node's own answers hold as many
CHUNK = 1 << 20
MOST_ASKED = 64  # questions to one client without an answer, before the next ones wait for one
MOST_LEFT = 256  # questions without an answer, also to clients that were given up, before no more clients are
AWAY_SECONDS = 30.0  # that a name node which doesn't answer isn't asked again, so that it keeps nothing else waiting
# A name node that refuses the connection is asked again after these pauses, a nameservice's others before.
_TRIES = {
    "dfs.client.failover.max.attempts": "2",
    "dfs.client.failover.sleep.base.millis": "100",
    "dfs.client.failover.sleep.max.millis": "500",
}
_CLASS = re.compile(r'RPCError\("([\w.$]+)"')
_THEIRS = (OSError, RuntimeError, ValueError)  # what hdfs-native raises
_Answer = tuple[Any, Exception | None]
T = TypeVar("T")


class HdfsRefused(OSError):
    """HDFS didn't do it; the text says why, and repeats none of its own words. `everywhere`: it would refuse all else as well."""

    def __init__(self, text: str, *, everywhere: bool = False, denied: bool = False) -> None:
        super().__init__(errno.EIO, text)
        self.text = text
        self.everywhere = everywhere
        self.denied = denied

    def __str__(self) -> str:
        return self.text


def user_name() -> str:
    """The user that Levee is on HDFS, for its readers and for Spark alike."""
    return os.environ.get(USER) or getpass.getuser()


class NameNode:
    """A name node, or the nameservice of several. Paths are absolute and literal.

    What isn't there raises FileNotFoundError, all else Refused. After a refusal of everything, `away` holds until when (monotonic
    seconds) it should be left alone, and why. Thread-safe.
    """

    def __init__(self, authority: str, user: str, answer_s: float = 30.0) -> None:
        self.authority, self.answer_s = authority, answer_s
        self.user = user
        self.away: tuple[float, str] | None = None
        self._lock = threading.Lock()
        self._connection = _Connection()
        self._unanswered = 0  # questions, of all connections

    def status(self, path: str) -> Any:
        """hdfs-native's FileStatus: path, isdir, length, modification_time (ms)."""
        return self._ask(lambda client: client.get_file_info(path))

    def pages(self, directory: str) -> Iterator[list[Any]]:
        """What lies directly in a directory, by name. Raises NotADirectoryError for a file."""
        rows = self._ask(lambda client: client.list_status(directory))
        while page := self._ask(lambda _: list(itertools.islice(rows, PAGE))):
            if len(page) == 1 and not page[0].isdir and page[0].path.rstrip("/") == directory.rstrip("/"):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), directory)
            yield page

    def open(self, path: str) -> File:
        """A file, whose blocks the name node has told."""
        return File(self, self._ask(lambda client: client.read(path)))

    def create(self, path: str) -> Any:
        """Makes an empty file that isn't there yet; hdfs-native's writer, open."""
        return self._ask(lambda client: client.create(path))

    def discard(self, path: str, writer: Any) -> None:
        """Closes such a file, and deletes it."""
        self._ask(lambda _: writer.close())
        self._ask(lambda client: client.delete(path))

    def of_file(self, ask: Callable[[], T]) -> T:
        """An answer of data nodes, which says nothing of the name node."""
        return self._ask(lambda _: ask(), of_file=True)

    def _ask(self, ask: Callable[[Any], T], *, of_file: bool = False) -> T:
        with self._lock:
            connection = self._connection
        try:
            return self._answer(connection, ask)
        except (FileNotFoundError, NotADirectoryError):
            raise
        except _NoAnswer:
            refused = HdfsRefused(
                "a data node doesn’t answer" if of_file else "the name node doesn’t answer", everywhere=True
            )
        except _THEIRS as error:
            refused = refusal(error, self.user, of_file=of_file)
        if refused.everywhere and not of_file:
            self._give_up(connection, refused.text)
        refused.everywhere = refused.everywhere and not of_file
        raise refused from None  # a chain of causes would print a name node's own words

    def _give_up(self, connection: _Connection, why: str) -> None:
        """It may never answer again, nor what it was asked: another one is asked next, by slots of its own."""
        with self._lock:
            if self._connection is not connection:  # another question's doing
                return
            self.away = (time.monotonic() + AWAY_SECONDS, why)
            if self._unanswered < MOST_LEFT:
                self._connection = _Connection()

    def _answer(self, connection: _Connection, ask: Callable[[Any], T]) -> T:
        if not connection.slots.acquire(timeout=self.answer_s):
            raise _NoAnswer
        answers: SimpleQueue[_Answer] = SimpleQueue()
        self._count(1)
        try:
            threading.Thread(target=self._answering, args=(connection, ask, answers), daemon=True).start()
        except RuntimeError:  # the process may start no more threads
            self._answered(connection)
            raise
        try:
            answer, error = answers.get(timeout=self.answer_s)
        except Empty:
            raise _NoAnswer from None
        if error is not None:
            raise error
        return answer  # type: ignore[no-any-return]

    def _answering(self, connection: _Connection, ask: Callable[[Any], Any], answers: SimpleQueue[_Answer]) -> None:
        answer: _Answer = (None, RuntimeError("hdfs-native broke down"))  # a panic of its, which is no Exception
        try:
            answer = (ask(self._opened(connection)), None)
        except _THEIRS as error:
            answer = (None, error)
        finally:
            self._answered(connection)
            answers.put(answer)

    def _answered(self, connection: _Connection) -> None:
        self._count(-1)
        connection.slots.release()

    def _count(self, change: int) -> None:
        with self._lock:
            self._unanswered += change

    def _opened(self, connection: _Connection) -> Any:
        from hdfs_native import Client

        with self._lock:
            if connection.client is None:
                if user_name() != self.user:  # in a task, whose process another user may have started
                    os.environ[USER] = self.user
                connection.client = Client(f"hdfs://{self.authority}", _TRIES)
            return connection.client


class _Connection:
    """A client of hdfs-native's, opened at the first question, and the slots of the questions that it hasn't answered."""

    def __init__(self) -> None:
        self.client: Any = None
        self.slots = threading.BoundedSemaphore(MOST_ASKED)


class File:
    """A file that is open for reading: `size` is its bytes."""

    def __init__(self, node: NameNode, reader: Any) -> None:
        self._node, self._reader = node, reader
        self.size = len(reader)

    def range(self, start: int, length: int) -> bytes:
        """The bytes from `start` on, at most `length`, fewer at the end. Raises Refused."""
        length = min(length, self.size - start)
        if length <= 0:
            return b""
        return bytes(self._node.of_file(lambda: self._reader.read_range(start, length)))

    def chunks(self) -> Iterator[bytes]:
        """All of it in pieces of at most CHUNK bytes. Raises Refused."""
        for start in range(0, self.size, CHUNK):
            yield self.range(start, CHUNK)


class _NoAnswer(Exception):
    """Nothing was answered in time."""


def refusal(error: Exception, user: str, *, of_file: bool = False) -> HdfsRefused:
    """What an exception of hdfs-native's means; it may hold a stack trace of the name node's, which is not repeated."""
    text = str(error)
    kind = match[1].rpartition(".")[2] if (match := _CLASS.search(text)) else ""
    if _wants_kerberos(kind, text):
        return HdfsRefused("the cluster wants Kerberos, and Levee comes as a plain user", everywhere=True, denied=True)
    if kind in ("AccessControlException", "AuthorizationException"):
        return HdfsRefused(f"HDFS refuses this to the user {user}", denied=True)
    if kind in _SAID:
        said, everywhere = _SAID[kind]
        return HdfsRefused(said, everywhere=everywhere)
    if kind:
        return HdfsRefused(f"the name node refuses it ({kind})")
    if "No NameNode hosts" in text:
        return HdfsRefused(
            "it names no port, and no nameservice that Levee’s HADOOP_CONF_DIR describes", everywhere=True
        )
    if of_file or text.startswith(("BlocksNotFound", "DataTransferError", "ChecksumError")):
        return HdfsRefused("no data node gives the file’s bytes")
    if "lookup address" in text:
        return HdfsRefused("the name node’s host has no address", everywhere=True)
    return HdfsRefused("the name node doesn’t answer", everywhere=True)


def _wants_kerberos(kind: str, text: str) -> bool:
    """Told by the name node, or by hdfs-native, whose own words come first: the rest may be a path with any name in it."""
    if kind:
        return kind == "AccessControlException" and "SIMPLE authentication is not enabled" in text
    return text.startswith(("SASL", "NoSASL", "GSSAPI"))


_SAID = {
    "StandbyException": ("the name node is on standby: name the active one, or the nameservice", True),
    "SafeModeException": ("the name node is in safe mode, and takes no changes", False),
    "ParentNotDirectoryException": ("a file lies where a directory should", False),
    "UnresolvedPathException": ("it leads through a link, and Levee follows none", False),
    "InvalidPathException": ("HDFS takes no such name", False),
}
