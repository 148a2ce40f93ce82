"""What the audit needs done by itself: seal what was committed, sign heads, verify every night. Two threads of the dispatcher's.

Threads of their own, because a round of the dispatcher may wait for a dying worker, and a verification counts every event; what was
committed is to be sealed within 2 seconds whatever else goes on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import DatabaseError, InterfaceError, close_old_connections, connection, transaction
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
    """Keeps the audit in threads until the block ends."""
    threads = [
        threading.Thread(target=keep_for_ever, args=(stop, act), name=act.__name__, daemon=True)
        for act in (seal_and_sign, verify_nightly)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def keep_for_ever(stop: threading.Event, act: Callable[[], object]) -> None:
    """The act every half second until `stop` is set. What is away (database, place for heads, key) is waited for, and logged."""
    while not stop.wait(PAUSE):
        close_old_connections()
        try:
            act()
        except (DatabaseError, InterfaceError, Problem, OSError, ValueError) as error:  # ValueError: a spoilt key
            log.error("audit_not_kept", act=act.__name__, error=str(error).split("\n")[0])
            connection.close()
    connection.close()


def seal_and_sign() -> None:
    """Links what was committed, and signs the chain's end when that is due."""
    chain.seal_waiting()
    heads.sign_when_due()


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
