"""What writers report of the rows that their operations changed, by the metrics of commits."""

from __future__ import annotations

from collections.abc import Mapping

_METRICS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "DELETE": ((), ("numdeletedrows",)),
    "MERGE": (("numtargetrowsinserted",), ("numtargetrowsdeleted",)),
}


def reported_change(operation: str | None, metrics: Mapping[str, str | None]) -> int | None:
    """By how many rows the table grew, as its writer reports; None where it doesn't.

    Writers call their metrics by their own names: Spark `numDeletedRows`, delta-rs `num_deleted_rows`.
    """
    plain = {name.replace("_", "").lower(): value for name, value in metrics.items()}
    gains, losses = _METRICS.get(operation or "", ((), ()))
    counts = [_count(plain.get(name)) for name in (*gains, *losses)]
    if not counts or None in counts:
        return None
    whole = [value or 0 for value in counts]
    return sum(whole[: len(gains)]) - sum(whole[len(gains) :])


def _count(value: str | None) -> int | None:
    return int(value) if value is not None and value.isascii() and value.isdigit() and len(value) < 19 else None
