"""The data of a review: the request, who has decided, and what the viewer may do. A constant number of queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Max, Q, QuerySet
from django.urls import reverse

from console.accounts.authority import GrantScope
from console.accounts.models import Person
from console.accounts.roles import Permission
from jobs.commands.registry import always_reviewed, facts_of, is_editable, not_undone, sample_of, title_of
from jobs.domain.policy import APPROVER
from jobs.domain.states import ENDED, IN_REVIEW, State
from jobs.lifecycle.cancelling import may_cancel
from jobs.models import Decision, Edit, Job, JobEvent
from jobs.policy.approvers import authors_of, doubt_of, has_shaped, weights
from jobs.policy.candidates import Candidates, candidates_for
from jobs.policy.evaluate import approvals, policy_of, required
from jobs.policy.read_tables import read_table, why_not_there
from jobs.targets.undo_window import Undo, undo_to, version_before
from jobs.web.approvals import revisions
from jobs.web.approvals.figures import figures_of, rehearsed_of
from jobs.web.jobs import queries
from jobs.web.jobs.naming import name_by_id
from jobs.web.parts import parts_of


def in_review(job: Job) -> bool:
    """Whether the job's page is its review: people can read and decide it, and it hasn't run."""
    return job.state in IN_REVIEW and is_reviewed(job)


def is_reviewed(job: Job) -> bool:
    """Whether the job has a review at all: by its command, or because a rule requires approvals."""
    asked = int(job.policy.get("required_approvals", 0)) > 0
    return job.command in always_reviewed() or asked or job.state == State.AWAITING_APPROVAL


def reviewed(jobs: QuerySet[Job]) -> QuerySet[Job]:
    """The same of many."""
    asked = Q(policy__required_approvals__gt=0) | Q(state=State.AWAITING_APPROVAL)
    return jobs.filter(Q(command__in=always_reviewed()) | asked)


def seen_key(job: Job) -> str:
    """The key that a polling page compares: it changes with everything that the review shows, except drift."""
    last = JobEvent.objects.filter(job=job).aggregate(last=Max("id"))["last"]
    progress = job.progress or {}
    return f"{job.state}.{last}.{progress.get('stage', '')}.{progress.get('done', '')}"


@dataclass(frozen=True, slots=True)
class DecisionRights:
    """The decisions that one person may make on a request now, and why not the others."""

    may_approve: bool
    may_reject: bool
    why: str
    remedy: str = ""
    command: str = ""


def standing(person: Person, job: Job, decisions: list[Decision], edited: bool) -> DecisionRights:
    """The same rules as `decisions.approve`, shown before you click."""
    why = why_not(person, job, decisions, edited)
    if why:
        return DecisionRights(may_approve=False, may_reject=False, why=why)
    if job.state == State.QUEUED:
        return DecisionRights(
            may_approve=False, may_reject=True, why="It has all its approvals. A rejection still ends it until it runs."
        )
    if job.state != State.AWAITING_APPROVAL:
        text = "Spark is still measuring it." if job.state == State.PREVIEWING else "There is nothing left to decide."
        return DecisionRights(may_approve=False, may_reject=False, why=text)
    if lacks := why_not_there(person, job):
        return DecisionRights(may_approve=False, may_reject=True, why=f"{lacks} A rejection still ends it.")
    doubt = doubt_of(person, job)
    if doubt is not None:
        text = f"Your approval doesn’t count here: {doubt.why} A rejection still ends it."
        return DecisionRights(may_approve=False, may_reject=True, why=text, remedy=doubt.remedy, command=doubt.command)
    return DecisionRights(may_approve=True, may_reject=True, why="")


def why_not(person: Person, job: Job, decisions: list[Decision], edited: bool) -> str:
    """Why this person may not decide the request, whatever its state; empty if they may."""
    if job.requested_by_id == person.pk:
        return "You requested this, so another person decides."
    if edited:
        return "You edited this, so another person decides."
    if has_shaped(person, job):
        return "You shaped the schedule whose run this is, so another person decides."
    if not person.scopes(Permission.JOB_DECIDE).covers_table(job.table.root_id, job.table_id):
        return f"Only an approver of {job.table.name} can decide, and you aren’t one."
    mine = [d for d in decisions if d.person_id == person.pk and d.digest == job.digest and d.voided_at is None]
    if mine:
        return f"You have {'approved' if mine[0].decision == Decision.Kind.APPROVE else 'rejected'} this version of the request."
    return ""


def may_comment(person: Person, job: Job) -> bool:
    place = job.table.root_id, job.table_id
    return any(person.scopes(p).covers_table(*place) for p in (Permission.JOB_REQUEST, Permission.JOB_DECIDE))


def decisions_of(job: Job) -> list[Decision]:
    """Every decision, oldest first, including those that an edit voided."""
    return list(Decision.objects.filter(job=job).select_related("person").order_by("decided_at"))


def review_of(person: Person, job: Job) -> dict[str, Any]:
    """Everything that the review of a request shows, except drift and sample."""
    decisions = decisions_of(job)
    weighed = weights(job, decisions) if job.state in IN_REVIEW else {}
    edited = Edit.objects.filter(job=job, person=person).exists()
    return {
        **request_of(job),
        **_quorum(job),
        **_acts(person, job),
        "preview_text": queries.state_sentence(job),
        "decisions": [{"decision": d, "weight": None if d.voided_at else weighed.get(d.person_id)} for d in decisions],
        "events": revisions.told(job, queries.events_of(job)),
        "reasons": _reasons(job),
        "candidates": _candidates(person, job),
        "standing": standing(person, job, decisions, edited),
    }


def _candidates(person: Person, job: Job) -> Candidates | None:
    """Who can approve it, for its requester, while it lacks approvals; whoever decides reads of their own."""
    needed = required(job) if job.digest and job.state == State.AWAITING_APPROVAL else 0
    if not needed or job.requested_by_id != person.pk:
        return None
    authors = [job.requested_by] if job.schedule is None else authors_of(job.schedule)
    role, other = str(job.policy.get("role", APPROVER)), read_table(job.preview)
    return candidates_for(authors, role, GrantScope(table_id=job.table_id), needed, other)


def _quorum(job: Job) -> dict[str, Any]:
    """How many of the required approvals there are, and the effect of one more."""
    if not job.digest:
        return {"required": None}
    have, need = approvals(job), required(job)
    last = have + 1 >= need
    ordinal = "the only one it needs" if need == 1 else f"number {have + 1} of {need}"
    return {
        "required": need,
        "open_places": range(max(0, need - have)) if job.state == State.AWAITING_APPROVAL else (),
        "progress_text": f"{have} of {need} approvals",
        "next_text": f"Your approval would be {ordinal}.{' The request then runs on its own.' if last else ''}",
    }


def _acts(person: Person, job: Job) -> dict[str, bool]:
    """Other actions that this person may take, except decisions."""
    is_open = job.state in IN_REVIEW
    return {
        "may_comment": may_comment(person, job),
        "may_withdraw": is_open and job.requested_by_id == person.pk,
        "may_edit": is_open and job.requested_by_id == person.pk and is_editable(job),
        "may_cancel": is_open and job.requested_by_id != person.pk and may_cancel(person, job),
        "may_see_rows": _may_see_rows(person, job),
    }


def request_of(job: Job) -> dict[str, Any]:
    """The request itself, as review and job page show it: what, why, how much, and its consequences."""
    preview = job.preview or {}
    undo = _undo_of(job)
    return {
        "job": job,
        "preview": preview,
        "heading": title_of(job),
        "figures": figures_of(job, undo),
        "rehearsed": rehearsed_of(job),
        "undo": undo,
        "is_ended": job.state in ENDED,
        "parts": parts_of(job),
        "drawn": parts_of(job).drawn(job),
        "table_url": reverse("tables:overview", args=[job.table_id]),
        "undoes": name_by_id(job.undoes_id, job.table_id),
        "facts": facts_of(job),
    }


def _undo_of(job: Job) -> Undo | None:
    """The undo of the job once it has run; None for a command that a restore can’t undo."""
    if not_undone(job):
        return None
    version = version_before(job)
    return None if version is None else undo_to(job.table, version)


def _reasons(job: Job) -> list[str]:
    """The rules that require the approvals: those stored with the request, and the current ones if they require more."""
    stored = list(job.policy.get("reasons", []))
    today = policy_of(job, job.preview or {}) if job.digest and job.state in IN_REVIEW else None
    if today is None or today.required_approvals <= int(job.policy.get("required_approvals", 0)):
        return stored
    return [*stored, *(reason for reason in today.reasons if reason not in stored)]


def _may_see_rows(person: Person, job: Job) -> bool:
    if sample_of(job) is None:
        return False
    return person.scopes(Permission.TABLE_ROWS).covers_table(job.table.root_id, job.table_id)
