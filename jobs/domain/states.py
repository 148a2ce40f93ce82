"""The states of a job, as data: the transitions, who may cause each, and what a state means for you and the table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    PREVIEWING = "previewing"
    AWAITING_APPROVAL = "awaiting_approval"
    QUEUED = "queued"
    RUNNING = "running"
    CANCELLING = "cancelling"
    RECONCILING = "reconciling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"
    STALE = "stale"


class Cause(StrEnum):
    """Who causes a transition."""

    REQUESTER = "requester"
    APPROVER = "approver"
    CANCELLER = "canceller"  # the requester, or a person who may cancel any job
    WORKER = "worker"  # under its fencing token only
    DISPATCHER = "dispatcher"


@dataclass(frozen=True, slots=True)
class Transition:
    source: State
    target: State
    causes: frozenset[Cause]


def _from(source: State, targets: dict[State, tuple[Cause, ...]]) -> list[Transition]:
    return [Transition(source, target, frozenset(causes)) for target, causes in targets.items()]


S, C = State, Cause

TRANSITIONS: tuple[Transition, ...] = (
    *_from(
        S.PREVIEWING,
        {
            # The dispatcher: a round of a stream, whose preview is its definition and needs no measure.
            S.QUEUED: (C.WORKER, C.DISPATCHER),
            S.AWAITING_APPROVAL: (C.WORKER, C.DISPATCHER),
            S.SUCCEEDED: (C.WORKER,),  # nothing to do
            S.FAILED: (C.WORKER, C.DISPATCHER),
            S.WITHDRAWN: (C.REQUESTER,),
            S.CANCELLED: (C.CANCELLER, C.DISPATCHER),  # the dispatcher: a rule protects the table
            S.EXPIRED: (C.DISPATCHER,),
        },
    ),
    *_from(
        S.AWAITING_APPROVAL,
        {
            S.PREVIEWING: (C.REQUESTER,),  # an edit
            S.QUEUED: (C.APPROVER,),
            S.REJECTED: (C.APPROVER,),
            S.WITHDRAWN: (C.REQUESTER,),
            S.CANCELLED: (C.CANCELLER, C.DISPATCHER),
            S.EXPIRED: (C.DISPATCHER,),
        },
    ),
    *_from(
        S.QUEUED,
        {
            S.RUNNING: (C.WORKER,),
            S.PREVIEWING: (C.REQUESTER,),
            S.AWAITING_APPROVAL: (C.WORKER, C.DISPATCHER),  # a quorum lost
            S.REJECTED: (C.APPROVER,),
            S.WITHDRAWN: (C.REQUESTER,),
            S.CANCELLED: (C.CANCELLER, C.DISPATCHER),
            S.EXPIRED: (C.DISPATCHER,),
            S.STALE: (C.WORKER,),
        },
    ),
    *_from(
        S.RUNNING,
        {
            S.SUCCEEDED: (C.WORKER,),
            S.FAILED: (C.WORKER,),
            S.STALE: (C.WORKER,),
            S.CANCELLING: (C.CANCELLER,),
            S.RECONCILING: (C.WORKER, C.DISPATCHER),
            S.QUEUED: (C.WORKER,),  # a planned stop gives the attempt back
        },
    ),
    *_from(
        S.CANCELLING,
        {
            S.CANCELLED: (C.WORKER, C.DISPATCHER),
            S.SUCCEEDED: (C.WORKER, C.DISPATCHER),
            S.FAILED: (C.WORKER, C.DISPATCHER),
            S.STALE: (C.WORKER, C.DISPATCHER),
        },
    ),
    *_from(
        S.RECONCILING,
        {
            S.SUCCEEDED: (C.DISPATCHER,),
            S.QUEUED: (C.DISPATCHER,),  # another attempt
            S.FAILED: (C.DISPATCHER,),
            S.STALE: (C.DISPATCHER,),
            S.CANCELLED: (C.DISPATCHER,),
            S.CANCELLING: (C.CANCELLER,),
        },
    ),
)

WAITS = frozenset({S.AWAITING_APPROVAL, S.QUEUED})  # previewed, and nothing holds it yet
IN_REVIEW = WAITS | {S.PREVIEWING}
ENDED = frozenset({S.SUCCEEDED, S.FAILED, S.CANCELLED, S.REJECTED, S.WITHDRAWN, S.EXPIRED, S.STALE})
OPEN = frozenset(State) - ENDED
CLAIMED = frozenset({S.RUNNING, S.CANCELLING, S.RECONCILING})  # a table lease stands behind these
CANCELLABLE = frozenset({t.source for t in TRANSITIONS if C.CANCELLER in t.causes})
MAX_ATTEMPTS = 2


def may(source: State, target: State, cause: Cause) -> bool:
    """Whether the transition exists and `cause` may cause it."""
    return any(t.source is source and t.target is target and cause in t.causes for t in TRANSITIONS)


def sources(target: State, cause: Cause) -> frozenset[State]:
    """The states from which `cause` may lead a job to `target`."""
    return frozenset(t.source for t in TRANSITIONS if t.target is target and cause in t.causes)


SENTENCE: dict[State, str] = {
    S.PREVIEWING: "Measuring the table before the job can run.",
    S.AWAITING_APPROVAL: "Waiting for approval.",
    S.QUEUED: "Waiting for a worker.",
    S.RUNNING: "Running on Spark.",
    S.CANCELLING: "Cancelling: Levee tells Spark to stop until it has stopped.",
    S.RECONCILING: "Outcome unknown. The worker was lost; Levee makes sure that it is dead and looks for its commit.",
    S.SUCCEEDED: "Succeeded.",
    S.FAILED: "Failed.",
    S.CANCELLED: "Cancelled.",
    S.REJECTED: "Rejected by an approver.",
    S.WITHDRAWN: "Withdrawn by the requester.",
    S.EXPIRED: "Expired before it could run.",
    S.STALE: "Stale: the table has moved, or Levee can’t prove what happened. You decide; request it again to continue.",
}


# A moment passes between a commit and the run's report of it, whatever the command: never claim that there is none.
NOT_KNOWN = "No commit is known yet: readers see the table as it was until the last step, the commit."
COMMITTED = "Committed: readers see the new version; Levee is checking and recording it."


def table_state(
    state: State, version: int | None, *, no_op: bool = False, committed: bool = False, unproven: bool = False
) -> str:
    """What a job's state means for its table, in words. `committed`: the run has reported its commit. `unproven`: it waits, or ended while
    it waited, after an attempt whose end nobody could prove."""
    if version is not None:
        return f"Committed as version {version:,}."
    if state is S.SUCCEEDED and no_op:
        return "Nothing was committed: there was nothing to do."
    if state is S.RECONCILING:
        return "Unknown: Levee is looking for a commit of this job."
    if state is S.STALE or (unproven and state not in {S.RUNNING, S.CANCELLING, S.SUCCEEDED}):
        return "Levee found no commit of this job; a late one would appear here."
    if state in {S.RUNNING, S.CANCELLING}:
        return COMMITTED if committed else NOT_KNOWN
    return "Nothing was committed."
