"""Turns every kind of Spark, Delta and py4j failure into one value and one of Levee's own exceptions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import CapturedException

from jobs.domain.errors import EngineCancelled, EngineFailed, EngineFailure, EngineLost
from jobs.domain.storage_causes import cause_of
from tables.storage.trees import Unreachable

# Some exceptions (concurrency, streaming) carry their condition in the message only.
CONDITION_IN_TEXT = re.compile(r"\[((?:DELTA_)[A-Z0-9_]+(?:\.[A-Z0-9_]+)?)\]")
SQLSTATE_IN_TEXT = re.compile(r"SQLSTATE: ([0-9A-Z]{5})")
SQLSTATE_AT_END = re.compile(r"\s*SQLSTATE: [0-9A-Z]{5}")
CAUSED_BY = re.compile(r"^Caused by: (.*)$", re.MULTILINE)
CANCELLED = "SPARK_JOB_CANCELLED"
READING = "FAILED_READ_FILE"
# A class that couldn't be loaded stays so for the JVM's life. A stack that overflowed is the request's doing: the JVM goes on.
LOST_CLASSES = ("java.lang.OutOfMemoryError", "java.lang.NoClassDefFoundError")
# SQLSTATE class of a lost race between writers: the same command may succeed next time.
CONFLICT = "2D521"
# py4j's message for the first name it looks up in a JVM that is gone: to py4j a missing answer looks like "no such class".
NO_JVM = "does not exist in the JVM"
MAX_CAUSES = 12
MESSAGE_LIMIT = 8_000


def as_failure(error: BaseException) -> EngineFailure:
    """The failure as a value: condition, SQLSTATE, the engine's message, parameters.

    The outermost Delta condition of all causes wins (a footer error hides three levels deep); without one, Spark's innermost
    condition does. If storage failed at the root, a plain description of that leads the message.
    Raises py4j's errors if the JVM dies meanwhile.
    """
    chain = list(_causes(error))
    return _led_by_storage(_naming_file(_best_failure(chain, error), chain), chain, str(error))


def _best_failure(chain: list[Link], error: BaseException) -> EngineFailure:
    best = _most_telling([link for link in chain if link["condition"]])
    if best is None:
        best = next((link for link in reversed(chain) if link["message"]), None)
    return _failure(best, str(error)) if best else _from_text(error)


def _naming_file(failure: EngineFailure, chain: list[Link]) -> EngineFailure:
    """The failure with the file that Spark was reading: a parser's own error says what is wrong, and only the one around it where."""
    reading = (link["parameters"].get("path") for link in chain if str(link["condition"]).startswith(READING))
    path = next((path for path in reading if path), None)
    if path is None or path in failure.message:
        return failure
    return replace(failure, message=f"In {path}: {failure.message}")


def _led_by_storage(failure: EngineFailure, chain: list[Link], whole: str) -> EngineFailure:
    """The failure, led by its storage cause. The innermost cause decides; a task's failure may hold its causes as text only."""
    innermost = chain[-1] if chain else {"java_class": None, "message": None}
    reported = CAUSED_BY.findall(whole)
    texts = [f"{innermost['java_class']}: {innermost['message']}", *reported[-1:], *([] if chain else [whole])]
    cause = cause_of(texts)
    if cause is None:
        return failure
    return replace(failure, message=f"{cause.words}. Spark reports: {failure.message}")


@contextmanager
def translate() -> Iterator[None]:
    """Turns exceptions of Spark, Delta, py4j and object stores into EngineFailed, EngineLost or EngineCancelled; lets all others pass."""
    try:
        yield
    except (Py4JNetworkError, ConnectionError) as error:
        raise _lost(error) from error
    except (PySparkException, Py4JError) as error:
        raise _translated(error) from error
    except Unreachable as error:  # which may come after a commit: the table's log decides what became of the attempt
        raise EngineFailed(EngineFailure(None, None, str(error), retryable=True)) from error


def _translated(error: PySparkException | Py4JError) -> EngineFailed | EngineCancelled:
    try:
        chain = list(_causes(error))
        failure = as_failure(error)
    except (Py4JError, ConnectionError) as gone:
        # The JVM died before it could report its failure; or it answered, and what it said can't be told.
        return _lost(gone) if _gateway_gone(gone) else EngineFailed(_from_text(gone))
    if any(link["condition"] == CANCELLED or CANCELLED in (link["message"] or "") for link in chain):
        return EngineCancelled(failure.message)
    if any(link["java_class"] in LOST_CLASSES for link in chain) or _gateway_gone(error):
        return EngineLost(failure)
    return EngineFailed(failure)


def _gateway_gone(error: BaseException) -> bool:
    """Whether a Py4JError without a Java exception comes from a broken connection, or from a JVM that finds no class any more."""
    if str(error).endswith(NO_JVM):
        return True
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, Py4JNetworkError | ConnectionError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _lost(error: BaseException) -> EngineLost:
    text = f"Spark's process is gone or doesn't answer ({type(error).__name__})"
    return EngineLost(EngineFailure(condition=None, sqlstate=None, message=text, retryable=True))


Link = dict[str, Any]
T = TypeVar("T")


def _causes(error: BaseException) -> Iterator[Link]:
    """The Python exception, then its Java causes, outermost first."""
    if isinstance(error, PySparkException):
        yield _link_of_python(error)
    throwable = _throwable(error)
    for _ in range(MAX_CAUSES):
        if throwable is None:
            return
        yield _link_of_java(throwable)
        throwable = throwable.getCause()


def _throwable(error: BaseException) -> Any:
    if isinstance(error, Py4JJavaError):
        return error.java_exception
    return error._origin if isinstance(error, CapturedException) else None


def _link_of_python(error: PySparkException) -> Link:
    captured = isinstance(error, CapturedException)
    return {
        "condition": _said(error.getCondition),
        "sqlstate": _said(error.getSqlState),
        "parameters": _said(error.getMessageParameters) or {},
        "message": (error._desc if captured else None) or str(error),
        "java_class": None,
    }


def _link_of_java(throwable: Any) -> Link:
    """A Java exception as a link; plain ones have neither condition nor SQLSTATE."""
    name = throwable.getClass().getName()
    link: Link = {
        "condition": None,
        "sqlstate": None,
        "parameters": {},
        "message": _said(throwable.getMessage),
        "java_class": name,
    }
    if _is_spark_throwable(throwable):
        link["condition"] = _said(throwable.getCondition)
        link["sqlstate"] = _said(throwable.getSqlState)
        link["parameters"] = _said(lambda: dict(throwable.getMessageParameters() or {})) or {}
    return link


def _said(ask: Callable[[], T]) -> T | None:
    """What an exception says of itself; None where its own code fails, as that of Delta's protocol exceptions does for some parameters.

    An error that came from the JVM is the answer of one that lives. Raises py4j's errors if it's gone.
    """
    try:
        return ask()
    except Py4JError as error:
        if _gateway_gone(error):
            raise
        return None


def _is_spark_throwable(throwable: Any) -> bool:
    known = throwable.getClass()
    while known is not None:
        if any(face.getName() == "org.apache.spark.SparkThrowable" for face in _interfaces(known)):
            return True
        known = known.getSuperclass()
    return False


def _interfaces(known: Any) -> Iterator[Any]:
    for face in known.getInterfaces():
        yield face
        yield from _interfaces(face)


def _most_telling(links: list[Link]) -> Link | None:
    delta = [link for link in links if str(link["condition"]).startswith("DELTA_")]
    if delta:
        return delta[0]
    telling = [link for link in links if link["condition"] not in ("STREAM_FAILED", "INTERNAL_ERROR")]
    return (telling or links or [None])[-1]  # type: ignore[list-item]


def _failure(link: Link, whole: str) -> EngineFailure:
    message = link["message"] or whole
    condition, sqlstate = link["condition"], link["sqlstate"]
    if condition is None:
        match = CONDITION_IN_TEXT.search(message) or CONDITION_IN_TEXT.search(whole)
        condition = match[1] if match else None
    if sqlstate is None:
        state = SQLSTATE_IN_TEXT.search(message) or (SQLSTATE_IN_TEXT.search(whole) if condition else None)
        sqlstate = state[1] if state else None
    return EngineFailure(
        condition=condition,
        sqlstate=sqlstate,
        message=_plain(message, condition),
        parameters={str(key): str(value) for key, value in link["parameters"].items()},
        retryable=_retryable(condition, sqlstate),
        java_class=link["java_class"],
    )


def _from_text(error: BaseException) -> EngineFailure:
    text = str(error)
    return _failure({"condition": None, "sqlstate": None, "parameters": {}, "message": text, "java_class": None}, text)


def _retryable(condition: str | None, sqlstate: str | None) -> bool:
    return sqlstate == CONFLICT or (condition or "").startswith("DELTA_CONCURRENT_")


def _plain(message: str, condition: str | None) -> str:
    """The engine's message, bounded, without condition, SQLSTATE and stack trace, which are separate fields."""
    text = message.split("\nJVM stacktrace:")[0].split("\n\tat ")[0].strip()
    text = SQLSTATE_AT_END.sub("", text.removeprefix(f"[{condition}] "))
    return text if len(text) <= MESSAGE_LIMIT else text[:MESSAGE_LIMIT] + " …"
