"""Sample contexts for the audit's pages: events built unsaved, as a page would read them."""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import Any

from console.audit import presenters
from console.audit.actions import Action, EventOutcome, ObjectKind
from console.audit.models import Event, Seal, Verification
from console.pages.audit.forms import AuditForm
from tests.hostile_texts import hostile_long, hostile_whole
from tests.journeys.samples_accounts import LONG_PATH, before
from tests.journeys.samples_lists import listing

JOB = uuid.UUID("7c41e0d2-55b8-4c0f-b1a7-93e0f2d6c418")
TABLE = uuid.UUID("0b7c2f7e-9d0e-4c53-8a8f-5b8d0f7d9a11")
HASH = "9f2c41d7b80e4d6a91c3f7e2a05b8c4d1e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b"


def event(sequence: int | None, who: str, action: Action, kind: ObjectKind, name: str, **facts: Any) -> Event:
    """An event with its link; without a sequence it is being sealed."""
    values: dict[str, Any] = {
        "at": before(minutes=(48_300 - (sequence or 48_300)) * 3), "actor_kind": "person", "actor_id": uuid.uuid4(), "actor_name": who,
        "action": action, "object_kind": kind, "object_id": str(JOB if kind is ObjectKind.JOB else TABLE), "object_name": name,
        "outcome": EventOutcome.ALLOWED, "hash": HASH, "table_id": TABLE, "job": JOB if kind is ObjectKind.JOB else None,
    }  # fmt: skip
    made = Event(**{**values, **facts})
    link = Seal(sequence=sequence, event=made, previous=HASH, hash=HASH[::-1], sealed_at=made.at) if sequence else None
    Event._meta.get_field("seal").set_cached_value(made, link)  # as a query with its link leaves it
    return made


DELETE = f"delete {LONG_PATH}"
EVENTS = [
    event(None, "spark@host", Action.JOB_END, ObjectKind.JOB, DELETE, table_version=1_483),
    event(48_204, "spark@host", Action.JOB_START, ObjectKind.JOB, DELETE),
    event(48_203, "ines", Action.JOB_APPROVE, ObjectKind.JOB, DELETE, reason="The numbers fit the ticket."),
    event(
        48_118, "ana", Action.JOB_APPROVE, ObjectKind.JOB, DELETE,
        outcome=EventOutcome.REFUSED, reason="not_your_own: You can’t decide your own request.",
    ),
    event(48_102, "tom", Action.TABLE_READ_ROWS, ObjectKind.TABLE, "sales.orders", table_version=1_479, actor_kind="token"),
    event(
        48_090, "ana", Action.JOB_REQUEST, ObjectKind.JOB, DELETE, reason="GDPR request 4711",
        after={"rehearse": True, "parameters": {"predicate": None, "limit": 3}, "roots": ["lake"]},
    ),
    event(47_655, "dispatcher", Action.COMMIT_UNEXPLAINED, ObjectKind.TABLE, "sales.orders", table_version=1_474, actor_kind="system"),
    event(
        47_001, hostile_long("actor"), Action.SIGN_IN, ObjectKind.PERSON, hostile_whole("object"), outcome=EventOutcome.FAILED,
        table_id=None, reason=hostile_whole("reason"),
    ),
]  # fmt: skip
WHOLE = Verification(
    started_at=before(minutes=2), finished_at=before(minutes=1), asked_by="nightly", first=1, last=48_211, checked=48_211, seconds=2.1
)  # fmt: skip
BROKEN = Verification(
    started_at=before(days=1), finished_at=before(days=1), asked_by="ines", first=1, last=48_000, checked=48_000, seconds=2.1,
    problem_count=1, problems=[{"kind": "event_changed", "sequence": 9, "text": "The event of #9 isn't what was recorded."}],
)  # fmt: skip
CHAIN = {
    "is_auditor": True, "verified": WHOLE, "newest": 48_211, "refused": 17,
    "head": {"sequence": 48_192, "signed_at": before(minutes=4)},
}  # fmt: skip
LIST = {
    "lines": presenters.lines(EVENTS), "form": AuditForm({}), "about": "", "is_narrowed": False, "query": "",
    "page": {"previous_url": None, "next_url": "?cursor=x"}, "listing": listing("audit"),
}  # fmt: skip
VERIFICATION = {
    "run": {"problem_count": 0, "finished_at": before(minutes=1), "problems": [], "first_wrong": None},
    "runs": [WHOLE, BROKEN], "public_key": HASH, "heads_file": f"{LONG_PATH}/audit/heads.jsonl", **CHAIN,
}  # fmt: skip
ATTEMPT = SimpleNamespace(
    worker="spark@host", outcome="succeeded", claimed_at=before(minutes=9), ended_at=before(minutes=8)
)
LIFE = {
    "job": SimpleNamespace(
        pk=JOB, table_id=TABLE, table=SimpleNamespace(name="sales.orders"), state="succeeded", version=1_483, no_op=False,
        requested_by=SimpleNamespace(name="ana"), requested_at=before(days=1), reason="GDPR request 4711", digest=HASH, base_version=1_479,
        parameters={"table": str(TABLE), "path": LONG_PATH, "predicate": None},
    ),
    "title": f"Delete rows of {LONG_PATH}", "sentence": "DELETE finished.", "story": presenters.lines(EVENTS[::-1]),
    "previews": [ATTEMPT],
    "attempts": [ATTEMPT, SimpleNamespace(worker="spark@b", outcome="", claimed_at=before(minutes=1), ended_at=None)],
    "decisions": [
        SimpleNamespace(
            person=SimpleNamespace(name="ines"), decision=kind, digest=HASH, comment="The numbers fit.",
            voided_at=void, decided_at=before(hours=3),
        )
        for kind, void in (("approve", None), ("approve", before(hours=2)), ("reject", None))
    ],
    "edits": [SimpleNamespace(person=SimpleNamespace(name="ana"), at=before(hours=5))], "undoes": None,
    "undone_by": [(SimpleNamespace(pk=JOB, state="awaiting_approval"), "Restore version 1,482 of sales.orders")],
    "explanation": SimpleNamespace(judged_at=before(minutes=1), why="Its job was approved by 1."), "required": 1,
}  # fmt: skip

PAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "audit": ("audit/list.html", LIST | CHAIN),
    "audit-broken": ("audit/list.html", LIST | CHAIN | {"verified": BROKEN, "about": LONG_PATH, "is_narrowed": True}),
    "audit-viewer": ("audit/list.html", LIST | {"is_auditor": False}),
    "audit-none": ("audit/list.html", LIST | {"lines": [], "is_narrowed": True}),
    "audit-event": (
        "audit/event.html",
        {
            "line": presenters.line(EVENTS[3]), "facts": presenters.facts(EVENTS[3], origins=True),
            "follow": presenters.follow(EVENTS[3]), "link": EVENTS[3].seal, "changes": presenters.changes(EVENTS[3]),
        },
    ),
    "audit-event-request": (
        "audit/event.html",
        {
            "line": presenters.line(EVENTS[5], {str(JOB): "Delete 357 rows from sales.orders"}), "follow": presenters.follow(EVENTS[5]),
            "facts": presenters.facts(EVENTS[5], origins=False), "link": EVENTS[5].seal, "changes": presenters.changes(EVENTS[5]),
        },
    ),
    "audit-verification": ("audit/verification.html", VERIFICATION),
    "audit-differences": (
        "audit/verification.html",
        VERIFICATION | {"run": {"problem_count": 1, "finished_at": before(days=1), "problems": BROKEN.problems, "first_wrong": 9}},
    ),
    "job-life": ("audit/life.html", LIFE),
}  # fmt: skip
