"""What the worker asks of an engine, and what the engine may tell the worker while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from jobs.domain.commands import Command
from jobs.domain.measures import Measure
from jobs.domain.results import Result


@dataclass(frozen=True, slots=True)
class Marks:
    """What ties a commit to its request: stamped into the commit and used as Spark's job group and tag.

    `tag` is unique per run (`levee-<job>-<attempt>`); `txn_app_id` is `levee:<job>`.
    """

    job: str
    attempt: int
    digest: str | None

    @property
    def tag(self) -> str:
        return f"levee-{self.job}-{self.attempt}"

    @property
    def txn_app_id(self) -> str:
        return f"levee:{self.job}"


@dataclass(frozen=True, slots=True)
class Checked:
    """What the drift check found just before a run: the version that the table is at (None: it is no table yet).

    `strict`: the commit must follow that very version, so Delta may not try it again on a later one
    (`spark.databricks.delta.maxCommitAttempts=0`).
    """

    version: int | None
    strict: bool = False


UNCHECKED = Checked(None)


class Report(Protocol):
    """The engine's way to speak while it runs. Every method returns at once."""

    def stage(self, name: str) -> None:
        """A stage begins: "listing files", "reading footers", "writing files", "committing"."""

    def log(self, text: str) -> None:
        """One line for the job's log."""

    def point(self, name: str) -> None:
        """A named point of the run has been reached (fault points of tests hang here)."""


class Engine(Protocol):
    """A warm engine. All methods raise EngineFailed, EngineLost, EngineCancelled or CommandRefused and nothing else."""

    def preview(self, command: Command, version: int | None, marks: Marks, report: Report) -> Measure:
        """What Spark finds that the command would do at a version of its table; None where there is no table yet."""
        ...

    def run(
        self, command: Command, preview: Mapping[str, Any], checked: Checked, marks: Marks, report: Report
    ) -> Result:
        """Runs the command. `preview` is the job's, as it is stored."""
        ...

    def read(self, kind: str, question: dict[str, Any], marks: Marks, report: Report) -> dict[str, Any]:
        """Answers a read: kind `inspect` {path} or `deltatable` {path, name, …}."""
        ...

    def cancel(self, tag: str) -> None:
        """Asks Spark to stop what runs under this tag; not sticky, so callers repeat it until the run has ended."""

    def progress(self, tag: str) -> tuple[int, int] | None:
        """Tasks done and total of the tag's active Spark stages; None when none is active."""

    def has_executors(self) -> bool:
        """False when no executor could take a task now."""
