"""How long this process waits for a store that doesn't answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a store may take: seconds to connect, seconds for one answer and for all tries of it, and tries after the first."""

    connect_s: float = 5
    answer_s: float = 30
    retries: int = 3


PATIENT, BRIEF = Patience(), Patience(2, 5, 1)
_now = PATIENT


def be_brief() -> None:
    """Has this process wait for a store no longer than a person waits for a page: for the web's."""
    global _now
    _now = BRIEF


def now() -> Patience:
    """How long this process waits for a store."""
    return _now
