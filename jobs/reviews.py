"""What people do to a request before it runs: approve, reject, comment, edit; and the undo of what ran.

Each act checks, does and records together. What must never be is refused by the database as well (migration 0004).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from console.accounts.roles import Permission, TokenScope
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record, refuse
from console.errors import Problem
from jobs import broker
from jobs.domain.commands import Delete, command_to_json
from jobs.domain.digest import sha256_of
from jobs.domain.states import Cause, State
from jobs.models import Decision, Edit, Job, Worker
from jobs.policies import approvals, required
from jobs.requests import Requested, check_reason, delete_command, request_restore
from jobs.services import require_person
from jobs.transitions import Fenced, move, note
from tables import after_jobs

COMMENT_LENGTH = 4000
DECIDABLE = frozenset({State.AWAITING_APPROVAL})
REJECTABLE = frozenset({State.AWAITING_APPROVAL, State.QUEUED})


def approve(actor: Actor, job: Job, digest: str, comment: str = "") -> None:
    """One person's yes to exactly this digest. With its quorum the job is queued.

    Raises Problem: 403 `forbidden`, `not_your_own`, `tokens_refused`; 409 `stale`, `already_decided`, `wrong_state`; 503.
    """
    _check_comment(comment)
    _check_may_decide(actor, job, Action.JOB_APPROVE)
    with _deciding(actor, job, Action.JOB_APPROVE), transaction.atomic():
        locked = _locked(job)
        _check_digest(locked, digest, DECIDABLE)
        _check_token(actor, locked)
        _record(actor, Action.JOB_APPROVE, locked, comment)
        _decide(actor, locked, Decision.Kind.APPROVE, comment)
        if approvals(locked) >= required(locked):
            _queue(actor, locked)


def _queue(actor: Actor, job: Job) -> None:
    text = f"Approved by {actor.name}; it has its quorum and waits for a worker."
    move(job, State.QUEUED, Cause.APPROVER, actor.name, text=text, queued_at=Now())
    broker.wake_after_commit(Worker.Kind.SPARK)


def reject(actor: Actor, job: Job, digest: str, comment: str = "") -> None:
    """One no ends it, even when it is queued already. Raises Problem as `approve` does."""
    _check_comment(comment)
    _check_may_decide(actor, job, Action.JOB_REJECT)
    with _deciding(actor, job, Action.JOB_REJECT), transaction.atomic():
        locked = _locked(job)
        _check_digest(locked, digest, REJECTABLE)
        _record(actor, Action.JOB_REJECT, locked, comment)
        _decide(actor, locked, Decision.Kind.REJECT, comment)
        text = f"Rejected by {actor.name}{f': {comment}' if comment else '.'}"
        move(locked, State.REJECTED, Cause.APPROVER, actor.name, text=text)


def comment(actor: Actor, job: Job, text: str) -> None:
    """A word on a request, by anybody who asks for or decides about jobs there. Raises Problem 400, 403 `forbidden`, 503."""
    if not text.strip():
        raise Problem(400, "invalid", "A comment has some text.", fields={"comment": "Say something."})
    _check_comment(text)
    person = require_person(actor)
    place = job.table.root_id, job.table_id
    if not any(person.scopes(p).covers_table(*place) for p in (Permission.JOB_REQUEST, Permission.JOB_DECIDE)):
        problem = Problem(403, "forbidden", "Comments are for those who ask for jobs here or decide about them.")
        refuse(actor, Action.JOB_COMMENT, ObjectKind.JOB, job.pk, str(job), problem)
    with transaction.atomic():
        record(actor, Action.JOB_COMMENT, ObjectKind.JOB, job.pk, str(job), reason=text, job=job.pk, digest=job.digest)
        note(job, actor.name, "comment", text)


def edit(actor: Actor, job: Job, predicate: str | None, reason: str) -> None:
    """Changes one's own delete before it runs; its approvals are void in the same transaction, and it is previewed again.

    Raises Problem: 400 (reason, `predicate_refused`, nothing changed), 403 `forbidden`, 409 `wrong_state`, `already_open`, 422, 503.
    """
    check_reason(reason)
    if job.requested_by_id != require_person(actor).pk:
        problem = Problem(403, "forbidden", "Only the person who asked may edit a request.")
        refuse(actor, Action.JOB_EDIT, ObjectKind.JOB, job.pk, str(job), problem)
    if job.command != Delete.kind:
        raise Problem(409, "wrong_state", f"A {job.command} is not edited: withdraw it and ask again.")
    command, preview = delete_command(job.table, predicate)
    try:
        with transaction.atomic():
            _rewrite(actor, _locked(job), command, reason, preview)
    except Fenced:
        raise _wrong_state(job) from None
    except IntegrityError as error:
        if "job_already_open" not in str(error):
            raise
        raise Problem(409, "already_open", "The same request is already open; this one was left as it was.") from None


def _rewrite(actor: Actor, job: Job, command: Delete, reason: str, preview: dict[str, Any]) -> None:
    before = {"predicate": job.parameters.get("predicate"), "reason": job.reason, "digest": job.digest}
    after = {"predicate": command.predicate, "reason": reason}
    if before["predicate"] == after["predicate"] and before["reason"] == reason:
        raise Problem(400, "invalid", "Predicate and reason are what they were: nothing was changed.")
    record(
        actor, Action.JOB_EDIT, ObjectKind.JOB, job.pk, str(job),
        reason=reason, before=before, after=after, job=job.pk, digest=job.digest,
    )  # fmt: skip
    Edit.objects.create(job=job, person=require_person(actor), revision=job.revision, before=before, after=after)
    job.decisions.filter(voided_at=None).update(voided_at=Now())
    parameters = command_to_json(command)
    move(
        job, State.PREVIEWING, Cause.REQUESTER, actor.name,
        text="Edited: approvals given so far are void, and it is previewed again.",
        parameters=parameters, parameters_sha256=sha256_of(parameters), reason=reason, revision=job.revision + 1,
        preview=preview, digest=None, base_version=None, drift=None, drift_at=None, queued_at=None, policy={},
    )  # fmt: skip
    broker.wake_after_commit(Worker.Kind.INTERACTIVE)


def undo(
    actor: Actor,
    job: Job,
    reason: str,
    accept_commits: Iterable[int] = (),
    idempotency_key: str | None = None,
) -> Requested:
    """Asks for the restore that takes a job's commit back: to the version before it, as a new job with a review of its own.

    Later commits would be undone as well and must be named. Raises Problem: 409 `wrong_state`, `nothing_to_undo`, `later_commits`
    (with `commits`), and what `request_restore` raises.
    """
    check_reason(reason)
    if not job.is_ended:
        raise _wrong_state(job)
    if job.version is None or job.command not in ("delete", "restore"):
        raise Problem(409, "nothing_to_undo", _nothing_to_undo(job))
    accepted = sorted(set(accept_commits))
    later = later_commits(job)
    unnamed = [version for version in later if version not in accepted]
    if unnamed:
        named = ", ".join(map(str, unnamed[:20])) + (", …" if len(unnamed) > 20 else "")
        detail = (
            f"Going back to before version {job.version:,} undoes later commits as well: {named}. Nothing was asked for;"
            " name them in accept_commits if they may go too."
        )
        raise Problem(409, "later_commits", detail, commits=unnamed)
    return request_restore(
        actor, job.table_id, job.version - 1, reason, idempotency_key, undoes=job, accepted=tuple(later)
    )


def later_commits(job: Job) -> list[int]:
    """The versions after the job's own, as its table's log has them now."""
    head = after_jobs.head_version(job.location)
    return [] if head is None or job.version is None else list(range(job.version + 1, head + 1))


def _nothing_to_undo(job: Job) -> str:
    if job.command == "convert":
        return "A convert changes no data file: there is no version before it to go back to."
    if job.version is None:
        return "This job committed nothing, so there is nothing to undo."
    return f"A {job.command} is not undone by a restore."


def _locked(job: Job) -> Job:
    return Job.objects.select_for_update(of=("self",)).select_related("table", "requested_by").get(pk=job.pk)


def _check_comment(text: str) -> None:
    if len(text) > COMMENT_LENGTH:
        detail = f"A comment has at most {COMMENT_LENGTH:,} characters."
        raise Problem(400, "invalid", detail, fields={"comment": detail})


def _check_may_decide(actor: Actor, job: Job, action: Action) -> None:
    """Not one's own, and only with the role on the job's table. Nobody bypasses this."""
    person = require_person(actor)
    if job.requested_by_id == person.pk or job.edits.filter(person=person).exists():
        problem = Problem(403, "not_your_own", "Nobody decides on their own request. Nothing was changed.")
    elif actor.token is not None and not actor.token.allows(TokenScope.APPROVE):
        problem = Problem(403, "forbidden", "This token lacks the scope approve.")
    elif not person.scopes(Permission.JOB_DECIDE).covers_table(job.table.root_id, job.table_id):
        problem = Problem(403, "forbidden", "Deciding about jobs on this table takes an approver of it.")
    else:
        return
    refuse(actor, action, ObjectKind.JOB, job.pk, str(job), problem)


def _check_digest(job: Job, digest: str, states: frozenset[State]) -> None:
    if job.digest != digest:
        detail = "The request isn’t the one that you looked at any more. Nothing was decided; look at it as it is now."
        raise Problem(409, "stale", detail, digest=job.digest)
    if State(job.state) not in states:
        raise _wrong_state(job)


def _check_token(actor: Actor, job: Job) -> None:
    if actor.token is not None and job.policy.get("refuses_tokens"):
        raise Problem(403, "tokens_refused", "A rule says that this is approved in the browser only, not by a token.")


def _wrong_state(job: Job) -> Problem:
    job.refresh_from_db(fields=["state"])
    words = job.state.replace("_", " ")
    return Problem(
        409, "wrong_state", f"The job is {words} now, so this can’t be done. Nothing was changed.", state=job.state
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
    "decision_once": (409, "already_decided", "You have decided about this request already. Nothing was changed."),
    "decision_not_own": (403, "not_your_own", "Nobody decides on their own request. Nothing was changed."),
    "decision_stale": (409, "stale", "The request has changed since you looked at it. Nothing was decided."),
    "decision_state": (409, "wrong_state", "The job takes no such decision any more. Nothing was changed."),
    "job_quorum": (409, "wrong_state", "The request lacks its quorum. Nothing was changed."),
}


@contextmanager
def _deciding(actor: Actor, job: Job, action: Action) -> Iterator[None]:
    """Around a decision: what the service or the database refuses is on record as refused, in a transaction of its own."""
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
    for name, (status, code, detail) in _REFUSED.items():
        if name in str(error):
            return Problem(status, code, detail)
    raise error
