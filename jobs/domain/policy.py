"""How many approvals a command needs, of which role, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Policy:
    """`required_approvals` people with `role` must say yes; `reasons` says which rule asks for it."""

    required_approvals: int
    role: str
    reasons: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {"required_approvals": self.required_approvals, "role": self.role, "reasons": list(self.reasons)}


SHIPPED: dict[str, Policy] = {
    "convert": Policy(
        0, "approver", ("A convert writes only _delta_log and changes no data file: no approval is needed.",)
    )
}


def policy_for(command: str) -> Policy:
    """The shipped policy of a command. Raises KeyError for an unknown one."""
    return SHIPPED[command]
