"""Counts of tables by facet, for each person: the numbers beside a list's filters.

Counted live for a catalog that a person can oversee. Beyond LIVE tables the counts of whole roots are kept in the roots' rows,
refreshed by the light worker once a minute; tables that a person sees one by one are few, and counted live on top.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, Func, Q, QuerySet, Sum
from django.utils import timezone

from console.accounts.models import Person
from console.accounts.roles import Permission
from tables.catalog import freshness
from tables.catalog.listing import roots_of, visible_to
from tables.deltalog.read.actions import Protocol
from tables.deltalog.rules.features import implied_features
from tables.models import Root, Table
from tables.rules.health_findings import ERRORS, HealthCode

LIVE = 10_000
REFRESH = timedelta(minutes=1)
SHOWN = 8  # values of a facet that the list's page shows
MOST_VALUES = 500  # of a facet on a page of its own
LEGENDS = {
    "format": "Format",
    "root": "Root",
    "health": "Health",
    "age": "Last change",
    "owner": "Owner",
    "feature": "Feature",
    "tag": "Tag",
}
# What the protocol that Delta gives a table without any feature stands for: nearly every table has these, so they narrow nothing.
USUAL_FEATURES = frozenset(implied_features(Protocol(1, 2, None, None)))
SINGLE = {"format": "format", "root": "root_id", "owner": "owner"}
MANY = {"health": "health_codes", "feature": "features", "tag": "tags"}

Counts = dict[str, Counter[str]]


def counts_for(person: Person) -> tuple[Counts, datetime | None]:
    """Counts by facet and value of the tables that the person sees, and their time; None: they are current."""
    tables = visible_to(person)
    return (count(tables), None) if _few(tables) else _kept_for(person)


def _kept_for(person: Person) -> tuple[Counts, datetime | None]:
    """As `counts_for`, from what is kept of whole roots."""
    counts: Counts = {name: Counter() for name in (*SINGLE, *MANY, "age", "totals")}
    roots = list(roots_of(person).values_list("pk", "facets", "facets_at"))
    for _, stored, _ in roots:
        _add(counts, stored or {})
    if unknown := [pk for pk, _, at in roots if at is None]:  # registered a moment ago
        _add(counts, count(Table.objects.filter(root_id__in=unknown, hidden_at=None)))
    single = person.scopes(Permission.TABLE_READ)
    if not single.everything and single.tables:
        _add(
            counts, count(Table.objects.filter(pk__in=single.tables, hidden_at=None).exclude(root_id__in=single.roots))
        )
    return counts, min((at for _, _, at in roots if at is not None), default=None)


def _few(tables: QuerySet[Table]) -> bool:
    return tables.order_by()[: LIVE + 1].count() <= LIVE


def _add(counts: Counts, more: Mapping[str, Mapping[str, int]]) -> None:
    for name, values in more.items():
        counts[name].update(values)


def count(tables: QuerySet[Table]) -> Counts:
    """Counts of these tables; one query per facet."""
    rows = tables.order_by()
    counts: Counts = {name: _by(rows.values_list(column)) for name, column in SINGLE.items()}
    for name, column in MANY.items():
        counts[name] = _by(rows.annotate(value=Func(F(column), function="unnest")).values_list("value"))
    now = timezone.now()
    ages = rows.aggregate(
        day=Count("pk", filter=Q(last_commit_at__gte=now - timedelta(days=1))),
        old=Count("pk", filter=Q(last_commit_at__lt=now - timedelta(days=90))),
        late=Count("pk", filter=freshness.late()),
    )
    if late := ages.pop("late"):
        counts["health"][HealthCode.STALE_SYNC.value] = late
    counts["age"] = Counter(ages)
    counts["totals"] = Counter({name: value or 0 for name, value in _totals(rows).items()})
    return counts


def _totals(rows: QuerySet[Table]) -> dict[str, int | None]:
    return rows.aggregate(
        tables=Count("pk"),
        size_bytes=Sum("size_bytes"),
        warnings=Count("pk", filter=~Q(health_codes=[]) | freshness.late()),
        stale=Count("pk", filter=freshness.out_of_sync()),
        errors=Count("pk", filter=Q(health_codes__overlap=ERRORS)),
    )


ANY_OF = {"health": {"error": "errors", "warning": "warnings", "any": "warnings"}}
"""Values that stand for several of a facet, each with the total that counts its tables."""


@dataclass(frozen=True, slots=True)
class Totals:
    """How many tables a person sees, their bytes, how many have findings, how many are not in sync, how many have errors among them.

    `counted_at` says since when the numbers may be old; None: they are of this moment.
    """

    tables: int
    size_bytes: int
    warnings: int
    stale: int
    errors: int = 0
    counted_at: datetime | None = None


def seen_by(person: Person) -> int:
    """How many tables the person sees, as far as it matters: LIVE + 1 stands for all above."""
    return visible_to(person).order_by()[: LIVE + 1].count()


def totals_for(person: Person, seen: int | None = None) -> Totals:
    """The catalog in numbers, as the person sees it. `seen` is `seen_by`, where that is known."""
    if (seen_by(person) if seen is None else seen) <= LIVE:
        live = _totals(visible_to(person).order_by())
        return _as_totals({name: value or 0 for name, value in live.items()}, None)
    counts, counted_at = _kept_for(person)
    return _as_totals(counts["totals"], counted_at)


def _as_totals(counts: Mapping[str, int], counted_at: datetime | None) -> Totals:
    errors = counts.get("errors", 0)  # none in counts of an earlier release
    return Totals(counts["tables"], counts["size_bytes"], counts["warnings"], counts["stale"], errors, counted_at)


def _by(values: QuerySet[Table, Any]) -> Counter[str]:
    return Counter({str(value): number for value, number in values.annotate(number=Count("pk")) if value})


def refresh_next() -> bool:
    """Counts the root whose counts are oldest, if they are older than REFRESH and in use; else False."""
    root = next_late()
    if root is not None:
        refresh(root)
    return root is not None


def next_late() -> Root | None:
    """The root to count next: none in a catalog small enough to count live."""
    late = Q(facets_at=None) | Q(facets_at__lt=timezone.now() - REFRESH)
    root = Root.objects.filter(late).order_by(F("facets_at").asc(nulls_first=True)).first()
    return None if root is None or _few(Table.objects.filter(hidden_at=None)) else root


def refresh(root: Root) -> None:
    """Counts a root's tables and keeps the counts."""
    counts = count(Table.objects.filter(root=root, hidden_at=None))
    Root.objects.filter(pk=root.pk).update(facets=counts, facets_at=timezone.now())


def groups(
    counts: Counts, chosen: Mapping[str, list[str]], texts: Mapping[str, Mapping[str, str]]
) -> list[dict[str, Any]]:
    """The facets of the list's page: each value with its text, its count, and whether it is chosen, and how many values there
    are in all. Empty facets are left out.
    """
    facets = []
    for name, legend in LEGENDS.items():
        shown = telling(name, _with_any(name, counts, chosen.get(name, [])), chosen.get(name, []))
        options = _options(shown, chosen.get(name, []), _texts(name, counts, texts))
        if options:
            facets.append({"name": name, "legend": legend, "options": options, "values": len(+shown)})
    return facets + _switch("stale", "Sync", "Not in sync", counts["totals"]["stale"], bool(chosen.get("stale")))


def favourites_group(count: int, checked: bool) -> list[dict[str, Any]]:
    """The facet of the person's favourites; none where they have none."""
    return _switch("favourite", "Yours", "Favourites", count, checked)


def _with_any(name: str, counts: Counts, chosen: Sequence[str]) -> Counter[str]:
    """A facet's values, with those that stand for several where they are chosen."""
    several = {value: counts["totals"][total] for value, total in ANY_OF.get(name, {}).items() if value in chosen}
    return counts[name] + Counter(several) if several else counts[name]


def telling(name: str, counts: Counter[str], chosen: Sequence[str]) -> Counter[str]:
    """A facet's values without those that nearly every table has; chosen ones stay."""
    if name != "feature":
        return counts
    return Counter({value: n for value, n in counts.items() if value not in USUAL_FEATURES or value in chosen})


def _texts(name: str, counts: Counts, texts: Mapping[str, Mapping[str, str]]) -> Mapping[str, str]:
    if name != "root":
        return texts.get(name, {})
    return {str(pk): text for pk, text in Root.objects.filter(pk__in=list(counts["root"])).values_list("pk", "name")}


def values_of(
    name: str, part: str, counts: Counts, chosen: list[str], texts: Mapping[str, Mapping[str, str]]
) -> tuple[list[dict[str, Any]], int]:
    """All values of one facet whose text holds `part`, by text, MOST_VALUES at most, chosen ones always; and how many there are."""
    named, wanted = _texts(name, counts, texts), part.casefold()
    matching = [value for value in +telling(name, counts[name], chosen) if wanted in named.get(value, value).casefold()]
    shown = sorted(matching, key=lambda value: named.get(value, value).casefold())[:MOST_VALUES]
    shown += [value for value in chosen if value not in shown and value in counts[name]]
    return _described(shown, counts[name], chosen, named), len(matching)


def as_json(counts: Counts, counted_at: datetime | None) -> dict[str, Any]:
    """The counts as the API gives them: `{counted_at, totals, facets: {name: [{value, text, count}]}}`, the commonest values first,
    MOST_VALUES of each at most. The value is what narrows the list by it."""
    facets = {}
    for name in LEGENDS:
        texts, values = _texts(name, counts, {}), (+counts[name]).most_common(MOST_VALUES)
        facets[name] = [{"value": value, "text": texts.get(value, value), "count": number} for value, number in values]
    totals = {name: counts["totals"][name] for name in ("tables", "size_bytes", "warnings", "stale")}
    return {"counted_at": counted_at, "totals": totals, "facets": facets}


def _switch(name: str, legend: str, text: str, count: int, checked: bool) -> list[dict[str, Any]]:
    if not count and not checked:
        return []
    option = {"value": "true", "text": text, "count": count, "checked": checked}
    return [{"name": name, "legend": legend, "options": [option]}]


def _options(counts: Counter[str], chosen: list[str], texts: Mapping[str, str]) -> list[dict[str, Any]]:
    shown = [value for value, number in counts.most_common(SHOWN) if number]
    shown += [value for value in chosen if value not in shown and value in {**counts, **texts}]
    return _described(shown, counts, chosen, texts)


def _described(
    values: list[str], counts: Counter[str], chosen: list[str], texts: Mapping[str, str]
) -> list[dict[str, Any]]:
    return [{"value": v, "text": texts.get(v, v), "count": counts[v], "checked": v in chosen} for v in values]
