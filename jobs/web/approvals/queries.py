"""Requests that wait for approval, by the people they wait for; a constant number of queries for any number of requests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from django.db.models import (
    Case,
    Exists,
    F,
    Func,
    IntegerField,
    Model,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    When,
)
from django.db.models.lookups import IsNull

from console.accounts.appointments import Doubts
from console.accounts.authority import GrantScope
from console.accounts.models import Person, Scopes
from console.accounts.roles import Permission, Role
from jobs.commands.registry import title_of
from jobs.domain.policy import APPROVER, Rule, decide
from jobs.domain.states import OPEN, State
from jobs.models import Decision, Edit, Job
from jobs.policy.candidates import uncounted_among, uncounted_for
from jobs.policy.evaluate import case_of, rules_by_command
from jobs.policy.read_tables import decidable_by, why_not_there
from jobs.targets.access import visible_to
from jobs.web.approvals.figures import weight_of
from jobs.web.approvals.review_queries import reviewed, why_not
from jobs.web.jobs import queries

M = TypeVar("M", bound=Model)
MOST = 50
OLDEST, NEWEST = "oldest", "newest"
# What a card shows, beside what lists of jobs do.
CARD = (*queries.LISTED, "reason", "expires_at", "digest", "policy", "preview", "schedule", "table__root_id")
SHOWN = {"waiting": "Waiting for me", "mine": "Requested by me", "decided": "Decided by me"}


def waiting_for(person: Person) -> QuerySet[Job]:
    """The requests that this person may decide now, oldest first."""
    edited = Edit.objects.filter(job=OuterRef("pk"), person=person)
    theirs = _on(person.scopes(Permission.JOB_DECIDE)), ~Q(requested_by=person)
    waiting = _waiting().filter(*theirs, decidable_by(person), ~Exists(edited), ~Exists(_decided_by(person)))
    requesters = Person.objects.filter(pk__in=_waiting().order_by().values("requested_by"))
    return waiting.exclude(requested_by__in=uncounted_among(person, requesters)).order_by("requested_at", "id")


def count_waiting(person: Person, listed: int | None = None) -> int:
    """How many requests wait for this person, where `waiting_cards` lists so many if it was asked.

    No query where those are all, and for a person who can't decide any.
    """
    if not person.may(Permission.JOB_DECIDE):
        return 0
    return listed if listed is not None and listed < queries.ON_HOME else waiting_for(person).order_by().count()


def waiting_cards(person: Person) -> list[dict[str, Any]]:
    """The first ones as the home page lists them; no query for a person who can't decide any."""
    return _cards(_loaded(waiting_for(person))[: queries.ON_HOME]) if person.may(Permission.JOB_DECIDE) else []


def page_of(person: Person, shown: str, most: int = MOST, order: str = "") -> dict[str, Any]:
    """One tab of the page of approvals, at most so many requests of each kind.

    `order` is `newest` or `oldest`; without, what waits for the person is listed oldest first, all else newest first. Which of more rows
    are listed is the same in any order: those that wait longest for the person, and the newest of all else.
    """
    chosen = shown if shown in SHOWN else "waiting"
    tab = {"waiting": _waiting_tab, "mine": _mine_tab, "decided": _decided_tab}[chosen](person, most, order)
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


def _waiting_tab(person: Person, most: int, order: str) -> dict[str, Any]:
    mine = _first_in(_loaded(waiting_for(person)), "requested_at", OLDEST, most, order)
    visible = _first_in(_loaded(visible_to(person) & _waiting()), "requested_at", NEWEST, most, order)
    cards = _cards([*mine, *(job for job in visible if job not in mine)])
    others = _others(person, cards[len(mine) :])
    return {"waiting": cards[: len(mine)], "others": others, "uncounted": uncounted_for(person)}


def _others(person: Person, cards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The requests that wait for other people, and why not for this person."""
    ids = [card["job"].pk for card in cards]
    edited = set(Edit.objects.filter(job__in=ids, person=person).values_list("job_id", flat=True))
    decisions = list(Decision.objects.filter(job__in=ids, person=person))
    undecidable, doubts = [], Doubts(person)
    for card in cards:
        job = card["job"]
        own = [decision for decision in decisions if decision.job_id == job.pk]
        if why := why_not(person, job, own, job.pk in edited) or _not_there(person, job) or _doubted(doubts, job):
            undecidable.append(card | {"why": why})
    return undecidable


def _not_there(person: Person, job: Job) -> str:
    why = why_not_there(person, job)
    return f"{why} You can still reject it." if why else ""


def _doubted(doubts: Doubts, job: Job) -> str:
    role = Role(job.policy.get("role", APPROVER))
    doubt = doubts.about(job.requested_by, role, GrantScope(table_id=job.table_id), job.table.root_id)
    return f"Your approval wouldn’t count: {doubt.why} You can still reject it." if doubt else ""


def _mine_tab(person: Person, most: int, order: str) -> dict[str, Any]:
    asked = reviewed(Job.objects.filter(requested_by=person))
    return {"mine": _cards(_first_in(_loaded(asked), "requested_at", NEWEST, most, order))}


def _decided_tab(person: Person, most: int, order: str) -> dict[str, Any]:
    decisions = Decision.objects.filter(person=person).select_related("job__table", "job__requested_by")
    rows = [
        {"decision": decision, "title": title_of(decision.job), **_row(decision.job)}
        for decision in _first_in(decisions, "decided_at", NEWEST, most, order)
    ]
    return {"decided": rows}


def _first_in(rows: QuerySet[M], moment: str, own: str, most: int, order: str) -> list[M]:
    """The first rows in the tab's own order by that moment, listed in the chosen one: no order hides what the tab is for."""
    keys = (moment, "id") if own == OLDEST else (f"-{moment}", "-id")
    first = list(rows.order_by(*keys)[:most])
    return first[::-1] if order and order != own else first


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
    """Adds table, requester, and the approvals that count now, by the database's own count.

    That isn't asked where nothing is to be counted: the database plans it anew in each query, which takes longer than all the rest.
    """
    decision = Subquery(Decision.objects.filter(job=OuterRef("pk"), voided_at=None).values("pk")[:1])
    counted = Func(F("pk"), F("digest"), function="jobs_approvals", output_field=IntegerField())
    now = Case(When(Q(IsNull(decision, False)) | Q(schedule__isnull=False), then=counted), default=0)
    return jobs.select_related("table", "requested_by").only(*CARD).annotate(approvals_now=now)


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
        "title": title_of(job),
        "reason": job.reason,
        "expires_at": job.expires_at,
        "approvals": job.approvals_now,  # type: ignore[attr-defined]  # annotated by _loaded
        "required": max(int(job.policy.get("required_approvals", 0)), today) if job.digest else None,
        "weight": weight_of(job),
        "is_strict": preview.get("class") == "whole_table",
    }
