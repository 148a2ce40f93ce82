"""Every shape of a Spark, Delta or py4j failure as one value, and as one of Levee's own exceptions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import CapturedException

from jobs.domain.errors import EngineCancelled, EngineFailed, EngineFailure, EngineLost

# Some exceptions (concurrency, streaming) carry their condition in the message only.
CONDITION_IN_TEXT = re.compile(r"\[((?:DELTA_)[A-Z0-9_]+(?:\.[A-Z0-9_]+)?)\]")
SQLSTATE_IN_TEXT = re.compile(r"SQLSTATE: ([0-9A-Z]{5})")
SQLSTATE_AT_END = re.compile(r"\s*SQLSTATE: [0-9A-Z]{5}")
CANCELLED = "SPARK_JOB_CANCELLED"
LOST_CLASSES = ("java.lang.OutOfMemoryError", "java.lang.StackOverflowError", "java.lang.NoClassDefFoundError")
# SQLSTATE class of a lost race between writers: the same command may succeed.
CONFLICT = "2D521"
# What py4j says of the first name it looks up in a JVM that is gone: an answer that never came looks like "no such class".
NO_JVM = "does not exist in the JVM"
MAX_CAUSES = 12
MESSAGE_LIMIT = 8_000


def as_failure(error: BaseException) -> EngineFailure:
    """The failure as a value: condition, SQLSTATE, the engine's words, parameters.

    The outermost Delta condition of all causes wins (a footer error hides three levels deep); without one, the innermost
    condition of Spark does. Raises what talking to a dead JVM raises.
    """
    chain = list(_causes(error))
    best = _most_telling([link for link in chain if link["condition"]])
    if best is None:
        best = next((link for link in reversed(chain) if link["message"]), None)
    return _failure(best, str(error)) if best else _from_text(error)


@contextmanager
def translate() -> Iterator[None]:
    """Turns what Spark, Delta and py4j raise into EngineFailed, EngineLost or EngineCancelled; lets everything else pass."""
    try:
        yield
    except (Py4JNetworkError, ConnectionError) as error:
        raise _lost(error) from error
    except (PySparkException, Py4JError) as error:
        raise _translated(error) from error


def _translated(error: PySparkException | Py4JError) -> EngineFailed | EngineCancelled:
    try:
        chain = list(_causes(error))
        failure = as_failure(error)
    except (Py4JError, ConnectionError) as gone:
        # The JVM died while it was asked what had happened.
        return _lost(gone)
    if any(link["condition"] == CANCELLED or CANCELLED in (link["message"] or "") for link in chain):
        return EngineCancelled(failure.message)
    if any(link["java_class"] in LOST_CLASSES for link in chain) or _gateway_gone(error):
        return EngineLost(failure)
    return EngineFailed(failure)


def _gateway_gone(error: BaseException) -> bool:
    """A Py4JError without a Java exception whose cause is a broken connection, or that finds no class any more."""
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


def _causes(error: BaseException) -> Iterator[Link]:
    """The exception as Python knows it, then its Java causes from the outside in."""
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
        "condition": error.getCondition(),
        "sqlstate": error.getSqlState(),
        "parameters": error.getMessageParameters() or {},
        "message": (error._desc if captured else None) or str(error),
        "java_class": None,
    }


def _link_of_java(throwable: Any) -> Link:
    """A Java exception; plain ones know neither condition nor SQLSTATE."""
    name = throwable.getClass().getName()
    link: Link = {
        "condition": None,
        "sqlstate": None,
        "parameters": {},
        "message": throwable.getMessage(),
        "java_class": name,
    }
    if _is_spark_throwable(throwable):
        link["condition"] = throwable.getCondition()
        link["sqlstate"] = throwable.getSqlState()
        link["parameters"] = dict(throwable.getMessageParameters() or {})
    return link


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
        found = CONDITION_IN_TEXT.search(message) or CONDITION_IN_TEXT.search(whole)
        condition = found[1] if found else None
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
    """The engine's words without condition, SQLSTATE and stack trace (they have places of their own), bounded."""
    text = message.split("\nJVM stacktrace:")[0].split("\n\tat ")[0].strip()
    text = SQLSTATE_AT_END.sub("", text.removeprefix(f"[{condition}] "))
    return text if len(text) <= MESSAGE_LIMIT else text[:MESSAGE_LIMIT] + " …"
