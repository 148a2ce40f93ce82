"""Failures as values: an engine's failure, and Levee's own refusal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ANOTHER_TABLE = "The table at this path isn’t the one that was previewed."


@dataclass(frozen=True, slots=True)
class EngineFailure:
    """One failure of Spark, Delta or py4j.

    `condition` is the error condition (`DELTA_…`, `PARSE_SYNTAX_ERROR`), `sqlstate` five characters; both are None where the
    engine gives none. `message` is the engine's own text. `retryable` says that the same command may succeed unchanged.
    """

    condition: str | None
    sqlstate: str | None
    message: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    retryable: bool = False
    java_class: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "condition": self.condition,
            "sqlstate": self.sqlstate,
            "message": self.message,
            "parameters": dict(self.parameters),
            "retryable": self.retryable,
            "java_class": self.java_class,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> EngineFailure:
        return cls(**value)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why Levee refuses something, before any damage.

    `code` is the stable code of the API, `message` says what is wrong, `place` where (a path, a column, a position),
    `remedy` what to do. `engine` carries the condition and words that Delta would use, where it has some.
    """

    code: str
    message: str
    place: str | None = None
    remedy: str | None = None
    engine: EngineFailure | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "message": self.message,
            "place": self.place,
            "remedy": self.remedy,
            "engine": self.engine.as_json() if self.engine else None,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Refusal:
        engine = value.get("engine")
        return cls(
            code=value["code"],
            message=value["message"],
            place=value.get("place"),
            remedy=value.get("remedy"),
            engine=EngineFailure.from_json(engine) if engine else None,
        )


# Where the engine's own advice can't be followed: a condition takes no TRY_CAST, since that would hide rows.
_REMEDIES = {
    "CAST_INVALID_INPUT": "A row holds a text that isn’t of that type. TRY_CAST isn’t supported here: leave such rows out by another part"
    " of the condition, or compare the text as it is.",
}


def remedy_of(condition: str | None) -> str | None:
    """What to do about a condition of the engine whose own advice isn't possible in Levee; None for all others."""
    return _REMEDIES.get(condition or "")


class LeveeError(Exception):
    """Base of the errors that the domain and the engine raise."""


class CommandRefused(LeveeError):
    """The command is refused for the reasons it carries; nothing was changed."""

    def __init__(self, *refusals: Refusal) -> None:
        super().__init__("; ".join(r.message for r in refusals))
        self.refusals = refusals


class DirectorySwapped(LeveeError):
    """Another directory, or a link, replaced the table that the engine was changing: Levee doesn't know where the change went."""


class EngineFailed(LeveeError):
    """The engine failed, as a value. The JVM is still usable."""

    def __init__(self, failure: EngineFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class EngineLost(EngineFailed):
    """The JVM is gone or can no longer be trusted (killed, connection lost, OutOfMemoryError)."""


class EngineCancelled(LeveeError):
    """The run was cancelled before it ended; look up whether it committed."""
