"""Requests that wait for approval, by whom they wait for; a constant number of queries for any number of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import Exists, F, Func, IntegerField, OuterRef, Q, QuerySet

from console.accounts.models import Person, Scopes
from console.accounts.roles import Permission
from console.templatetags.levee import number, size
from jobs import queries
from jobs.domain.policy import Rule, decide
from jobs.domain.states import OPEN, State
from jobs.models import Decision, Edit, Job
from jobs.policies import case_of, rules_now
from jobs.review_figures import heading_of
from jobs.review_queries import REVIEWED, why_not

MOST = 50
SHOWN = {"waiting": "Waiting for me", "mine": "Asked by me", "decided": "Decided by me"}


def waiting_for(person: Person) -> QuerySet[Job]:
    """The requests that this person may decide about now, oldest first."""
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
    """How many wait for this person; no query for one who decides nowhere."""
    return waiting_for(person).count() if person.may(Permission.JOB_DECIDE) else 0


def waiting_rows(person: Person, limit: int = 20) -> list[dict[str, Any]]:
    """The same as the home page lists them."""
    if not person.may(Permission.JOB_DECIDE):
        return []
    return [queries.row(job) | {"title": heading_of(job)} for job in _loaded(waiting_for(person))[:limit]]


def page_of(person: Person, shown: str) -> dict[str, Any]:
    """One tab of the page of approvals."""
    chosen = shown if shown in SHOWN else "waiting"
    found = {"waiting": _waiting_tab, "mine": _mine_tab, "decided": _decided_tab}[chosen](person)
    mine = Job.objects.filter(requested_by=person, state__in=OPEN, command__in=REVIEWED).count()
    counts = {"waiting": count_waiting(person), "mine": mine}
    return {"shown": chosen, "tabs": _tabs(chosen, counts), "counts": counts, "most": MOST, **found}


def _tabs(chosen: str, counts: dict[str, int]) -> list[dict[str, Any]]:
    return [
        {"text": text, "url": f"?show={name}", "current": name == chosen, "count": counts.get(name)}
        for name, text in SHOWN.items()
    ]


def _waiting_tab(person: Person) -> dict[str, Any]:
    waiting = _cards(_loaded(waiting_for(person))[:MOST])
    mine = {card["job"].pk for card in waiting}
    others = _loaded(queries.visible_to(person) & _waiting()).order_by("-requested_at")[:MOST]
    return {"waiting": waiting, "others": _others(person, [job for job in others if job.pk not in mine])}


def _others(person: Person, jobs: list[Job]) -> list[dict[str, Any]]:
    """Those that wait for somebody else, and why not for this person."""
    ids = [job.pk for job in jobs]
    edited = set(Edit.objects.filter(job__in=ids, person=person).values_list("job_id", flat=True))
    decisions = list(Decision.objects.filter(job__in=ids, person=person))
    found = []
    for card in _cards(jobs):
        job = card["job"]
        own = [decision for decision in decisions if decision.job_id == job.pk]
        if why := why_not(person, job, own, job.pk in edited):
            found.append(card | {"why": why})
    return found


def _mine_tab(person: Person) -> dict[str, Any]:
    asked = Job.objects.filter(requested_by=person, command__in=REVIEWED)
    return {"mine": _cards(_loaded(asked).order_by("-requested_at")[:MOST])}


def _decided_tab(person: Person) -> dict[str, Any]:
    found = Decision.objects.filter(person=person).select_related("job__table", "job__requested_by")
    rows = [
        {"decision": decision, "title": heading_of(decision.job), **_row(decision.job)}
        for decision in found.order_by("-decided_at")[:MOST]
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
    """With table, requester, and the approvals that count now: the database's own count."""
    counted = Func(F("pk"), F("digest"), function="jobs_approvals", output_field=IntegerField())
    return jobs.select_related("table", "requested_by").annotate(approvals_now=counted)


def _cards(jobs: Iterable[Job]) -> list[dict[str, Any]]:
    listed = list(jobs)
    rules = {command: rules_now(command) for command in REVIEWED} if listed else {}
    return [_card(job, rules.get(job.command, [])) for job in listed]


def _card(job: Job, rules: list[Rule]) -> dict[str, Any]:
    """A request as the list has it: what, why, how much, how far."""
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
        "weight": _weight(job.command, preview),
        "is_strict": preview.get("class") == "whole_table",
    }


def _weight(command: str, preview: dict[str, Any]) -> dict[str, Any] | None:
    """The one number that says how heavy it is."""
    if "measured_at_version" not in preview:
        return None
    if command == "restore":
        return {"label": "Undoes", "value": _commits(preview.get("num_commits_undone"))}
    match preview.get("branch"):
        case "rewrite":
            return {"label": "Rewrites", "value": size(preview.get("bytes_to_rewrite"))}
        case "metadata_only":
            return {"label": "Removes", "value": size(preview.get("bytes_matched"))}
    return {"label": "Marks", "value": f"{number(preview.get('files_matched'))} files"}


def _commits(count: int | None) -> str:
    return f"{number(count)} commit{'' if count == 1 else 's'}"
