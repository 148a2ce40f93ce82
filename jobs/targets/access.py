"""Which jobs a person may see, and which tables they may request changes on: every query of jobs begins here."""

from __future__ import annotations

import uuid

from django.db.models import Q, QuerySet
from django.http import Http404

from console.accounts.admins import who_gives_roles
from console.accounts.models import Person
from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import refuse
from console.base.errors import Problem
from jobs.lifecycle.cancelling import require_person
from jobs.models import Job
from jobs.targets.places import Place
from tables.catalog import listing
from tables.models import Table


def visible_to(person: Person) -> QuerySet[Job]:
    """The jobs on tables that the person may see."""
    scopes = person.scopes(Permission.TABLE_READ)
    if scopes.everything:
        return Job.objects.all()
    return Job.objects.filter(Q(table__root_id__in=scopes.roots) | Q(table_id__in=scopes.tables))


def job_for(person: Person, job_id: uuid.UUID) -> Job:
    """One job. Raises Http404 if the person may not see it."""
    job = visible_to(person).select_related("table", "requested_by").filter(pk=job_id).first()
    if job is None:
        raise Http404
    return job


def may_request_at(person: Person, place: Place) -> bool:
    """Whether the person may request jobs on the directory: as an operator of its root, or of the table that it is."""
    scopes = person.scopes(Permission.JOB_REQUEST)
    if place.table is None:
        return scopes.covers_root(place.root.pk)
    return scopes.covers_table(place.root.pk, place.table.pk)


def table_to_change(actor: Actor, table_id: uuid.UUID) -> Table:
    """The table, for a person who may request jobs on it. Raises Http404; Problem 403 `forbidden`, which the audit records."""
    person = require_person(actor)
    table = listing.table_for(person, table_id)
    if not person.scopes(Permission.JOB_REQUEST).covers_table(table.root_id, table.pk):
        text = f"You may see this table but not request jobs on it; that takes an operator. {who_gives_roles()}"
        refuse(actor, Action.JOB_REQUEST, ObjectKind.TABLE, table.pk, table.name, Problem(403, "forbidden", text))
    return table
