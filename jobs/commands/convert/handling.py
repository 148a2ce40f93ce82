"""Convert: Spark inspects the directory for the preview, and the run lists it once more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.db.models import F

from console.accounts.admins import who_gives_roles
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import refuse
from console.base.errors import Problem
from jobs.commands.base import Found, Handling, Measured, Prepared
from jobs.commands.convert import cleanup
from jobs.commands.convert.comparison import ROWS
from jobs.commands.convert.rules import Convert, check_convert
from jobs.domain.commands import command_to_json
from jobs.domain.errors import Refusal
from jobs.domain.fences import Fence
from jobs.domain.partitions import CODE
from jobs.domain.results import Inspection, Result
from jobs.lifecycle import endings
from jobs.lifecycle.cancelling import require_person
from jobs.models import Job
from jobs.targets import access, places
from jobs.targets.running_streams import running_at
from jobs.targets.subject import Subject
from tables.models import Commit, Root
from tables.rules.locations import LocationError, resolve

# Fields of a request that a refusal's place may name; a refusal about partitions belongs to their schema.
FIELDS = ("path", "name", "source_format", "partition_schema", "accept")


class ConvertHandling(Handling[Convert]):
    """The preview is the inspection; the result names files added or removed after it."""

    not_undone = "A convert is a table’s first version: there is no earlier one to restore."
    fence = Fence.VERSION

    def check(self, command: Convert) -> None:
        refusals = check_convert(command)
        if refusals:
            raise _problem_of(refusals[0])

    def asked(self, command: Convert) -> Mapping[str, Any]:
        return {"parameters": command_to_json(command)}

    def prepare(self, actor: Actor, command: Convert, seen: Subject | None) -> Prepared:
        """Raises Problem: 400 if the catalog's entry contradicts the request, 403 `outside_roots` or `forbidden`, 404, 409 `in_use`."""
        place = _place_of(actor, command)
        _check_permission(actor, place)
        filled = _by_catalog(command, place)
        self.check(filled)
        _refuse_while_streaming(actor, place)
        return Prepared(filled, place.path, lambda: places.entry(actor, place))

    def preview(self, job: Job, measured: Measured) -> Found:
        inspection = measured(None)
        if not isinstance(inspection, Inspection):
            raise TypeError(f"a convert is previewed by an inspection, not by {type(inspection).__name__}")
        nothing = endings.ALREADY_DELTA if inspection.already_delta else None
        return Found(inspection.as_json(), None, nothing_to_do=nothing, refusals=inspection.refusals)

    def completed(self, job: Job, result: Result) -> Result:
        """With the rows of the table as it was converted, once the catalog has read its commit."""
        if result.version is None or "files_converted" not in result.details or ROWS in result.details:
            return result
        commits = Commit.objects.filter(
            table=job.table_id, version=result.version, incarnation=F("table__incarnation")
        ).values_list("rows_added", flat=True)
        found = list(commits)
        return replace(result, details={**result.details, ROWS: found[0]}) if found else result

    def clean_up(self, job: Job) -> None:
        """Removes a `_delta_log` without a commit."""
        try:
            place = resolve(job.table.path, Root.objects.all())
        except LocationError:
            return
        if place.is_local:
            cleanup.remove_empty_directories(Path(place.path) / cleanup.DELTA_LOG)


def _place_of(actor: Actor, command: Convert) -> places.Place:
    """The directory to convert, named by path or by catalog name."""
    if command.name is not None:
        return places.by_name(actor, command.name)
    return places.by_path(actor, command.path or "", Action.JOB_REQUEST)


def _by_catalog(command: Convert, place: places.Place) -> Convert:
    """A command by name, filled in with the directory, schema and partitions that Levee's catalog declares."""
    if command.name is None or place.table is None:
        return command
    declared = place.table.catalog_entry or {}
    return replace(
        command,
        name=place.table.catalog_name,
        location=place.path,
        declared_schema=declared.get("schema"),
        declared_partitions=declared.get("partition_columns"),
    )


def _check_permission(actor: Actor, place: places.Place) -> None:
    if access.may_request_at(require_person(actor), place):
        return
    text = f"You can view this path, but you need the operator role to request jobs on it. {who_gives_roles()}"
    refuse(actor, Action.JOB_REQUEST, ObjectKind.PATH, place.path, place.path, Problem(403, "forbidden", text))


def _refuse_while_streaming(actor: Actor, place: places.Place) -> None:
    """Raises Problem 409 `in_use` while a running stream reads files of the directory or writes into it; a Delta table is left as it is."""
    text = running_at(require_person(actor), [place.path]).get(place.path)
    if text and not places.is_delta(place.path):
        raise Problem(409, "in_use", f"{text} Nothing was requested.", fields={"path": text})


def _problem_of(refusal: Refusal) -> Problem:
    """A refusal as an API problem, with the request's field that it is about."""
    message = refusal.message if refusal.message.endswith((".", "!", "?")) else f"{refusal.message}."
    detail = f"{message} {refusal.remedy}" if refusal.remedy else message
    engine = refusal.engine.as_json() if refusal.engine else None
    field = refusal.place if refusal.place in FIELDS else "partition_schema" if refusal.code == CODE else None
    code = "invalid" if refusal.code == "bad_request" else refusal.code
    fields = {field: detail} if field else None
    return Problem(400, code, detail, engine=engine, fields=fields, place=refusal.place)
