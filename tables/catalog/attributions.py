"""Commits without an approved job, or unlike what it predicted: which await acknowledgement, and acknowledging them."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Count, QuerySet
from django.db.models.functions import Now
from django.http import Http404

from console.accounts.models import Person
from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem
from tables.catalog.listing import visible_to
from tables.catalog.rights import person_of, require_on
from tables.history.destructive_effects import words_of
from tables.history.version_links import commit_url
from tables.models import Commit, Explanation, Table

REASON_LENGTH = 2000
ON_HOME = 8
SHOWN = ("incarnation", "version", "effects", "verdict", "why", "found_at", "table__name", "table__incarnation")


def open_ones(person: Person) -> QuerySet[Explanation]:
    """Such commits that await acknowledgement, on tables that the person sees, newest first."""
    explanations = Explanation.objects.filter(verdict__in=Explanation.UNEXPLAINED, acknowledged_at=None)
    return explanations.filter(table__in=visible_to(person)).select_related("table")


def count_of(person: Person, listed: int | None = None) -> int:
    """How many are open, where `open_lately` lists so many if it was asked: no query where those are all."""
    return listed if listed is not None and listed < ON_HOME else open_ones(person).count()


def open_lately(person: Person) -> list[dict[str, Any]]:
    """The newest open ones, each with its commit, for the home page; ON_HOME of them at most."""
    explanations = list(open_ones(person).only(*SHOWN)[:ON_HOME])
    if not explanations:
        return []
    commits = {
        (c.table_id, c.incarnation, c.version): c
        for c in Commit.objects.only("table_id", "incarnation", "version", "engine_info", "user_name").filter(
            table__in={e.table_id for e in explanations}, version__in={e.version for e in explanations}
        )
    }
    rows = [(e, commits.get((e.table_id, e.incarnation, e.version))) for e in explanations]
    return [
        {
            "explanation": e,
            "commit": commit,
            "effects": words_of(e.effects),
            "url": commit_url(e.table, e.version, e.incarnation),
        }
        for e, commit in rows
    ]


def count_open(table: Table) -> dict[int, int]:
    """How many commits await acknowledgement, by incarnation, newest first; incarnations without any are left out."""
    explanations = Explanation.objects.filter(table=table, verdict__in=Explanation.UNEXPLAINED, acknowledged_at=None)
    return dict(
        explanations.order_by("-incarnation")
        .values("incarnation")
        .annotate(count=Count("pk"))
        .values_list("incarnation", "count")
    )


def acknowledge(actor: Actor, table: Table, version: int, reason: str, incarnation: int | None = None) -> Explanation:
    """Acknowledges such a commit of the current table or of an earlier one.

    Raises Problem: 400 `invalid` (no reason), 403 `forbidden`, 409 `wrong_state`; Http404 for a version without an open question.
    """
    require_on(actor, table, Permission.TABLE_ADD)
    reason = _checked(reason)
    with transaction.atomic():
        rows = Explanation.objects.select_for_update(of=("self",))
        incarnation = table.incarnation if incarnation is None else incarnation
        explanation = rows.filter(table=table, incarnation=incarnation, version=version).first()
        if explanation is None:
            raise Http404
        if not explanation.is_open:
            raise Problem(
                409, "wrong_state", f"Version {version:,} doesn’t await acknowledgement. Nothing was changed."
            )
        record(
            actor, Action.COMMIT_ACKNOWLEDGE, ObjectKind.TABLE, table.pk, table.name,
            reason=reason, table_version=version,
            before={"verdict": explanation.verdict, "why": explanation.why, "incarnation": explanation.incarnation},
        )  # fmt: skip
        changes = {"acknowledged_at": Now(), "acknowledged_by": person_of(actor), "reason": reason}
        Explanation.objects.filter(pk=explanation.pk).update(**changes)
    return Explanation.objects.select_related("acknowledged_by").get(pk=explanation.pk)


def _checked(reason: str) -> str:
    text = (
        "Enter what you found out."
        if not reason.strip()
        else f"A reason can have at most {REASON_LENGTH:,} characters."
    )
    if not reason.strip() or len(reason) > REASON_LENGTH:
        raise Problem(400, "invalid", text, fields={"reason": text})
    return reason.strip()


def explanation_json(explanation: Explanation | None) -> dict[str, Any] | None:
    """An attribution as the API returns it; null for a commit that needs none."""
    if explanation is None:
        return None
    return {
        "verdict": explanation.verdict,
        "effects": explanation.effects,
        "why": explanation.why or None,
        "acknowledged_at": explanation.acknowledged_at,
        "acknowledged_by": explanation.acknowledged_by.name if explanation.acknowledged_by else None,
        "reason": explanation.reason or None,
    }
