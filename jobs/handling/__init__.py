"""What each command asks of the catalog around Spark's part: its preview from the log, and the check before its run."""

from __future__ import annotations

from jobs.handling.base import Drift, Handling, Measured, Verdict
from jobs.handling.convert import ConvertHandling
from jobs.handling.delete import DeleteHandling
from jobs.handling.restore import RestoreHandling

HANDLINGS: dict[str, Handling] = {
    "convert": ConvertHandling(),
    "delete": DeleteHandling(),
    "restore": RestoreHandling(),
}

__all__ = ["HANDLINGS", "Drift", "Handling", "Measured", "Verdict", "handling_of"]


def handling_of(kind: str) -> Handling:
    """The handling of a command. Raises KeyError for an unknown one."""
    return HANDLINGS[kind]
