"""A table's health on its overview: each finding in words, and where to look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from console.templatetags.levee import size
from tables.models import Table
from tables.rules import health
from tables.web.api.serializers import health_json

SEVERITY_LEVELS = {"error": "error", "warning": "warning", "note": "info"}


def findings(table: Table, acts: Mapping[str, str | None]) -> list[dict[str, Any]]:
    """The health findings as rows of a list: `measured` and `limit` in words, where to look, and the command that mends it.

    `acts` are the addresses of commands that the person may ask for, by the names in `MENDED_BY`. Empty when all is well.
    """
    return [
        {**finding, **_measured(table, finding), "mend": _mend(table, finding, acts)} for finding in health_json(table)
    ]


def _of_files(share: float) -> str:
    return f"{share:.1%} of files"


def _plain(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,}"


_Code = health.Code
_IN_WORDS: Mapping[str, Callable[[Any], str]] = {
    _Code.SMALL_FILES.value: _of_files,
    _Code.OVER_PARTITIONED.value: _of_files,
    _Code.DELETION_VECTORS.value: _of_files,
    _Code.MISSING_STATISTICS.value: _of_files,
    _Code.SKEW.value: "{:,.1f} ×".format,
    _Code.NO_CHECKPOINT.value: "{:,} commits".format,
    _Code.LONG_LOG.value: lambda length: str(size(length)),
    _Code.STALE_SYNC.value: "{:,} days".format,
    _Code.OLD_FILES.value: lambda length: str(size(length)),
}
_IN_LAYOUT = (
    _Code.SMALL_FILES.value,
    _Code.OVER_PARTITIONED.value,
    _Code.DELETION_VECTORS.value,
    _Code.SKEW.value,
    _Code.MISSING_STATISTICS.value,
)
_LOOK_AT = {
    **dict.fromkeys(_IN_LAYOUT, "layout"),
    **dict.fromkeys((_Code.NO_CHECKPOINT.value, _Code.LONG_LOG.value, _Code.RECREATED.value), "history"),
    _Code.NEEDS_FEATURE.value: "protocol",
}


# The command that mends a finding: its address among `acts`, the link's text, and the layout's condition that it is filled in with.
MENDED_BY = {
    _Code.SMALL_FILES.value: ("optimize_url", "Optimize…", "most_small"),
    _Code.DELETION_VECTORS.value: ("reorg_url", "Purge…", "most_vectors"),
    _Code.OLD_FILES.value: ("vacuum_url", "Vacuum…", ""),
}
# The command that somebody would try, and why it mends nothing.
MENDED_BY_NONE = {
    _Code.OVER_PARTITIONED.value: (
        "optimize_url",
        "Optimize…",
        "It joins files of one partition only, so here it has nothing to join.",
    ),
}


def _mend(table: Table, finding: Mapping[str, Any], acts: Mapping[str, str | None]) -> dict[str, str] | None:
    """The link to the command, filled in with the partitions that most of it lies in; or, without `url`, why it would do nothing."""
    if none := MENDED_BY_NONE.get(str(finding["code"])):
        act, text, why = none
        return {"text": text, "url": "", "why_not": why, "schedule": ""} if acts.get(act) else None
    act, text, condition = MENDED_BY.get(str(finding["code"]), ("", "", ""))
    address, predicate = acts.get(act), (table.layout or {}).get(condition)
    if not address:
        return None
    schedule = acts.get("schedule_url")
    return {
        "text": text,
        "url": f"{address}?{urlencode({'predicate': predicate})}" if predicate else address,
        # Without the condition: the partitions of today aren't those of another night.
        "schedule": f"{schedule}&{urlencode({'command': act.removesuffix('_url')})}" if schedule else "",
    }


def _measured(table: Table, finding: Mapping[str, Any]) -> dict[str, Any]:
    """A finding's value and limit in its own unit; None where it has none, as a thing that is there or not."""
    words = _IN_WORDS.get(str(finding["code"]), _plain)
    value, limit = finding["value"], finding["threshold"]
    place = _LOOK_AT.get(str(finding["code"])) if table.version is not None else None
    return {
        "level": SEVERITY_LEVELS[str(finding["severity"])],
        "measured": None if value is None or limit is None else words(value),
        "limit": None if limit is None else words(limit),
        "look_at": place and {"text": place.capitalize(), "url": reverse(f"tables:{place}", args=[table.pk])},
    }
