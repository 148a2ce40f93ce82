"""What the audit needs done by itself: seal what was committed, sign heads, verify every night. A thread of the dispatcher's.

A thread of its own, because a round of the dispatcher may wait for a dying worker, and events are to be sealed within 2 seconds.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import InterfaceError, OperationalError, close_old_connections, connection, transaction
from django.utils import timezone

from console.audit import chain, heads, verification
from console.audit.actions import Action, ObjectKind, Outcome
from console.audit.actor import Actor
from console.audit.models import Verification
from console.audit.services import record
from console.errors import Problem
from console.logs import log
from jobs import agreement

PAUSE = 0.5
NIGHTLY = "nightly"
NIGHT = timedelta(days=1)
_LOCK = (1818584691, 2)  # of one nightly verification at a time


@contextmanager
def kept(stop: threading.Event) -> Iterator[None]:
    """Keeps the audit in a thread until the block ends; the caller sets `stop` before."""
    thread = threading.Thread(target=keep_for_ever, args=(stop,), name="audit", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def keep_for_ever(stop: threading.Event) -> None:
    """A turn every half second until `stop` is set. A database or a place for heads that is away is waited for."""
    while not stop.wait(PAUSE):
        close_old_connections()
        try:
            turn()
        except (OperationalError, InterfaceError, Problem, OSError) as error:
            log.error("audit_not_kept", error=str(error).split("\n")[0])
            connection.close()
    connection.close()


def turn() -> None:
    """Everything that is due now. A nightly verification takes one slice per turn, so that sealing never waits for it."""
    chain.seal_waiting()
    heads.sign_when_due()
    verify_nightly()


def verify_nightly() -> Verification | None:
    """One slice of the night's verification, begun a day after the last one; its end is an event. None when nothing is due."""
    with transaction.atomic():
        if not _alone():
            return None
        run = _due()
        if run is None:
            return None
        verification.advance(run, more=agreement.differences)
        if run.finished_at is not None:
            record_verification(Actor.system("dispatcher"), run)
    return run


def _alone() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("select pg_try_advisory_xact_lock(%s, %s)", _LOCK)
        return bool(cursor.fetchone()[0])


def _due() -> Verification | None:
    last = Verification.objects.filter(asked_by=NIGHTLY).order_by("-id").first()
    if last is not None and last.finished_at is None:
        return last
    if last is not None and timezone.now() - last.started_at < NIGHT:
        return None
    return verification.begin(NIGHTLY)


def record_verification(actor: Actor, run: Verification) -> None:
    """The verification as an event; one that found something has failed."""
    outcome = Outcome.FAILED if run.problem_count else Outcome.ALLOWED
    reason = run.problems[0]["text"] if run.problems else ""
    after = {"first": run.first, "last": run.last, "checked": run.checked, "problems": run.problem_count}
    record(
        actor, Action.AUDIT_VERIFY, ObjectKind.AUDIT, run.pk, "the audit", outcome=outcome, reason=reason, after=after
    )
