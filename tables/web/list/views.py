"""The pages of the catalog as a whole: the list, adding tables, scanning roots."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from console.accounts.lists import KeptList, in_order, listing_of
from console.accounts.models import Person
from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from console.accounts.sign_in.drafts import entered
from console.audit.actor import Actor
from console.base.errors import Problem
from console.base.pagination import OrderKey, page, pager
from console.base.text.counted import counted
from tables import ports
from tables.catalog import facets, listing
from tables.catalog.adding import additions
from tables.catalog.adding import bulk as bulk_additions
from tables.catalog.own import favourites
from tables.catalog.roots import scans
from tables.models import Root, Table
from tables.rules.search_index import terms
from tables.web.forms import FACET_NAMES, ORDERS, PathForm
from tables.web.kinds import TABLES
from tables.web.list.rows import ListedTable, rows_of

FINDINGS = 200
FRESH = 50
ORDERED_BY = {"size": "-size", "files": "-files", "changed": "-changed"}  # column → the order that its head asks for
MAX_VALUES = 100  # of one group


@requires(Permission.TABLE_READ)
@require_GET
def table_list(request: HttpRequest) -> HttpResponse:
    """The filtered catalog; only the table for a swap while you type."""
    person = person_of(request)
    wanted = _filter(request, person)
    arranged = listing_of(person, TABLES, request.GET)
    usual = "best" if terms(wanted.q) else arranged.order or "name"
    order = request.GET.get("order", "") or usual
    table_page = listing.table_page(person, wanted, order, arranged.rows, request.GET.get("cursor", ""))
    is_all = table_page.next is None and table_page.previous is None
    columns = [name for name, _ in TABLES.columns if name in arranged.columns]
    heads = _heads(request, order, arranged)
    context = {
        "rows": _rows(person, table_page.rows, columns),
        "listing": arranged,
        "heads": heads,
        "order_text": "" if any(head["sorted"] for head in heads) else _order_text(order),
        "total": len(table_page.rows) if is_all else listing.count_some(person, wanted),
        "most_counted": listing.MOST_COUNTED,
        "page": pager(in_order(request.GET, order), table_page, "Next"),
        "wanted": wanted,
        "order": order,
        "streams": ports.streams_named(person, wanted.q),
    }
    if getattr(request, "htmx", False) and request.headers.get("HX-Target") == "found":
        return render(request, "tables/list/_rows.html", context)
    return render(request, "tables/list/list.html", {**context, **_around(request, person, wanted, usual)})


def _rows(person: Person, tables: Sequence[Table], columns: Sequence[str]) -> list[ListedTable]:
    """The list's rows. Which streams are at plain directories is asked once, by those who would be offered to convert one."""
    may_request = person.may(Permission.JOB_REQUEST)
    plain = [table.path for table in tables if not table.is_delta] if may_request else []
    marked = favourites.among(person, tables)
    streaming = ports.streams_at(person, plain)
    return rows_of(tables, columns, may_request=may_request, streaming=streaming, favourites=marked)


def _filter(request: HttpRequest, person: Person) -> listing.TableFilter:
    groups = {name: _values(request, name) for name in listing.GROUPS}
    favourite_of = person if _is_on(request, "favourite") else None
    q = request.GET.get("q", "")[:200].replace("\x00", " ")
    return listing.TableFilter(q=q, stale=_is_on(request, "stale"), favourite_of=favourite_of, **groups)


def _is_on(request: HttpRequest, name: str) -> bool:
    return request.GET.get(name, "") in ("1", "true", "on")


def _values(request: HttpRequest, name: str) -> list[str]:
    """What a group is narrowed to; what no table can have is left out."""
    given = request.GET.getlist(name)[:MAX_VALUES]
    return [value for value in given if value and "\x00" not in value and (name != "age" or value in listing.AGES)]


def _order_text(order: str) -> str:
    """The order in words, for one that no column's head shows."""
    return "best match first" if order == "best" else dict(ORDERS).get(order, "")


def _heads(request: HttpRequest, order: str, arranged: KeptList) -> list[dict[str, Any]]:
    """The columns that the person has, with the addresses that order the list by them."""
    heads: list[dict[str, Any]] = []
    shown_columns = [(name, text) for name, text in TABLES.columns if name in arranged.columns]
    for name, text in (("table", "Table"), *shown_columns):
        by = "name" if name == "table" else ORDERED_BY.get(name)
        head = {"name": name, "text": text, "numeric": name not in ("table", "health"), "sorted": by == order}
        if by is not None:
            query = request.GET.copy()
            query.pop("cursor", None)
            query["order"] = by
            head["url"] = f"{reverse('tables:list')}?{query.urlencode()}"
            head["direction"] = "descending" if by.startswith("-") else "ascending"
        heads.append(head)
    return heads


@requires(Permission.TABLE_READ)
@require_GET
def values(request: HttpRequest) -> HttpResponse:
    """All values of one facet, to select; keeps the list's other filters."""
    name, part = request.GET.get("facet", ""), request.GET.get("part", "")[:100]
    if name not in facets.LEGENDS:
        raise Http404
    counts, counted_at = facets.counts_for(person_of(request))
    chosen = _values(request, name)
    options, total = facets.values_of(name, part, counts, chosen, FACET_NAMES)
    others = [group for group in (*listing.GROUPS, "q", "stale", "favourite", "order") if group != name]
    context = {
        "name": name, "legend": facets.LEGENDS[name], "values": options, "total": total, "part": part, "chosen": chosen,
        "kept": [(group, value) for group in others for value in request.GET.getlist(group)[:MAX_VALUES] if value],
        "counted_at": counted_at,
    }  # fmt: skip
    return render(request, "tables/list/values.html", context)


def _around(request: HttpRequest, person: Person, wanted: listing.TableFilter, usual: str) -> dict[str, Any]:
    """What stands around the list: facets, the ways to order it. A later page names its order, which nobody need have chosen."""
    chosen = {name: list(getattr(wanted, name)) for name in listing.GROUPS}
    chosen["stale"] = ["true"] if wanted.stale else []
    chosen_order = request.GET.get("order", "")
    if "cursor" in request.GET and chosen_order == usual:
        chosen_order = ""
    orders = [{"value": value, "text": text, "checked": chosen_order == value} for value, text in ORDERS]
    counts, counted_at = facets.counts_for(person)
    narrowing = request.GET.copy()
    narrowing.pop("cursor", None)
    return {
        "found_new": 0 if wanted else _found_new(person),
        "most_found": listing.MOST_COUNTED,
        "facets": _own(person, wanted) + facets.groups(counts, chosen, FACET_NAMES),
        "counted_at": counted_at,
        "orders": orders,
        "narrowing": narrowing.urlencode(),
    }


def _own(person: Person, wanted: listing.TableFilter) -> list[dict[str, Any]]:
    return facets.favourites_group(favourites.count(person), wanted.favourite_of is not None)


def _found_new(person: Person) -> int:
    """How many of what scans found in roots where the person may add tables aren't in the catalog; counted up to MOST_COUNTED and one."""
    addable = list(listing.roots_of(person, Permission.TABLE_ADD)) if person.may(Permission.TABLE_ADD) else []
    return listing.count_new(*addable) if addable else 0


@requires(Permission.TABLE_ADD, Permission.ROOT_MANAGE)
@require_http_methods(["GET", "POST"])
def add(request: HttpRequest) -> HttpResponse:
    """Adds a table by its path, or leads to the roots to scan."""
    form = PathForm(entered(request))
    problem: Problem | None = None
    if request.method == "POST" and form.is_valid():
        try:
            added = additions.add_table(Actor.of(request), form.cleaned_data["path"].strip(" "))
        except Problem as refused:
            problem = refused
        else:
            return redirect("tables:overview", added.table.pk)
    person = person_of(request)
    addable = list(listing.roots_of(person, Permission.TABLE_ADD))
    fresh = list(listing.findings_of(*addable).filter(Q(state="new")).order_by("path")[:FRESH])
    streaming = ports.streams_at(person, [each.path for each in fresh if each.kind == "parquet"])
    roots = {root.pk: root for root in (*addable, *listing.roots_of(person, Permission.ROOT_MANAGE))}
    context = {
        "form": form,
        "problem": problem,
        "roots": sorted(roots.values(), key=lambda root: root.name),
        "addable": {root.pk for root in addable},
        "may_add": person.may(Permission.TABLE_ADD),
        "metastore": settings.ENV.metastore,
        "fresh": [(each, streaming.get(each.path, "")) for each in fresh],
    }
    return render(request, "tables/list/add.html", context, status=problem.status if problem else 200)


@requires(Permission.TABLE_ADD, Permission.ROOT_MANAGE)
@require_http_methods(["GET", "POST"])
def findings(request: HttpRequest, root_id: uuid.UUID) -> HttpResponse:
    """The findings of a root's scans, to select; only the fragment while a scan runs."""
    manages = person_of(request).scopes(Permission.ROOT_MANAGE).covers_root(root_id)
    needed = Permission.TABLE_ADD if request.method == "POST" or not manages else Permission.TABLE_READ
    root = listing.root_for(person_of(request), root_id, needed)
    if request.method == "POST":
        return _add_ticked(request, root)
    context = _findings(request, root)
    return render(
        request, "tables/list/_findings.html" if request.GET.get("part") else "tables/list/findings.html", context
    )


def _findings(request: HttpRequest, root: Root) -> dict[str, Any]:
    rows = listing.findings_of(root)
    addition = bulk_additions.of_root(root).first()
    is_adding = addition is not None and addition.ended_at is None
    finding_page = page(rows, [OrderKey("path")], FINDINGS, request.GET.get("cursor", ""))
    return {
        "root": root,
        "may_add": person_of(request).scopes(Permission.TABLE_ADD).covers_root(root.pk),
        "may_manage": person_of(request).scopes(Permission.ROOT_MANAGE).covers_root(root.pk),
        "rows": [
            {"finding": row, "below": row.path.removeprefix(root.uri).lstrip("/") or row.path}
            for row in finding_page.rows
        ],
        "fresh": rows.filter(**{"state": "new"}).count(),
        "page": pager(request.GET, finding_page, "Next"),
        "scan": scans.under_way(root),
        "addition": addition,
        "done": bulk_additions.done_of(addition) if addition else 0,
        "is_adding": is_adding,
        "poll_url": f"{reverse('tables:findings', args=[root.pk])}?part=1" if root.is_scanning or is_adding else None,
    }


def _add_ticked(request: HttpRequest, root: Root) -> HttpResponse:
    paths = request.POST.getlist("path")
    if not paths:
        messages.info(request, "You haven’t selected a table.")
        return redirect("tables:findings", root.pk)
    added = additions.add_found(Actor.of(request), root, paths)
    fresh = sum(1 for each in added if each.is_new)
    if len(added) == 1:
        return redirect("tables:overview", added[0].table.pk)
    reads = "its log is" if fresh == 1 else "their logs are"
    messages.success(request, f"{counted(fresh, 'table')} added; {reads} being read.")
    return redirect(f"{reverse('tables:list')}?root={root.pk}")


@requires(Permission.TABLE_ADD)
@require_POST
def scan(request: HttpRequest, root_id: uuid.UUID) -> HttpResponse:
    """Asks for a scan of a root."""
    root = listing.root_for(person_of(request), root_id, Permission.TABLE_ADD)
    scans.ask_scan(Actor.of(request), root)
    return redirect("tables:findings", root.pk)


@requires(Permission.TABLE_ADD)
@require_POST
def add_all(request: HttpRequest, root_id: uuid.UUID) -> HttpResponse:
    """Has the light worker add all that scans of a root found new; the findings' page shows how far it is."""
    root = listing.root_for(person_of(request), root_id, Permission.TABLE_ADD)
    bulk_additions.request(Actor.of(request), root)
    return redirect("tables:findings", root.pk)


def shown(request: HttpRequest, table_id: uuid.UUID) -> Table:
    """The table of a page. Raises Http404 if the person can't see it."""
    return listing.table_for(person_of(request), table_id)
