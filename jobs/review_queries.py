"""What a review shows: the request, who has decided, and what the viewer may do about it. A constant number of queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Max
from django.urls import reverse

from console.accounts.models import Person
from console.accounts.roles import Permission
from jobs import queries
from jobs.domain.comparison import BRANCHES
from jobs.domain.states import ENDED, State
from jobs.models import Decision, Edit, Job, JobEvent
from jobs.policies import approvals, policy_of, required
from jobs.review_figures import figures_of, heading_of
from jobs.services import may_cancel
from jobs.undoing import Undo, undo_to, version_before

REVIEWED = frozenset({"delete", "restore"})
IN_REVIEW = frozenset({State.PREVIEWING, State.AWAITING_APPROVAL, State.QUEUED})


def in_review(job: Job) -> bool:
    """Whether the job's page is its review: it can be looked at and decided, and hasn't run."""
    return job.command in REVIEWED and job.state in IN_REVIEW


def seen_key(job: Job) -> str:
    """What a polled page compares: it changes with everything that the review shows, drift aside."""
    last = JobEvent.objects.filter(job=job).aggregate(last=Max("id"))["last"]
    progress = job.progress or {}
    return f"{job.state}.{last}.{progress.get('stage', '')}.{progress.get('done', '')}"


@dataclass(frozen=True, slots=True)
class Standing:
    """What one person may decide about a request now, and why not where they may not."""

    may_approve: bool
    may_reject: bool
    why: str


def standing(person: Person, job: Job, decisions: list[Decision], edited: bool) -> Standing:
    """The same rules as `reviews.approve`, said before anything is clicked."""
    why = why_not(person, job, decisions, edited)
    if why:
        return Standing(may_approve=False, may_reject=False, why=why)
    if job.state == State.QUEUED:
        return Standing(
            may_approve=False, may_reject=True, why="It has its approvals. A no still ends it until it runs."
        )
    if job.state != State.AWAITING_APPROVAL:
        text = "It is still being measured." if job.state == State.PREVIEWING else "Nothing is left to decide."
        return Standing(may_approve=False, may_reject=False, why=text)
    return Standing(may_approve=True, may_reject=True, why="")


def why_not(person: Person, job: Job, decisions: list[Decision], edited: bool) -> str:
    """Why the request isn't this person's to decide, whatever its state; empty where it is."""
    if job.requested_by_id == person.pk:
        return "You asked for this, so somebody else decides."
    if edited:
        return "You have edited this, so somebody else decides."
    if not person.scopes(Permission.JOB_DECIDE).covers_table(job.table.root_id, job.table_id):
        return f"Deciding takes an approver of {job.table.name}, and you aren’t one."
    mine = [d for d in decisions if d.person_id == person.pk and d.digest == job.digest and d.voided_at is None]
    if mine:
        return f"You have {'approved' if mine[0].decision == Decision.Kind.APPROVE else 'rejected'} this already."
    return ""


def may_comment(person: Person, job: Job) -> bool:
    place = job.table.root_id, job.table_id
    return any(person.scopes(p).covers_table(*place) for p in (Permission.JOB_REQUEST, Permission.JOB_DECIDE))


def decisions_of(job: Job) -> list[Decision]:
    """Every decision, oldest first, those that an edit has voided too."""
    return list(Decision.objects.filter(job=job).select_related("person").order_by("decided_at"))


def review_of(person: Person, job: Job) -> dict[str, Any]:
    """All that the review of a request shows, drift and sample aside."""
    decisions = decisions_of(job)
    edited = Edit.objects.filter(job=job, person=person).exists()
    return {
        **request_of(job),
        **_quorum(job),
        **_acts(person, job),
        "preview_text": queries.state_sentence(job),
        "decisions": decisions,
        "events": queries.events_of(job),
        "reasons": _reasons(job),
        "standing": standing(person, job, decisions, edited),
    }


def _quorum(job: Job) -> dict[str, Any]:
    """How many approvals there are of how many, and what one more would do."""
    if not job.digest:
        return {"required": None}
    have, need = approvals(job), required(job)
    last = have + 1 >= need
    ordinal = "the only one it needs" if need == 1 else f"number {have + 1} of {need}"
    return {
        "required": need,
        "open_places": range(max(0, need - have)) if job.state == State.AWAITING_APPROVAL else (),
        "progress_text": f"{have} of {need} approvals",
        "next_text": f"Your approval would be {ordinal}.{' It then runs by itself.' if last else ''}",
    }


def _acts(person: Person, job: Job) -> dict[str, bool]:
    """What else this person may do about it, decisions aside."""
    is_open = job.state in IN_REVIEW
    return {
        "may_comment": may_comment(person, job),
        "may_withdraw": is_open and job.requested_by_id == person.pk,
        "may_edit": is_open and job.requested_by_id == person.pk and job.command == "delete",
        "may_cancel": is_open and job.requested_by_id != person.pk and may_cancel(person, job),
        "may_see_rows": _may_see_rows(person, job),
    }


def request_of(job: Job) -> dict[str, Any]:
    """The request itself, as review and job page show it: what, why, how much, what follows."""
    preview = job.preview or {}
    undo = _undo_of(job)
    return {
        "job": job,
        "preview": preview,
        "heading": heading_of(job),
        "figures": figures_of(job, undo),
        "undo": undo,
        "is_ended": job.state in ENDED,
        "predicate": job.parameters.get("predicate"),
        "table_url": reverse("tables:overview", args=[job.table_id]),
        "version_url": _version_url(job),
        "undoes": job.undoes_id,
        "branch_text": BRANCHES.get(preview.get("branch", "")),
    }


def _version_url(job: Job) -> str | None:
    """The commit that a restore goes back to."""
    version = job.parameters.get("version")
    return None if version is None else reverse("tables:commit", args=[job.table_id, version])


def _undo_of(job: Job) -> Undo | None:
    """The way back once it has run."""
    version = version_before(job)
    return None if version is None else undo_to(job.table, version)


def _reasons(job: Job) -> list[str]:
    """Which rules ask for the approvals: those that the request was given, and today's where they ask for more."""
    stored = list(job.policy.get("reasons", []))
    today = policy_of(job, job.preview or {}) if job.digest and job.state in IN_REVIEW else None
    if today is None or today.required_approvals <= int(job.policy.get("required_approvals", 0)):
        return stored
    return [*stored, *(reason for reason in today.reasons if reason not in stored)]


def _may_see_rows(person: Person, job: Job) -> bool:
    return job.command == "delete" and person.scopes(Permission.TABLE_ROWS).covers_table(
        job.table.root_id, job.table_id
    )
