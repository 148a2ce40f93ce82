"""The parts of a command's pages and API, and how shared pages find them: one package for each row of the registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from django import forms
from django.urls import URLPattern, reverse
from rest_framework import serializers

from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.rest import Body, Flag
from jobs.commands.registry import ROWS, Row
from jobs.domain.commands import Command
from jobs.models import Job, Read
from tables.models import Table
from tables.ports import Offer

CLASSES = ["whole_table", "short_retention", "irreversible", "ordinary"]


class ConsequenceSerializer(serializers.Serializer[Any]):
    """A consequence of a change beyond its numbers; `code` is stable."""

    code = serializers.CharField()
    text = serializers.CharField()


class PastSerializer(serializers.Serializer[Any]):
    """How long it takes, by the last runs of the same command on this table: their median per byte, for the bytes of this one."""

    seconds = serializers.FloatField()
    runs = serializers.IntegerField(help_text="Runs that this is taken from.")


class RehearsedCommitSerializer(serializers.Serializer[Any]):
    """A commit that a rehearsal made."""

    operation = serializers.CharField()


class RehearsedDetailsSerializer(serializers.Serializer[Any]):
    """What came of a rehearsed change of the schema, as its comparison has it afterwards."""

    commits = RehearsedCommitSerializer(many=True)
    schema_read = serializers.CharField(required=False, help_text="A digest of the schema.")
    protocol_read = serializers.CharField(required=False, help_text="Versions and features in words.")


class RehearsalSerializer(serializers.Serializer[Any]):
    """What the command did when it ran on a private shallow clone of the table, which is gone."""

    operation_metrics = serializers.DictField(
        child=serializers.CharField(), help_text="As Delta recorded them; empty if it committed nothing."
    )
    rows_after = serializers.IntegerField(help_text="Rows that Spark read there afterwards.")
    seconds = serializers.FloatField(help_text="How long the run took.")
    details = RehearsedDetailsSerializer(required=False, help_text="Of a change of the schema alone.")


def rehearse_flag() -> Flag:
    """The field of a body that asks for a rehearsal."""
    text = "Run it first on a private shallow clone: the preview then holds `rehearsal`."
    return Flag(required=False, default=False, help_text=text)


@dataclass(frozen=True, slots=True)
class Shape:
    """A command over HTTP: the request's body and how its values become the command, its preview, and an edit's body.

    `SHAPE` of the package's `serializers`.
    """

    body: type[Body]
    as_command: Callable[[Mapping[str, Any]], Command]
    preview: type[serializers.Serializer[Any]]
    edit: type[Body] | None = None


def _seen_by_all(actor: Actor, read: Read) -> None: ...


@dataclass(frozen=True, slots=True)
class Answer:
    """A read of the command: how its answer is shown, and the permission on the table that it requires.

    `check` raises Problem or Http404 if the person may no longer see a read without a table.
    """

    shown: Callable[[Read], Any]
    permission: Permission = Permission.TABLE_READ
    check: Callable[[Actor, Read], None] = _seen_by_all


def _no_address(job: Job) -> str:
    return ""


def _nothing(job: Job) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class Parts:
    """What shared pages use from a command: template names (empty: none), forms, addresses. `PARTS` of its `pages`.

    `what` says what was asked for; `edit` holds the form that `edit_form` makes of what was typed and the job; `result` and
    `measured` are of a job's page; `drawn` makes what `what` draws of the job (`review.drawn`, or `outcome.drawn` after it); `ask_again`
    is the page where the same is asked for on the table as it is now, `opposite` where what takes the job's commits back is, if a change
    does; `offer` is how a table's pages offer it (None: they don't).
    """

    what: str = ""
    edit: str = ""
    result: str = "jobs/jobs/_outcome.html"
    measured: str = ""
    edit_form: Callable[[Mapping[str, Any] | None, Job], forms.Form] | None = None
    ask_again: Callable[[Job], str] = _no_address
    opposite: Callable[[Job], str] = _no_address
    drawn: Callable[[Job], Mapping[str, Any]] = _nothing
    answers: Mapping[str, Answer] = field(default_factory=dict)
    offer: Offer | None = None


def on_table(page: str) -> Callable[[Table], str]:
    """The address of a command's page, by its name, for a table."""
    return lambda table: reverse(page, args=[table.pk])


def shapes() -> dict[str, Shape]:
    """Every command's shape, by its kind."""
    return {kind: import_module(f"{row.web}.serializers").SHAPE for kind, row in ROWS.items() if _requested(row)}


def parts_of(job: Job) -> Parts:
    """The parts of the job's command; plain ones for a command that only a later Levee knows."""
    row = ROWS.get(job.command)
    return _parts(row.web) if row else Parts()


def answers() -> dict[str, Answer]:
    """Every command's reads, by their kinds."""
    return {kind: answer for row in ROWS.values() for kind, answer in _parts(row.web).answers.items()}


def offers() -> list[Offer]:
    """How a table's pages offer the commands, in the registry's order."""
    return [offer for row in ROWS.values() if (offer := _parts(row.web).offer)]


def _parts(web: str) -> Parts:
    if not web:
        return Parts()
    parts = import_module(f"{web}.pages").PARTS
    if not isinstance(parts, Parts):
        raise TypeError(f"{web}.pages.PARTS is no Parts")
    return parts


def pages() -> list[URLPattern]:
    """The addresses of every command's own pages."""
    return [path for urls in _urls() for path in urls.urlpatterns]


def api() -> list[URLPattern]:
    """The addresses of every command's own API."""
    return [path for urls in _urls() for path in urls.api_urlpatterns]


def _urls() -> list[Any]:
    return [import_module(f"{row.web}.urls") for row in ROWS.values() if _requested(row)]


def _requested(row: Row) -> bool:
    return bool(row.web) and row.is_requested
