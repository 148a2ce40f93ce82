"""The audit's background work: sealing new events, signing heads and verifying every night, in two threads of the dispatcher.

They are threads of their own because a dispatcher round may wait for a dying worker, and a verification reads every event, while
new events must be sealed within 2 seconds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import DatabaseError, InterfaceError, close_old_connections, connection, transaction
from django.utils import timezone

from console.audit.actions import Action, EventOutcome, ObjectKind
from console.audit.actor import Actor
from console.audit.integrity import chain, heads, verification
from console.audit.models import Verification
from console.audit.services import record
from console.base.errors import Problem
from console.base.logs import log
from jobs.evidence import consistency

PAUSE = 0.5
NIGHTLY = "nightly"
NIGHT = timedelta(days=1)
_LOCK = (1818584691, 2)  # one nightly verification at a time
# As `_due`, of the last one alone.
_RESTS = """
select finished_at is not null and started_at > %s from audit_verification
where asked_by = %s order by id desc limit 1
"""


@contextmanager
def running(stop: threading.Event) -> Iterator[None]:
    """Runs the audit's threads until the block ends."""
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
    """Calls `act` every half second until `stop` is set. Logs and waits out a missing database, head directory or key."""
    while not stop.wait(PAUSE):
        close_old_connections()
        try:
            act()
        except (DatabaseError, InterfaceError, Problem, OSError, ValueError) as error:  # ValueError: a damaged key
            log.error("audit_not_kept", act=act.__name__, error=str(error).split("\n")[0])
            connection.close()
    connection.close()


def seal_and_sign() -> None:
    """Seals new events into the chain, and signs its head when that is due."""
    chain.seal_waiting()
    heads.sign_when_due()


def verify_nightly() -> Verification | None:
    """Does one slice of the nightly verification, which starts a day after the last one; audits its end. None if none is due."""
    if _rests():
        return None  # nearly always: by one small statement, twice a second
    with transaction.atomic():
        # Two dispatchers would advance the same run twice: the slice and its position are written under one lock.
        if not _alone():
            return None
        run = _due()
        if run is None:
            return None
        verification.advance(run, more=consistency.differences)
        if run.finished_at is not None:
            record_verification(Actor.system("dispatcher"), run)
    return run


def _rests() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_RESTS, [timezone.now() - NIGHT, NIGHTLY])
        return bool(cursor.fetchone() == (True,))


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
    """Audits the verification, as failed if it found a problem."""
    outcome = EventOutcome.FAILED if run.problem_count else EventOutcome.ALLOWED
    reason = run.problems[0]["text"] if run.problems else ""
    after = {"first": run.first, "last": run.last, "checked": run.checked, "problems": run.problem_count}
    record(
        actor, Action.AUDIT_VERIFY, ObjectKind.AUDIT, run.pk, "the audit", outcome=outcome, reason=reason, after=after
    )
