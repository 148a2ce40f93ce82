"""What a table's health says of columns that Spark can't read, write again or keep in a change of metadata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tables.deltalog.rules.schema_limits import SchemaLimit, Use
from tables.rules.health_findings import HealthCode, HealthFinding, Severity

NAMED = 3
# What fails, of this table, and where it isn't the first that is said.
_WORDS = {
    Use.READ: ("read this table’s rows", ""),
    Use.REWRITE: ("write this table’s rows again", "write them again"),
    Use.METADATA: ("change this table’s schema or properties", "change its schema or properties"),
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
    uses = [use for use in _WORDS if any(use in limit.conditions for limit in limits)]
    fails = [_WORDS[use][number > 0] for number, use in enumerate(uses)]
    what = fails[0] if len(fails) == 1 else f"{', '.join(fails[:-1])} or {fails[-1]}"
    places = [limit.text for limit in limits[:NAMED]]
    if len(limits) > NAMED:
        places.append(f"{len(limits) - NAMED:,} more")
    return f"Spark with Delta 4.4 can’t {what}: it has {'; '.join(places)}."
