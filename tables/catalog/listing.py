"""Queries of the catalog for pages and API. Every one begins with the tables that the person may see."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import Any

from django.db.models import (
    Case,
    DurationField,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce, Now
from django.http import Http404
from django.utils import timezone

from console.accounts.admins import role_needed
from console.accounts.models import Person, Scopes
from console.accounts.roles import Permission
from console.base.errors import Problem
from console.base.pagination import OrderKey, Page, beyond, cut, goes_back, page
from tables.catalog import freshness
from tables.models import NEVER, Addition, Favourite, Finding, Root, Table
from tables.rules.catalog_names import InvalidName, canonical_name
from tables.rules.health_findings import ERRORS, HealthCode
from tables.rules.locations import Location, LocationError, resolve
from tables.rules.search_index import asked_grams, later_word_mark, terms


def roots_of(person: Person, permission: Permission = Permission.TABLE_READ) -> QuerySet[Root]:
    """The roots on which the person has the permission as a whole."""
    scopes = person.scopes(permission)
    return Root.objects.all() if scopes.everything else Root.objects.filter(pk__in=scopes.roots)


def within(scopes: Scopes) -> Q:
    """The condition on tables that a scope stands for."""
    if scopes.everything:
        return Q()
    return Q(root_id__in=scopes.roots) | Q(pk__in=scopes.tables)


def visible_to(person: Person, permission: Permission = Permission.TABLE_READ) -> QuerySet[Table]:
    """The tables of the catalog, hidden ones aside, on which the person has the permission."""
    scopes = person.scopes(permission)
    return Table.objects.filter(within(scopes), hidden_at=None) if scopes else Table.objects.none()


def table_for(person: Person, table_id: uuid.UUID, permission: Permission = Permission.TABLE_READ) -> Table:
    """One table with its root and schema. Raises Http404 if the person can't see it, Problem 403 if they lack the permission."""
    table = visible_to(person).select_related("root", "schema", "times").filter(pk=table_id).first()
    if table is None:
        raise Http404
    if not person.scopes(permission).covers_table(table.root_id, table.pk):
        raise Problem(403, "forbidden", role_needed(permission, where=table.name))
    return table


def locate(person: Person, text: str, permission: Permission = Permission.TABLE_READ) -> Location[Root]:
    """The place that a typed path names, in a root that the person may see.

    Raises Problem: 403 `outside_roots`, 404 `not_found`, 403 `forbidden` where they see the root without having the permission.
    """
    reads = person.scopes(Permission.TABLE_READ)
    try:
        location = resolve(text, Root.objects.all(), lambda root: reads.covers_root(root.pk))
    except LocationError as error:
        raise Problem(error.status, error.code, str(error)) from None
    if not person.scopes(permission).covers_root(location.root.pk):
        raise Problem(403, "forbidden", role_needed(permission, where=f"the root {location.root.name}"))
    return location


def known_at(person: Person, path: str) -> Table | None:
    """The table of the catalog at a canonical path, when the person may see it."""
    return visible_to(person).select_related("root", "schema", "times").filter(path=path).first()


@dataclass(frozen=True, slots=True)
class TableFilter:
    """The filter of a list of tables; each group holds alternatives, and all groups apply."""

    q: str = ""
    root: Sequence[str] = ()
    format: Sequence[str] = ()
    tag: Sequence[str] = ()
    owner: Sequence[str] = ()
    feature: Sequence[str] = ()
    health: Sequence[str] = ()
    age: Sequence[str] = ()
    stale: bool = False
    favourite_of: Person | None = None  # their favourites alone

    def __bool__(self) -> bool:
        return any(getattr(self, each.name) for each in fields(self))


ANY = frozenset({"any", "warning"})
ERROR = "error"  # any of the findings that are errors
AGES = ("day", "old")
GROUPS = ("root", "format", "tag", "owner", "feature", "health", "age")  # groups of alternatives, by name


def named(person: Person, name: str) -> Table:
    """The table with a catalog name. Raises Problem 404 `no_table`."""
    try:
        table = (
            visible_to(person)
            .select_related("root", "schema", "times")
            .filter(catalog_name=canonical_name(name))
            .first()
        )
    except InvalidName:
        table = None
    if table is None:
        raise Problem(404, "no_table", f"No table is named {name}.")
    return table


def _changed(age: str) -> Q:
    now = timezone.now()
    if age == "day":
        return Q(last_commit_at__gte=now - timedelta(days=1))
    return Q(last_commit_at__lt=now - timedelta(days=90))


def narrowed(tables: QuerySet[Table], wanted: TableFilter) -> QuerySet[Table]:
    """The tables that the filter leaves, the search included. Raises Problem 400 `invalid` for a root's odd id."""
    return tables.filter(_conditions(wanted))


def _conditions(wanted: TableFilter) -> Q:
    conditions = Q()
    for name in ("format", "owner"):
        if values := getattr(wanted, name):
            conditions &= Q(**{f"{name}__in": values})
    if wanted.root:
        conditions &= _root(wanted.root)
    for name, column in (("tag", "tags"), ("feature", "features")):
        if values := getattr(wanted, name):
            conditions &= _overlap(column, list(values))
    if wanted.health:
        conditions &= _health(list(wanted.health))
    if wanted.age:
        conditions &= _any(map(_changed, wanted.age))
    if wanted.stale:
        conditions &= freshness.out_of_sync()
    if wanted.favourite_of is not None:
        conditions &= favourite_of(wanted.favourite_of)
    for term in terms(wanted.q):
        conditions &= Q(grams__contains=asked_grams(term), words__contains=term)
    return conditions


def favourite_of(person: Person) -> Q:
    """The condition on tables that the person marked as a favourite."""
    return Q(pk__in=Favourite.objects.filter(person=person).values("table_id"))


def _overlap(column: str, values: list[str]) -> Q:
    """Rows with one of the values; ANY stands for all that have a value."""
    return ~Q(**{column: []}) if ANY & set(values) else Q(**{f"{column}__overlap": values})


def _health(values: list[str]) -> Q:
    if ERROR in values:
        values = [*values, *ERRORS]
    condition = _overlap("health_codes", values)
    return condition | freshness.late() if {*ANY, HealthCode.STALE_SYNC.value} & set(values) else condition


def _root(values: Iterable[str]) -> Q:
    ids, names = [], []
    for value in values:
        try:
            ids.append(uuid.UUID(value))
        except ValueError:
            names.append(value)
    return Q(root_id__in=ids) | Q(root__name__in=names)


def _any(conditions: Iterable[Q]) -> Q:
    combined = Q()
    for condition in conditions:
        combined |= condition
    return combined


ORDERS: Mapping[str, tuple[OrderKey, ...]] = {
    "name": (OrderKey("name"), OrderKey("id")),
    "-size": (OrderKey("size_key", descending=True), OrderKey("id")),
    "-files": (OrderKey("files_key", descending=True), OrderKey("id")),
    "-changed": (OrderKey("change_key", descending=True), OrderKey("id")),
}
SEARCH_ORDER = "best"
MOST_PARTS = 20
# What a row of a list shows: the other columns are wide.
LISTED = (
    "root_id", "path", "name", "catalog_name", "format", "owner", "tags", "version", "last_commit_at", "size_bytes", "num_files",
    "num_records", "health_codes", "missing_since", "sync_error", "times__synced_at", "times__next_sync_at",
)  # fmt: skip


def table_page(person: Person, wanted: TableFilter, order: str, limit: int, cursor: str) -> Page[Table]:
    """One page of the tables that the person may see. In the order `best` the best match of the search comes first."""
    if order == SEARCH_ORDER and terms(wanted.q):
        return _best(person, wanted, limit, cursor)
    keys = ORDERS.get(order) or ORDERS["name"]
    if keys == ORDERS["name"] and len(parts := _parts(person)) > 1:
        return _by_name(parts, wanted, limit, cursor)
    tables = narrowed(visible_to(person), wanted)
    keyed = tables.annotate(
        size_key=Coalesce("size_bytes", -1),
        files_key=Coalesce("num_files", -1),
        change_key=Coalesce("last_commit_at", NEVER),
    )
    return page(keyed.select_related("times").only(*LISTED), keys, limit, cursor)


MOST_COUNTED = 500


def count_some(person: Person, wanted: TableFilter) -> int | None:
    """How many tables the filter leaves; None for more than MOST_COUNTED. In no order, so that the index that finds few is used."""
    count = narrowed(visible_to(person), wanted).order_by()[: MOST_COUNTED + 1].count()
    return count if count <= MOST_COUNTED else None


def _by_name(parts: list[QuerySet[Table]], wanted: TableFilter, limit: int, cursor: str) -> Page[Table]:
    """The list in its usual order, root by root: few names are looked at however the roots lie in the alphabet."""
    keys = ORDERS["name"]
    ids = [beyond(narrowed(part, wanted), keys, cursor, limit).values_list("name", "pk") for part in parts]
    forward = ids[0].union(*ids[1:], all=True)
    tables = Table.objects.filter(pk__in=[pk for _, pk in forward])
    return page(tables.select_related("times").only(*LISTED), keys, limit, cursor)


def _best(person: Person, wanted: TableFilter, limit: int, cursor: str) -> Page[Table]:
    """Each tier is asked for one page at most, so that a word that every table has costs no more than a rare one.

    What the names themselves bring comes first; any other place is searched only where that leaves room.
    """
    groups = [(_by_their_names(wanted), [visible_to(person)]), (_by_the_rest(wanted), _parts(person))]
    rows: list[tuple[int, str, uuid.UUID]] = []
    for tiers, parts in reversed(groups) if goes_back(cursor, BEST) else groups:
        rows += _first_of([part.filter(c).annotate(tier=tier) for c, tier in tiers for part in parts], limit, cursor)
        if len(rows) > limit:
            break
    return cut(_in_rank(rows[: limit + 1]), BEST, limit, cursor)


def beside_their_names(person: Person, q: str, limit: int) -> list[Table]:
    """Tables that a search finds by something else than their name, by name, with their columns; at most so many."""
    wanted = TableFilter(q=q)
    if not terms(q):
        return []
    ((condition, tier),) = _by_the_rest(wanted)
    rows = _first_of([part.filter(condition).annotate(tier=tier) for part in _parts(person)], limit, "")
    return _with_columns([pk for _, _, pk in rows[:limit]])


def with_columns(tables: Iterable[Table]) -> list[Table]:
    """The same tables with their columns, in their order."""
    return _with_columns([table.pk for table in tables])


def _with_columns(ids: Sequence[uuid.UUID]) -> list[Table]:
    found = Table.objects.select_related("schema").only("name", "catalog_name", "schema__columns").in_bulk(ids)
    return [found[pk] for pk in ids]


BEST = (OrderKey("tier"), OrderKey("name"), OrderKey("id"))


def _by_their_names(wanted: TableFilter) -> tuple[tuple[Q, Any], ...]:
    """The best matches as conditions, each with its tier: the name itself and its beginning (one index finds both), then the
    beginning of a later word in it."""
    term = _compared(wanted.q)
    others = _conditions(_without_implied(wanted, term))
    whole = Case(When(leaf=term, then=Value(0)), default=Value(1))
    first, later = Q(leaf__startswith=term), _later_word(term)
    return (others & first, whole), (others & later & ~first, Value(2))


def _by_the_rest(wanted: TableFilter) -> tuple[tuple[Q, Any], ...]:
    """What is found in any other place: all that the tiers of names leave."""
    term = _compared(wanted.q)
    return ((_conditions(wanted) & ~Q(leaf__startswith=term) & ~_later_word(term), Value(3)),)


def _compared(query: str) -> str:
    """What names are compared with: the last part of the last term."""
    term = terms(query)[-1]
    return re.split(r"[./]", term)[-1] or term


def _without_implied(wanted: TableFilter, term: str) -> TableFilter:
    """The filter without the term that a name fulfils by itself when a word in it begins with it."""
    *others, last = terms(wanted.q)
    return replace(wanted, q=" ".join(others)) if last == term else wanted


def _later_word(term: str) -> Q:
    return Q(grams__contains=[later_word_mark(term)], leaf__regex=rf"(\W|_){re.escape(term)}")


def _first_of(parts: list[Any], limit: int, cursor: str) -> list[tuple[int, str, uuid.UUID]]:
    """One page's rows, and one more, of all parts together; each part gives as many at most."""
    first, *others = [beyond(part, BEST, cursor, limit).values_list("tier", "name", "pk") for part in parts]
    sign = "-" if goes_back(cursor, BEST) else ""
    rows = first.union(*others, all=True).order_by(f"{sign}tier", f"{sign}name", f"{sign}pk") if others else first
    return list(rows[: limit + 1])


def _in_rank(rows: Sequence[tuple[int, str, uuid.UUID]]) -> list[Table]:
    """The tables of these rows, in their order, each with its `tier`."""
    tables = Table.objects.select_related("times").only(*LISTED).in_bulk([pk for _, _, pk in rows])
    for tier, _, pk in rows:
        tables[pk].tier = tier  # type: ignore[attr-defined]
    return [tables[pk] for _, _, pk in rows]


def _parts(person: Person) -> list[QuerySet[Table]]:
    """What the person sees, cut by root where these are few: in one root, an index has the tables in order."""
    scopes = person.scopes(Permission.TABLE_READ)
    if scopes.everything or scopes.tables or not 0 < len(scopes.roots) <= MOST_PARTS:
        return [visible_to(person)]
    return [Table.objects.filter(root_id=root, hidden_at=None) for root in sorted(scopes.roots)]


def findings_of(*roots: Root) -> QuerySet[Finding]:
    """What the scans of roots have found, by path, each with `known_id` (its table in the catalog) and `state`."""
    known = Table.objects.filter(path=OuterRef("path"), hidden_at=None).values("pk")[:1]
    state = Case(
        When(gone_at__isnull=False, then=Value("gone")),
        When(known_id__isnull=False, then=Value("known")),
        default=Value("new"),
    )
    return Finding.objects.filter(root__in=roots).annotate(known_id=Subquery(known)).annotate(state=state)


def count_new(*roots: Root) -> int:
    """How many finds aren't in the catalog, up to MOST_COUNTED and one."""
    known = Table.objects.filter(path=OuterRef("path"), hidden_at=None)
    new = Finding.objects.filter(~Exists(known), root__in=roots, gone_at=None)
    return new.order_by()[: MOST_COUNTED + 1].count()


def scan_waits() -> Q:
    """The condition on roots with scanning to do, or with finds to add; a paused root waits for nothing."""
    adding = Q(pk__in=Addition.objects.filter(ended_at=None).values("root")) & Q(paused_at=None, removed_at=None)
    return scan_wanted() | adding


def scan_wanted() -> Q:
    """The condition on roots with a scan that was requested, has begun or is due by the root's schedule, and hasn't ended."""
    asked = Q(scan_asked_at__isnull=False) & (Q(scanned_at=None) | Q(scanned_at__lt=F("scan_asked_at")))
    pause = ExpressionWrapper(F("scan_hours") * Value(timedelta(hours=1)), output_field=DurationField())
    due = Q(scan_hours__isnull=False) & (Q(scanned_at=None) | Q(scanned_at__lt=Now() - pause))
    return (asked | due | Q(scan_pass__isnull=False)) & Q(paused_at=None, removed_at=None)


def root_for(person: Person, root_id: uuid.UUID, permission: Permission = Permission.TABLE_READ) -> Root:
    """One root. Raises Http404 if the person can't see it, Problem 403 if they lack the permission."""
    root = roots_of(person).filter(pk=root_id).first()
    if root is None:
        raise Http404
    if not person.scopes(permission).covers_root(root.pk):
        raise Problem(403, "forbidden", f"This needs {permission.value} on the root {root.name}.")
    return root


def moved_to(person: Person, table: Table) -> Table | None:
    """The new location of a table that vanished: the entry with the same Delta id that isn't missing."""
    if table.missing_since is None or not table.table_id:
        return None
    return visible_to(person).filter(table_id=table.table_id, missing_since=None).exclude(pk=table.pk).first()
