"""The interface between worker and engine: the calls of the worker, and the engine's reports while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from jobs.domain.commands import Command
from jobs.domain.measures import Measure
from jobs.domain.results import Result


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks that tie a commit to its request: stamped into the commit and used as Spark's job group and tag.

    `tag` is unique per run (`levee-<job>-<attempt>`); `txn_app_id` is `levee:<job>`. `token` is the claim's fencing token, larger than that
    of each earlier claim: what a run leaves in storage beside its commit carries it.
    """

    job: str
    attempt: int
    digest: str | None
    token: int = 0

    @property
    def tag(self) -> str:
        return f"levee-{self.job}-{self.attempt}"

    @property
    def txn_app_id(self) -> str:
        return f"levee:{self.job}"


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of the drift check just before a run: the table's current version (None: it isn't a table yet).

    `strict`: the commit must follow that very version, so Delta may not try it again on a later one
    (`spark.databricks.delta.maxCommitAttempts=0`).
    """

    version: int | None
    strict: bool = False


UNCHECKED = Checked(None)


class Report(Protocol):
    """How the engine reports while it runs. Every method returns at once."""

    def stage(self, name: str) -> None:
        """A stage begins: "listing files", "reading footers", "writing files", "committing"."""

    def log(self, text: str) -> None:
        """One line for the job's log."""

    def point(self, name: str) -> None:
        """The run has reached a named point (the tests' fault points attach here)."""


class Engine(Protocol):
    """A warm engine. Its methods raise only EngineFailed, EngineLost, EngineCancelled or CommandRefused."""

    def preview(self, command: Command, version: int | None, marks: Marks, report: Report) -> Measure:
        """Spark's preview of the command at a version of its table; None if there is no table yet."""
        ...

    def run(
        self, command: Command, preview: Mapping[str, Any], checked: Checked, marks: Marks, report: Report
    ) -> Result:
        """Runs the command. `preview` is the job's, as it is stored."""
        ...

    def rehearse(
        self, command: Command, preview: Mapping[str, Any], version: int, marks: Marks, report: Report
    ) -> dict[str, Any]:
        """Runs the command for real on a private clone of its table at a version, and removes it: the preview's `rehearsal`."""
        ...

    def read(self, kind: str, question: dict[str, Any], marks: Marks, report: Report) -> dict[str, Any]:
        """Answers a read of a kind: `inspect`, `deltatable`, `rows`, `changes`, `matched`, `passed_over`,
        `constraints` or `stream_source`.

        `question` always names the `path`; `rows`, `matched`, `passed_over` and `constraints` also a `version`, `changes` the versions from
        and to.
        """
        ...

    def cancel(self, tag: str) -> None:
        """Asks Spark to cancel this tag's work; not sticky, so callers repeat it until the run has ended."""

    def progress(self, tag: str) -> tuple[int, int] | None:
        """Tasks done and total of the tag's active Spark stages; None when none is active."""

    def answers(self) -> None:
        """Returns once the engine has answered a question that costs nothing; one that hangs doesn't let it return."""

    def busy(self, tag: str) -> bool:
        """Whether tasks of this tag hold slots, even of cancelled or failed work: a task can ignore the cancel."""

    def has_executors(self) -> bool:
        """False when no executor could take a task now."""
