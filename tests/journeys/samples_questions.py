"""Sample contexts of the page that asks once more before an act."""

from __future__ import annotations

from typing import Any

from console.base.errors import Problem
from console.base.questions import Question, QuestionText
from tests.hostile_texts import hostile_long, hostile_whole

REVOKE = Question(
    act="Revoke nightly",
    button="Revoke the token",
    follows=[("Programs with it", "are refused from now on"), ("Way back", "none: create another token")],
    back="/account/tokens/",
    back_text="API tokens",
    takes_password=True,
)
REMOVE = Question(
    act=f"Remove the stream {hostile_long('clicks')}",
    follows=[
        ("Table", f"{hostile_long('orders')} keeps its rows"),
        ("Checkpoint", f"stays at {hostile_whole('/lake/checkpoints/')}"),
    ],
    back="/streams/",
    back_text=hostile_long("clicks"),
    text=QuestionText("reason", "Reason", "Recorded in the audit log.", is_required=True),
)
REFUSED = Problem(400, "invalid", "A reason is needed.", fields={"reason": "Enter a reason."})
BASE: dict[str, Any] = {"sent_on": [], "written": "", "fault": None, "problem": None}

PAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "question": (
        "questions/page.html",
        BASE | {"question": REVOKE, "confirm_first": "/confirm/?next=/account/tokens/"},
    ),
    "question-text": ("questions/page.html", BASE | {"question": REMOVE, "sent_on": [("digest", "a1b2")]}),
    "question-refused": (
        "questions/page.html",
        BASE | {"question": REMOVE, "fault": "Enter a reason.", "problem": REFUSED},
    ),
}
