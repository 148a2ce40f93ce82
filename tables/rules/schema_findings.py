"""What a table's health says of columns that Spark can't read, write again or keep in a change of metadata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from console.base.text.counted import counted
from tables.deltalog.rules.schema_limits import SchemaLimit, Use
from tables.rules.health_findings import HealthCode, HealthFinding, Severity

NAMED = 3
_WORDS = {
    Use.READ: "read its rows",
    Use.REWRITE: "write its rows again",
    Use.METADATA: "change its schema or properties",
}


def schema_findings(limits: Sequence[SchemaLimit]) -> Iterator[HealthFinding]:
    """One of the columns for which Spark can't read the table: an error; and one of those that stop changes alone."""
    reads = [limit for limit in limits if Use.READ in limit.conditions]
    others = [limit for limit in limits if Use.READ not in limit.conditions]
    if reads:
        yield HealthFinding(
            HealthCode.UNREADABLE_COLUMNS, Severity.ERROR, len(reads), None, _text(reads), reads[0].remedy
        )
    if others:
        yield HealthFinding(
            HealthCode.UNSUPPORTED_COLUMNS, Severity.WARNING, len(others), None, _text(others), others[0].remedy
        )


def _text(limits: Sequence[SchemaLimit]) -> str:
    fails = [words for use, words in _WORDS.items() if any(use in limit.conditions for limit in limits)]
    what = fails[0] if len(fails) == 1 else f"{', '.join(fails[:-1])} or {fails[-1]}"
    named = "; ".join(limit.text for limit in limits[:NAMED])
    more = f"; and {counted(len(limits) - NAMED, 'more place')}" if len(limits) > NAMED else ""
    return f"Spark with Delta 4.4 can’t {what}. The table has {named}{more}."
