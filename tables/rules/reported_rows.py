"""What writers report of the rows that their operations changed, by the metrics of commits.

Writers call their metrics by their own names: Spark `numDeletedRows`, delta-rs `num_deleted_rows`.
"""

from __future__ import annotations

from collections.abc import Mapping

# By how many rows a table grows: the metrics of gains, and those of losses.
_GROWTH: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "DELETE": ((), ("numdeletedrows",)),
    "MERGE": (("numtargetrowsinserted",), ("numtargetrowsdeleted",)),
    "UPDATE": (("numupdatedrows",), ("numupdatedrows",)),  # each in place of itself
}
# How many of the rows that were there are gone, or others now.
_TAKEN: dict[str, tuple[str, ...]] = {
    "DELETE": ("numdeletedrows",),
    "TRUNCATE": ("numdeletedrows",),
    "UPDATE": ("numupdatedrows",),
    "MERGE": ("numtargetrowsupdated", "numtargetrowsdeleted"),
}


def reported_change(operation: str | None, metrics: Mapping[str, str | None]) -> int | None:
    """By how many rows the table grew, as its writer reports; None where it doesn't."""
    gains, losses = _GROWTH.get(operation or "", ((), ()))
    gained, lost = _sum(gains, metrics), _sum(losses, metrics)
    return None if not losses or gained is None or lost is None else gained - lost


def reported_taken(operation: str | None, metrics: Mapping[str, str | None]) -> int | None:
    """How many rows the operation deleted or changed, as its writer reports; None where it doesn't."""
    names = _TAKEN.get(operation or "", ())
    return _sum(names, metrics) if names else None


def _sum(names: tuple[str, ...], metrics: Mapping[str, str | None]) -> int | None:
    plain = {name.replace("_", "").lower(): value for name, value in metrics.items()}
    counts = [_count(plain.get(name)) for name in names]
    return None if None in counts else sum(count or 0 for count in counts)


def _count(value: str | None) -> int | None:
    return int(value) if value is not None and value.isascii() and value.isdigit() and len(value) < 19 else None
