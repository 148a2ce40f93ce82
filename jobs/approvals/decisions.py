"""Acts on a request before it runs: approve, reject, comment, edit; and the undo of a job that ran.

Each act checks, does and records in one place. The database refuses the forbidden ones as well (migrations 0004 and 0007).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from console.accounts.roles import Permission, TokenScope
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record, refuse
from console.base.errors import Problem, broken
from jobs.commands.base import Edited
from jobs.commands.registry import back_to, edited, not_undone, queue_of
from jobs.domain.commands import command_to_json
from jobs.domain.digest import sha256_of
from jobs.domain.states import WAITS, Cause, State
from jobs.lifecycle import wakeups
from jobs.lifecycle.cancelling import require_person
from jobs.lifecycle.transitions import Fenced, move, note
from jobs.models import Attempt, Decision, Edit, Job, Worker
from jobs.policy import protection
from jobs.policy.approvers import doubt_of, has_shaped
from jobs.policy.evaluate import approvals, required
from jobs.policy.read_tables import why_not_there
from jobs.requests.asking import Requested, check_reason, request
from jobs.targets.lineage import undoing
from tables.sync import log_access

COMMENT_LENGTH = 4000
DECIDABLE = frozenset({State.AWAITING_APPROVAL})

MAY_HAVE_COMMITTED = (
    "A worker of this job was lost on another host and may have committed what was approved. Withdraw the job, and request the change"
    " anew."
)


def approve(actor: Actor, job: Job, digest: str, comment: str = "") -> None:
    """Approves exactly this digest as one person. The approval that completes the quorum queues the job.

    Raises Problem: 403 `forbidden`, `not_your_own`, `not_independent`, `tokens_refused`; 409 `stale`, `already_decided`,
    `wrong_state`, `protected`; 503.
    """
    _check_comment(comment)
    _check_may_decide(actor, job, Action.JOB_APPROVE)
    with _deciding(actor, job, Action.JOB_APPROVE), transaction.atomic():
        locked = _locked(job)
        _check_digest(locked, digest, DECIDABLE)
        _check_token(actor, locked)
        _check_other_table(actor, locked)
        _check_independent(actor, locked)
        _check_unprotected(locked)
        _record(actor, Action.JOB_APPROVE, locked, comment)
        _decide(actor, locked, Decision.Kind.APPROVE, comment)
        if approvals(locked) >= required(locked):
            _queue(actor, locked)


def _check_unprotected(job: Job) -> None:
    found = protection.of_job(job)
    if found is not None:
        raise protection.problem_of(found, "Nothing was approved.")


def _queue(actor: Actor, job: Job) -> None:
    text = f"Approved by {actor.name}; it has all its approvals and waits for a worker."
    move(job, State.QUEUED, Cause.APPROVER, actor.name, text=text, queued_at=Now())
    wakeups.wake_after_commit(queue_of(job.command))


def reject(actor: Actor, job: Job, digest: str, comment: str = "") -> None:
    """Rejects the request: one rejection ends it, even when it is already queued. Raises Problem as `approve` does."""
    _check_comment(comment)
    _check_may_decide(actor, job, Action.JOB_REJECT)
    with _deciding(actor, job, Action.JOB_REJECT), transaction.atomic():
        locked = _locked(job)
        _check_digest(locked, digest, WAITS)
        _record(actor, Action.JOB_REJECT, locked, comment)
        _decide(actor, locked, Decision.Kind.REJECT, comment)
        text = f"Rejected by {actor.name}{f': {comment}' if comment else '.'}"
        move(locked, State.REJECTED, Cause.APPROVER, actor.name, text=text)


def comment(actor: Actor, job: Job, text: str) -> None:
    """Comments on a request, as a person who may request or decide jobs on its table. Raises Problem 400, 403 `forbidden`, 503."""
    if not text.strip():
        raise Problem(400, "invalid", "A comment needs some text.", fields={"comment": "Enter a comment."})
    _check_comment(text)
    person = require_person(actor)
    place = job.table.root_id, job.table_id
    if not any(person.scopes(p).covers_table(*place) for p in (Permission.JOB_REQUEST, Permission.JOB_DECIDE)):
        problem = Problem(403, "forbidden", "Only people who can request or decide jobs on this table can comment.")
        refuse(actor, Action.JOB_COMMENT, ObjectKind.JOB, job.pk, str(job), problem)
    with transaction.atomic():
        record(actor, Action.JOB_COMMENT, ObjectKind.JOB, job.pk, str(job), reason=text, job=job.pk, digest=job.digest)
        note(job, actor.name, "comment", text)


def edit(actor: Actor, job: Job, change: Mapping[str, Any], reason: str) -> None:
    """Changes the actor's own request before it runs: the same transaction voids its approvals and starts a new preview.

    `change` holds the new values, by the names that the command lets a requester change.

    Raises Problem: 400 (reason, `predicate_refused`, nothing changed), 403 `forbidden`, 409 `wrong_state`, `already_open`, 422, 503.
    """
    check_reason(reason)
    if job.requested_by_id != require_person(actor).pk:
        problem = Problem(403, "forbidden", "Only the requester can edit a request.")
        refuse(actor, Action.JOB_EDIT, ObjectKind.JOB, job.pk, str(job), problem)
    if Attempt.may_have_committed(job):
        raise Problem(409, "wrong_state", MAY_HAVE_COMMITTED)
    wanted = edited(job, change)
    try:
        with transaction.atomic():
            _rewrite(actor, _locked(job), wanted, reason)
    except Fenced:
        raise _wrong_state(job) from None
    except IntegrityError as error:
        if broken(error) != "job_already_open":
            raise
        raise Problem(409, "already_open", "The same request is already open; this one wasn’t changed.") from None


def _rewrite(actor: Actor, job: Job, edited: Edited, reason: str) -> None:
    before = {**edited.before, "reason": job.reason, "digest": job.digest}
    after = {**edited.after, "reason": reason}
    if edited.before == edited.after and job.reason == reason:
        named = ", ".join(edited.after).capitalize()
        raise Problem(400, "invalid", f"{named} and reason are the same as before: nothing was changed.")
    record(
        actor, Action.JOB_EDIT, ObjectKind.JOB, job.pk, str(job),
        reason=reason, before=before, after=after, job=job.pk, digest=job.digest,
    )  # fmt: skip
    left = {**before, "preview": job.preview}  # a review shows the figures of both revisions
    Edit.objects.create(job=job, person=require_person(actor), revision=job.revision, before=left, after=after)
    job.decisions.filter(voided_at=None).update(voided_at=Now())
    parameters = command_to_json(edited.command)
    move(
        job, State.PREVIEWING, Cause.REQUESTER, actor.name,
        text="Edited: earlier approvals are void, and Levee previews it again.",
        parameters=parameters, parameters_sha256=sha256_of(parameters), reason=reason, revision=job.revision + 1,
        preview=edited.preview, digest=None, base_version=None, drift=None, drift_at=None, queued_at=None, policy={},
    )  # fmt: skip
    wakeups.wake_after_commit(Worker.Kind.INTERACTIVE)


def undo(
    actor: Actor,
    job: Job,
    reason: str,
    accept_commits: Iterable[int] = (),
    idempotency_key: str | None = None,
) -> Requested:
    """Requests the restore that undoes a job's commit: to the version before it, as a new job with its own review.

    It also undoes every later commit, so the caller must name them. Raises Problem: 409 `wrong_state`, `nothing_to_undo`,
    `later_commits` (with `commits`), and what `request` raises.
    """
    check_reason(reason)
    if not job.is_ended:
        raise _wrong_state(job)
    if nothing := _nothing_to_undo(job):
        raise Problem(409, "nothing_to_undo", nothing)
    before = (job.version or 0) - 1
    accepted = sorted(set(accept_commits))
    later = later_commits(job)
    unnamed = [version for version in later if version not in accepted]
    if unnamed:
        named = ", ".join(map(str, unnamed[:20])) + (", …" if len(unnamed) > 20 else "")
        detail = (
            f"Going back to before version {job.version:,} undoes later commits as well: {named}. Nothing was requested;"
            " name them in accept_commits to undo them too."
        )
        raise Problem(409, "later_commits", detail, commits=unnamed)
    return request(actor, back_to(job, before, later), reason, idempotency_key)


def later_commits(job: Job) -> list[int]:
    """The versions after the job's own in its table's log, read now."""
    head = log_access.head_version(job.location)
    return [] if head is None or job.version is None else list(range(job.version + 1, head + 1))


def _nothing_to_undo(job: Job) -> str:
    """Why there is nothing to undo; empty if there is something."""
    if job.version is None:
        return not_undone(job) or "This job committed nothing, so there is nothing to undo."
    done = undoing(job)
    return not_undone(job) or (f"{done.words} There is nothing left to undo." if done else "")


def _locked(job: Job) -> Job:
    return Job.objects.select_for_update(of=("self",)).select_related("table", "requested_by").get(pk=job.pk)


def _check_comment(text: str) -> None:
    if len(text) > COMMENT_LENGTH:
        detail = f"A comment can have at most {COMMENT_LENGTH:,} characters."
        raise Problem(400, "invalid", detail, fields={"comment": detail})


def _check_may_decide(actor: Actor, job: Job, action: Action) -> None:
    """Requires another person's request, and the role on the job's table. There is no bypass."""
    person = require_person(actor)
    own = job.requested_by_id == person.pk or job.edits.filter(person=person).exists() or has_shaped(person, job)
    if own:
        problem = Problem(403, "not_your_own", "You can’t decide your own request. Nothing was changed.")
    elif actor.token is not None and not actor.token.allows(TokenScope.APPROVE):
        problem = Problem(403, "forbidden", "This token lacks the scope approve.")
    elif not person.scopes(Permission.JOB_DECIDE).covers_table(job.table.root_id, job.table_id):
        problem = Problem(403, "forbidden", "Only an approver of this table can decide its jobs.")
    else:
        return
    refuse(actor, action, ObjectKind.JOB, job.pk, str(job), problem)


def _check_digest(job: Job, digest: str, states: frozenset[State]) -> None:
    if job.digest != digest:
        detail = "The request is no longer the one that you looked at. Nothing was decided; review it as it is now."
        raise Problem(409, "stale", detail, digest=job.digest)
    if State(job.state) not in states:
        raise _wrong_state(job)


def _check_token(actor: Actor, job: Job) -> None:
    if actor.token is not None and job.policy.get("refuses_tokens"):
        raise Problem(
            403, "tokens_refused", "A rule requires approval in the browser; a token’s approval doesn’t count."
        )


def _check_other_table(actor: Actor, job: Job) -> None:
    """Refuses the approval of somebody who is no approver of the table that the job takes rows from; they may reject it."""
    why = why_not_there(require_person(actor), job)
    if why:
        raise Problem(403, "forbidden", f"{why} Nothing was decided.")


def _check_independent(actor: Actor, job: Job) -> None:
    """Refuses an approval that wouldn't count; a rejection always counts."""
    doubt = doubt_of(require_person(actor), job)
    if doubt is not None:
        detail = f"Your approval doesn’t count here: {doubt.why} Nothing was decided. {doubt.remedy} {doubt.command}"
        raise Problem(403, "not_independent", detail)


def _wrong_state(job: Job) -> Problem:
    job.refresh_from_db(fields=["state"])
    words = job.state.replace("_", " ")
    return Problem(
        409, "wrong_state", f"The job is {words} now, so you can’t do this. Nothing was changed.", state=job.state
    )


def _record(actor: Actor, action: Action, job: Job, comment: str) -> None:
    record(actor, action, ObjectKind.JOB, job.pk, str(job), reason=comment, job=job.pk, digest=job.digest)


def _decide(actor: Actor, job: Job, decision: Decision.Kind, comment: str) -> None:
    Decision.objects.create(
        job=job,
        person=require_person(actor),
        decision=decision,
        digest=job.digest or "",
        comment=comment,
        token=actor.token,
    )
    if decision is Decision.Kind.APPROVE:
        note(job, actor.name, "approved", f"Approved by {actor.name}{f': {comment}' if comment else '.'}")


_REFUSED: dict[str, tuple[int, str, str]] = {
    "decision_once": (409, "already_decided", "You have already decided this request. Nothing was changed."),
    "decision_not_own": (403, "not_your_own", "You can’t decide your own request. Nothing was changed."),
    "decision_stale": (409, "stale", "The request has changed since you looked at it. Nothing was decided."),
    "decision_state": (409, "wrong_state", "The job no longer takes this decision. Nothing was changed."),
    "job_quorum": (409, "wrong_state", "The request doesn’t have all its approvals. Nothing was changed."),
}


@contextmanager
def _deciding(actor: Actor, job: Job, action: Action) -> Iterator[None]:
    """Around a decision: records what the service or the database refuses, in a separate transaction."""
    try:
        yield
    except IntegrityError as error:
        problem = _named(error)
    except Fenced:
        problem = _wrong_state(job)
    except Problem as refused:
        if refused.status == 503:
            raise
        problem = refused
    else:
        return
    refuse(actor, action, ObjectKind.JOB, job.pk, str(job), problem)


def _named(error: IntegrityError) -> Problem:
    if broken(error) not in _REFUSED:
        raise error
    return Problem(*_REFUSED[broken(error)])
