"""Events for tests of the audit, sealed or not."""

from typing import Any

from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.integrity import chain, heads
from console.audit.integrity.heads import SignedHead
from console.audit.models import Event, Seal, Verification
from console.audit.services import record
from jobs.evidence import audit_loops

TRIGGERS = [
    (table, trigger)
    for table, triggers in {
        "event": ("seal_row", "await_seal", "refuse_change", "refuse_truncate"),
        "seal": ("refuse_change", "refuse_truncate"),
        "head": ("refuse_change", "refuse_truncate"),
    }.items()
    for trigger in triggers
]


def event(number: int = 0, **values: Any) -> Event:
    """Levee itself did something to a path."""
    actor = Actor.system("tests")
    return record(
        actor, Action.TABLE_CHANGE, ObjectKind.PATH, number, f"path {number}", reason=f"reason {number}", **values
    )


def sealed(count: int) -> list[Event]:
    """So many events, linked."""
    made = [event(number) for number in range(count)]
    chain.seal_waiting()
    return made


def signed() -> SignedHead:
    """The head that is due now."""
    head = heads.sign_when_due()
    assert head is not None
    return head


def last_link() -> Seal:
    """The chain's end."""
    return Seal.objects.latest("sequence")


def night() -> Verification:
    """One slice of the night's verification, which is due."""
    run = audit_loops.verify_nightly()
    assert run is not None
    return run
