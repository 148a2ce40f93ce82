"""The catalog's port to the application with jobs and workers, which registers here at start; the catalog knows neither."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from django.db.models import Q

from console.accounts.models import Person
from tables.models import Commit, Root, Table


@dataclass(frozen=True, slots=True)
class Approval:
    """One person's approval of what the job then did."""

    by: str
    at: datetime
    comment: str


@dataclass(frozen=True, slots=True)
class NamedJob:
    """A job that a commit names and that the asker may see. `made_it`: this commit is the one that the job made."""

    id: uuid.UUID
    url: str
    title: str
    asked_by: str
    asked_at: datetime
    reason: str
    approvals: tuple[Approval, ...]
    made_it: bool


@dataclass(frozen=True, slots=True)
class Request:
    """A job that has not ended, in one line."""

    url: str
    title: str
    reason: str
    state: str
    asked_by: str
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class JobRun:
    """What a job did to a table. `began_at` is when it last ran; `version` its commit; `undoes` the job that it undid, with its commit."""

    id: uuid.UUID
    url: str
    title: str
    reason: str
    asked_by: str
    asked_at: datetime
    began_at: datetime | None
    ended_at: datetime | None
    state: str
    version: int | None
    undoes: uuid.UUID | None
    undoes_version: int | None


@dataclass(frozen=True, slots=True)
class StreamLine:
    """A stream of Levee's own, in one line: from where to where, and what it does now. `query_id` is empty before its first round."""

    url: str
    name: str
    source: str
    target: str
    state: str
    query_id: str
    writes: bool  # into the table that was asked about


UNSET = "unset"  # the properties that the finding is about


@dataclass(frozen=True, slots=True)
class Offer:
    """How a table's pages offer what can be requested for it.

    `text` is the link's, `address` its form for a table, `words` are others that find it. It stands in the menu of maintenance, or is a
    button of its own (`is_button`), and once more `beside` what it changes, the name of a tab. `of_plain`: for a plain directory of
    parquet files, else for a Delta table. `changes`: that table, and not only another one. `mends`: the findings of a table's health
    that it mends, each with what its form is filled in with: the condition of the layout by its name, `UNSET`, or "" for nothing;
    `mends_not`: those that one would try it for, and why in vain. `repeats`: a schedule may ask for it, so such a finding offers one.
    """

    kind: str
    text: str
    address: Callable[[Table], str]
    words: str = ""
    is_button: bool = False
    beside: str = ""
    of_plain: bool = False
    changes: bool = True
    mends: Mapping[str, str] = field(default_factory=dict)
    mends_not: Mapping[str, str] = field(default_factory=dict)
    repeats: bool = True


@dataclass(frozen=True, slots=True)
class ProtectionText:
    """A rule that keeps a table from a kind of act, or from all that change it (`kind` None): `text` says so, `url` is the rule's page."""

    text: str
    url: str
    kind: str | None

    def forbids(self, offer: Offer) -> bool:
        return offer.changes if self.kind is None else offer.kind == self.kind


@dataclass(frozen=True, slots=True)
class Uses:
    """What counts on a root: jobs of its tables that haven't ended, streams there that run, approval rules on the root."""

    jobs: int = 0
    streams: int = 0
    rules: int = 0

    def __bool__(self) -> bool:
        return bool(self.jobs or self.streams or self.rules)


@dataclass(frozen=True, slots=True)
class ReaderEngine:
    """An engine by version, and whether it can read and write a table: `writes` is None where its source doesn't say.

    `only_reads` says that it writes no table at all; `why` names what it lacks; `source` is where that stands, looked up in `seen`.
    """

    name: str
    version: str
    reads: bool
    writes: bool | None
    only_reads: bool
    why: str
    source: str
    seen: str


class JobsPort(Protocol):
    """The answers of the application with the jobs; each takes a constant number of queries."""

    def of_commits(self, person: Person, commits: Sequence[Commit]) -> Mapping[int, NamedJob]:
        """By version of one table's commits. A job that the person may not see, or that never was, is left out."""

    def asked_by(self, name: str) -> Q:
        """The condition on commits that a job of the person's made."""

    def open_on(self, person: Person, table: Table) -> Sequence[Request]:
        """Requests and runs of a table that haven't ended, newest first."""

    def acts_on(self, person: Person, table: Table, most: int) -> Sequence[JobRun]:
        """The newest jobs of a table, oldest first."""

    def streams_of(self, person: Person, table: Table) -> Sequence[StreamLine]:
        """The streams that write into the table or read it, by name."""

    def streams_at(self, person: Person, paths: Sequence[str]) -> Mapping[str, str]:
        """As the function of this name."""

    def protected(self, person: Person, paths: Sequence[str]) -> Mapping[str, Sequence[ProtectionText]]:
        """As the function of this name."""

    def streams_named(self, person: Person, text: str) -> Sequence[StreamLine]:
        """The streams whose name, source or target holds the text, by name."""

    def offers(self) -> Sequence[Offer]:
        """As the function of this name. Asks the database nothing."""

    def engines_of(self, protocol: Mapping[str, Any]) -> Sequence[ReaderEngine]:
        """As the function of this name. Asks the database nothing."""

    def under_way(self, table: Table) -> bool:
        """Whether a job of the table has not ended."""

    def uses_of(self, root: Root) -> Uses:
        """What counts on the root."""

    def ask_sync(self, person: Person, table: Table) -> uuid.UUID | None:
        """As the function of this name."""

    def await_sync(self, asked: uuid.UUID, patience: float, seconds: float) -> bool | None:
        """As the function of this name."""


_known: list[JobsPort] = []


def answers(jobs: JobsPort) -> None:
    """Registers the jobs to ask."""
    _known[:] = [jobs]


def is_under_way(table: Table) -> bool:
    """Whether a job of the table has not ended: it may go by the table's name."""
    return _known[0].under_way(table)


def uses_of(root: Root) -> Uses:
    """What counts on the root."""
    return _known[0].uses_of(root)


def jobs_of(person: Person, commits: Sequence[Commit]) -> Mapping[int, NamedJob]:
    """The jobs that commits of one table name, by version, as far as the person may see them."""
    named = [commit for commit in commits if commit.job is not None]
    return _known[0].of_commits(person, named) if named else {}


def engines_of(protocol: Mapping[str, Any] | None) -> Sequence[ReaderEngine]:
    """The well-known readers and writers, with what a protocol, as the catalog stores it, keeps each from; none without a protocol."""
    return _known[0].engines_of(protocol) if protocol else []


def offers() -> Sequence[Offer]:
    """What can be requested for a table, in the order in which it is offered."""
    return _known[0].offers()


def open_on(person: Person, table: Table) -> Sequence[Request]:
    """The requests and runs about a table that have not ended, as far as the person may see them."""
    return _known[0].open_on(person, table)


def acts_on(person: Person, table: Table, most: int) -> Sequence[JobRun]:
    """The newest jobs of a table as far as the person may see them, oldest first; past rounds of streams aside."""
    return _known[0].acts_on(person, table, most)


def streams_of(person: Person, table: Table) -> Sequence[StreamLine]:
    """What flows into the table and out of it by Levee's streams, as far as the person may see them."""
    return _known[0].streams_of(person, table)


def streams_at(person: Person, paths: Sequence[str]) -> Mapping[str, str]:
    """By path, which running stream reads the directory or writes into it, and that it isn't converted meanwhile, as a sentence."""
    return _known[0].streams_at(person, paths) if paths else {}


def protected(person: Person, paths: Sequence[str]) -> Mapping[str, Sequence[ProtectionText]]:
    """By path, the rules that keep jobs of this person's from changing what is there; paths without one are left out."""
    return _known[0].protected(person, paths) if paths else {}


def streams_named(person: Person, text: str) -> Sequence[StreamLine]:
    """The streams that a search finds, as far as the person may see them."""
    return _known[0].streams_named(person, text) if text.strip() else []


def asked_by(name: str) -> Q:
    """Commits that the person of this name requested through a job."""
    return _known[0].asked_by(name)


def ask_sync(person: Person, table: Table) -> uuid.UUID | None:
    """Has the light worker read the table's log, with doubt, once this transaction has ended; None when none is at work."""
    return _known[0].ask_sync(person, table)


def await_sync(asked: uuid.UUID, patience: float, seconds: float) -> bool | None:
    """Waits for it: True once it is done, False while a worker is still at it after so many `seconds`.

    None when none has begun within `patience` seconds: the question is withdrawn, and the asker reads the log. Raises Problem:
    409 `sync_running`, 503 `worker_lost`, 500 `broken`.
    """
    return _known[0].await_sync(asked, patience, seconds)
