"""Storage failures deep inside an engine's errors, in words: the cause, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StorageCause:
    """One kind of storage failure: its pattern, what it means, and what to do."""

    pattern: re.Pattern[str]
    words: str
    remedy: str


def _cause(pattern: str, words: str, remedy: str) -> StorageCause:
    return StorageCause(re.compile(pattern), words, f"{remedy}, then request it again.")


NO_SPACE = _cause(
    r"No space left on device|Disk quota exceeded|There is not enough space",
    "No space is left on the disk that was written to: the table's, or the one of LEVEE_HOME, where Spark keeps what it works with",
    "Free some space there (or raise the quota)",
)
CAUSES = (
    NO_SPACE,
    _cause(
        r"Read-only file system",
        "The disk is mounted read-only",
        "Mount it for writing",
    ),
    _cause(
        r"Permission denied|AccessControlException|AccessDenied(Exception)?\b|Access Denied|Operation not permitted"
        r"|403 Forbidden|does not have storage\.",
        "Levee's user may not read or write a file there",
        "Grant that access to the user that Levee runs as",
    ),
    _cause(
        r"Too many open files",
        "The system lets Levee open no more files",
        "Raise the limit of open files (ulimit -n) and start Levee again",
    ),
    _cause(
        r"SocketTimeoutException|ConnectTimeoutException|Connection timed out|Read timed out|Stale file handle|Input/output error"
        r"|ConnectException: Connection refused|UnknownHostException",
        "The storage didn't answer, or not in time",
        "Check that the storage can be reached",
    ),
)


def cause_of(texts: Iterable[str]) -> StorageCause | None:
    """The first cause that matches one of the texts; None if storage isn't at fault."""
    texts = list(texts)
    return next((cause for cause in CAUSES if any(cause.pattern.search(text) for text in texts)), None)


def cause_led_by(message: str) -> StorageCause | None:
    """The cause whose words begin a failure's message; None if none does."""
    return next((cause for cause in CAUSES if message.startswith(cause.words)), None)
