"""Rows that differ between two versions as a page shows them: each line's sign and word, the sums, what was and wasn't compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

UPDATES = ("update_preimage", "update_postimage")


def of_diff(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The context beside the lines: `came` and `went` in sum, with how many of each by an update (None: not told apart), and `more`,
    the lines that the answer leaves out."""
    totals = answer["totals"]
    before, after = (totals[name] for name in UPDATES)
    return {
        "came": totals["insert"] + (after or 0),
        "went": totals["delete"] + (before or 0),
        "updated": None if before is None and after is None else (before, after),
        "more": totals["lines"] - len(answer["rows"]),
        "not_compared": [*answer["columns_removed"], *answer["columns_changed"], *_new(answer, as_null=False)],
        "as_null": _new(answer, as_null=True),
    }


def _new(answer: Mapping[str, Any], *, as_null: bool) -> list[str]:
    return list(answer["columns_added"]) if answer["added_as_null"] == as_null else []
