"""A table's health on its overview: each finding in words, and where to look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from console.templatetags.levee import size
from tables import ports
from tables.deltalog.rules.property_values import locked_values
from tables.models import Table
from tables.record.table_fields import faults_of
from tables.rules.health_findings import HealthCode
from tables.web.api.serializers import health_json
from tables.web.table.acts import TableAct

SEVERITY_LEVELS = {"error": "error", "warning": "warning", "note": "info"}


def findings(table: Table, acts: Mapping[str, TableAct]) -> list[dict[str, Any]]:
    """The health findings as rows of a list: `measured` and `limit` in words, where to look, and the command that mends it.

    `acts` are what the person may do with the table, by kind. Empty when all is well.
    """
    return [
        {**finding, **_measured(table, finding), "mend": _mend(table, finding, acts)} for finding in health_json(table)
    ]


def _of_files(share: float) -> str:
    return f"{share:.1%} of files"


def _plain(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,}"


_Code = HealthCode
_IN_WORDS: Mapping[str, Callable[[Any], str]] = {
    _Code.SMALL_FILES.value: _of_files,
    _Code.OVER_PARTITIONED.value: _of_files,
    _Code.DELETION_VECTORS.value: _of_files,
    _Code.MISSING_STATISTICS.value: "{:.1%} of files have them".format,
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
    _Code.UNREADABLE_COLUMNS.value: "schema",
    _Code.UNSUPPORTED_COLUMNS.value: "schema",
    _Code.LOCKS_WRITERS_OUT.value: "protocol",
}


def _mend(table: Table, finding: Mapping[str, Any], acts: Mapping[str, TableAct]) -> dict[str, str] | None:
    """The link to the command, filled in with the partitions that most of it lies in; or, without `url`, why it would do nothing."""
    code = str(finding["code"])
    for act in acts.values():
        if why := act.offer.mends_not.get(code):
            return {"text": act.offer.text, "url": "", "why_not": why, "schedule": ""}
        if code in act.offer.mends:
            given = _given(table, act.offer.mends[code])
            return None if given is None else _filled_in(act, given, acts.get("schedule"))
    return None


def _given(table: Table, what: str) -> list[tuple[str, str]] | None:
    """What the command's form is filled in with, as its address has it; None where it can't mend the finding of this table."""
    if what == ports.UNSET:
        return None if locked_values(table.configuration, {}) else [("unset", name) for name in faults_of(table).names]
    predicate = (table.layout or {}).get(what)
    return [("predicate", predicate)] if predicate else []


def _filled_in(act: TableAct, given: list[tuple[str, str]], schedule: TableAct | None) -> dict[str, str]:
    return {
        "text": act.offer.text,
        "url": f"{act.url}?{urlencode(given)}" if given else act.url,
        # Without the condition: the partitions of today aren't those of another night.
        "schedule": f"{schedule.url}&{urlencode({'command': act.offer.kind})}"
        if schedule and act.offer.repeats
        else "",
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
