"""Changes of roles and rules, shown to all admins and auditors of their scope until one of the others acknowledges them.

One of the others: not the person who did it, not the person it is about, and no one appointed by the same people as who did it.
"""

from __future__ import annotations

import uuid
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.http import Http404

from console.accounts.appointments import Doubts, independent_of
from console.accounts.authority import EVERYTHING, GrantScope
from console.accounts.models import Notice, Person
from console.accounts.roles import Permission, TokenScope
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.models import Event
from console.audit.refusals import refusals_on_record
from console.audit.services import record
from console.base.errors import Problem

SHOWN_TO = (Permission.PEOPLE_MANAGE, Permission.AUDIT_READ)


def tell(actor: Actor, event: Event, text: str, *, about: Person | None = None, scope: GrantScope = EVERYTHING) -> None:
    """Notifies the others of an act. Part of the act's transaction, after its event."""
    Notice.objects.create(
        event=event.pk, text=text, by=actor.person, about=about, root_id=scope.root_id, table_id=scope.table_id
    )


def open_for(person: Person) -> QuerySet[Notice]:
    """Notices that await acknowledgement in the scopes where this person manages people or audits, newest first.

    `independent` says whether the person may be the one, as far as who stands above whom is concerned.
    """
    where = Q(pk__in=())
    for scopes in map(person.scopes, SHOWN_TO):
        if scopes.everything:
            where = Q()
            break
        if scopes:
            places = Q(root__in=scopes.roots) | Q(table__in=scopes.tables) | Q(table__root__in=scopes.roots)
            where |= places | Q(root=None, table=None)
    notices = Notice.objects.filter(where, acknowledged_at=None).select_related("by", "about")
    return notices.annotate(independent=independent_of(person, "by")).order_by("-at", "id")


def rows_for(person: Person, limit: int = 12) -> list[dict[str, Any]]:
    """The newest ones, for the home page; no query for a person who is neither admin nor auditor."""
    if not any(person.may(permission) for permission in SHOWN_TO):
        return []
    notices, doubts = open_for(person).only("at", "text", "event", "by__name", "about")[:limit], Doubts(person)
    return [{"notice": notice, "why_not": why_not(person, notice, doubts)} for notice in notices]


def count_for(person: Person) -> int:
    """How many notices await this person's acknowledgement; no query for a person who is neither admin nor auditor."""
    if not any(person.may(permission) for permission in SHOWN_TO):
        return 0
    others = open_for(person).exclude(by=person).exclude(about=person)
    return others.filter(Q(independent=True) | Q(by=None)).count()


def why_not(person: Person, notice: Notice, doubts: Doubts) -> str:
    """Why another person has to acknowledge it; empty if this person can. `doubts` are the person's."""
    if notice.by_id == person.pk:
        return "You did this, so another admin or auditor has to acknowledge it."
    if notice.about_id == person.pk:
        return "This is about you, so another admin or auditor has to acknowledge it."
    if notice.by is not None and not notice.independent:  # type: ignore[attr-defined]  # annotated by open_for
        return f"{doubts.in_common(notice.by)} So another admin or auditor has to acknowledge it.".strip()
    return ""


def acknowledge(actor: Actor, notice_id: uuid.UUID) -> None:
    """Acknowledges a notice as one of the others; it leaves the home page.

    Raises Http404 if the person can't see it or it is already acknowledged; Problem 403 `forbidden`, `not_independent`, 503.
    """
    person = actor.person
    notice = None if person is None else open_for(person).filter(pk=notice_id).first()
    if person is None or notice is None:
        raise Http404
    with (
        refusals_on_record(actor, Action.NOTICE_ACKNOWLEDGE, ObjectKind.AUDIT, notice.event, ""),
        transaction.atomic(),
    ):
        if actor.token is not None and not actor.token.allows(TokenScope.ADMIN):
            raise Problem(403, "forbidden", "This token lacks the scope admin.")
        why = why_not(person, notice, Doubts(person))
        if why:
            raise Problem(403, "not_independent", f"{why} Nothing was changed.")
        record(actor, Action.NOTICE_ACKNOWLEDGE, ObjectKind.AUDIT, notice.event, "", reason=notice.text)
        Notice.objects.filter(pk=notice.pk, acknowledged_at=None).update(acknowledged_by=person, acknowledged_at=Now())
