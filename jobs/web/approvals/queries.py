"""Requests that wait for approval, by the people they wait for; a constant number of queries for any number of requests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import Exists, F, Func, IntegerField, OuterRef, Q, QuerySet

from console.accounts.models import Person, Scopes
from console.accounts.roles import Permission
from jobs.commands.registry import heading_of
from jobs.domain.policy import Rule, decide
from jobs.domain.states import OPEN, State
from jobs.models import Decision, Edit, Job
from jobs.policy.evaluate import case_of, rules_by_command
from jobs.targets.access import visible_to
from jobs.web.approvals.figures import weight_of
from jobs.web.approvals.review_queries import reviewed, why_not
from jobs.web.jobs import queries

MOST = 50
SHOWN = {"waiting": "Waiting for me", "mine": "Requested by me", "decided": "Decided by me"}


def waiting_for(person: Person) -> QuerySet[Job]:
    """The requests that this person may decide now, oldest first."""
    edited = Edit.objects.filter(job=OuterRef("pk"), person=person)
    return (
        _waiting()
        .filter(_on(person.scopes(Permission.JOB_DECIDE)))
        .exclude(requested_by=person)
        .exclude(Exists(edited))
        .exclude(Exists(_decided_by(person)))
        .order_by("requested_at", "id")
    )


def count_waiting(person: Person) -> int:
    """How many requests wait for this person; no query for a person who can't decide any."""
    return waiting_for(person).count() if person.may(Permission.JOB_DECIDE) else 0


def waiting_cards(person: Person, limit: int = 20) -> list[dict[str, Any]]:
    """The same as the home page lists them; no query for a person who can't decide any."""
    return _cards(_loaded(waiting_for(person))[:limit]) if person.may(Permission.JOB_DECIDE) else []


def page_of(person: Person, shown: str, most: int = MOST) -> dict[str, Any]:
    """One tab of the page of approvals, at most so many requests of each kind."""
    chosen = shown if shown in SHOWN else "waiting"
    tab = {"waiting": _waiting_tab, "mine": _mine_tab, "decided": _decided_tab}[chosen](person, most)
    mine = reviewed(Job.objects.filter(requested_by=person, state__in=OPEN)).count()
    counts = {"waiting": count_waiting(person), "mine": mine}
    # `waiting_count`: the navigation shows the same number, and asks no second time.
    shared = {"counts": counts, "waiting_count": counts["waiting"], "most": most}
    return {"shown": chosen, "tabs": _tabs(chosen, counts), **shared, **tab}


def _tabs(chosen: str, counts: dict[str, int]) -> list[dict[str, Any]]:
    return [
        {"text": text, "url": f"?show={name}", "current": name == chosen, "count": counts.get(name)}
        for name, text in SHOWN.items()
    ]


def _waiting_tab(person: Person, most: int) -> dict[str, Any]:
    mine = list(_loaded(waiting_for(person))[:most])
    visible = _loaded(visible_to(person) & _waiting()).order_by("-requested_at")[:most]
    cards = _cards([*mine, *(job for job in visible if job not in mine)])
    return {"waiting": cards[: len(mine)], "others": _others(person, cards[len(mine) :])}


def _others(person: Person, cards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The requests that wait for other people, and why not for this person."""
    ids = [card["job"].pk for card in cards]
    edited = set(Edit.objects.filter(job__in=ids, person=person).values_list("job_id", flat=True))
    decisions = list(Decision.objects.filter(job__in=ids, person=person))
    undecidable = []
    for card in cards:
        job = card["job"]
        own = [decision for decision in decisions if decision.job_id == job.pk]
        if why := why_not(person, job, own, job.pk in edited):
            undecidable.append(card | {"why": why})
    return undecidable


def _mine_tab(person: Person, most: int) -> dict[str, Any]:
    asked = reviewed(Job.objects.filter(requested_by=person))
    return {"mine": _cards(_loaded(asked).order_by("-requested_at")[:most])}


def _decided_tab(person: Person, most: int) -> dict[str, Any]:
    decisions = Decision.objects.filter(person=person).select_related("job__table", "job__requested_by")
    rows = [
        {"decision": decision, "title": heading_of(decision.job), **_row(decision.job)}
        for decision in decisions.order_by("-decided_at")[:most]
    ]
    return {"decided": rows}


def _row(job: Job) -> dict[str, Any]:
    return {name: value for name, value in queries.row(job).items() if name != "title"}


def _waiting() -> QuerySet[Job]:
    return Job.objects.filter(state=State.AWAITING_APPROVAL)


def _decided_by(person: Person) -> QuerySet[Decision]:
    return Decision.objects.filter(job=OuterRef("pk"), person=person, digest=OuterRef("digest"), voided_at=None)


def _on(scopes: Scopes) -> Q:
    if scopes.everything:
        return Q()
    return Q(table__root_id__in=scopes.roots) | Q(table_id__in=scopes.tables)


def _loaded(jobs: QuerySet[Job]) -> QuerySet[Job]:
    """Adds table, requester, and the approvals that count now, by the database's own count."""
    counted = Func(F("pk"), F("digest"), function="jobs_approvals", output_field=IntegerField())
    return jobs.select_related("table", "requested_by").annotate(approvals_now=counted)


def _cards(jobs: Iterable[Job]) -> list[dict[str, Any]]:
    listed = list(jobs)
    rules = rules_by_command({job.command for job in listed}) if listed else {}
    return [_card(job, rules.get(job.command, [])) for job in listed]


def _card(job: Job, rules: list[Rule]) -> dict[str, Any]:
    """A request as a row of the list: what, why, how much, how far."""
    preview = job.preview or {}
    today = decide(rules, case_of(job, preview)).required_approvals
    return {
        **_row(job),
        "job": job,
        "title": heading_of(job),
        "reason": job.reason,
        "expires_at": job.expires_at,
        "approvals": job.approvals_now,  # type: ignore[attr-defined]  # annotated by _loaded
        "required": max(int(job.policy.get("required_approvals", 0)), today) if job.digest else None,
        "weight": weight_of(job),
        "is_strict": preview.get("class") == "whole_table",
    }
