"""The part of a command that the worker's Django side plays, before and after Spark's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from jobs.domain.engine import UNCHECKED, Checked
from jobs.domain.errors import Refusal
from jobs.domain.measures import Measure
from jobs.models import Job

# Spark's measure of the job's command at a version of its table.
Measured = Callable[[int | None], Measure]


class Verdict(StrEnum):
    """How far a table has moved since the version that a preview measured."""

    UNMOVED = "unmoved"
    SAME_FILES = "same_files"  # newer commits, but the files that may match are the same
    SAME_ROWS = "same_rows"  # other files; the matching rows were counted and hashed again and are the same
    MOVED = "moved"


@dataclass(frozen=True, slots=True)
class Drift:
    """The drift check's answer. `why` is a sentence for a person; `checked` is what the run may rely on."""

    verdict: Verdict
    head_version: int | None
    why: str
    checked: Checked = UNCHECKED

    def as_json(self) -> dict[str, Any]:
        return {"head_version": self.head_version, "verdict": self.verdict.value, "why": self.why}

    @property
    def moved(self) -> bool:
        return self.verdict is Verdict.MOVED


@dataclass(frozen=True, slots=True)
class Found:
    """A finished preview: what is stored, the version it holds for, the sentence where there is nothing to do, and
    the reasons where it must not be done."""

    preview: Mapping[str, Any]
    base_version: int | None
    nothing_to_do: str | None = None
    refusals: tuple[Refusal, ...] = ()


class Handling(Protocol):
    """One command's. Every method may raise CommandRefused, and what the engine raises where it is given `measured`."""

    def preview(self, job: Job, measured: Measured) -> Found:
        """What the command would do, as it is stored and approved."""
        ...

    def unmeasured(self, job: Job, seconds: float) -> Found | None:
        """The preview where Spark couldn't measure within so many seconds; None for a command that has none without its measure."""
        ...

    def drift(self, job: Job, measured: Measured) -> Drift | None:
        """How far the table has moved since the preview; None for a command whose run finds out by itself."""
        ...

    def look(self, job: Job) -> Drift | None:
        """The same from the log alone, for a page: what Spark alone could tell is MOVED here."""
        ...
