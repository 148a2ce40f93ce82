"""What a search from any page finds, for one person: groups of links. Each source begins with the rows that the person may see."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.http import Http404
from django.urls import Resolver404, resolve, reverse
from django.utils.text import Truncator

from console.accounts.lists import saved_filters
from console.accounts.models import Person
from console.accounts.roles import Permission
from console.base.text.short_ids import ids_from
from console.pages.find.acts import acts_on_tables
from console.pages.find.places import places_for
from console.pages.help import searching, site
from console.pages.preferences.kinds import KINDS
from jobs.commands.registry import title_of
from jobs.models import Job
from jobs.schedules import queries as schedule_queries
from jobs.schedules.places import place_of
from jobs.targets.access import visible_to as visible_jobs
from jobs.web.jobs.queries import titled
from tables import ports
from tables.catalog import listing
from tables.catalog.own import favourites
from tables.models import Table
from tables.rules.search_index import terms
from tables.web.table import page_header

MOST = 6  # of a group
FAVOURITE = "star-filled"
TABLES = 8
BESIDE = 3  # the rank of a table that a search finds by something else than its name
CANDIDATES = 30  # tables that are looked through for the column that was meant
JOBS_OF = 3  # tables
RECENT = 8
REASONS_OF = 5000  # of the newest jobs of all
HELP = 4
REASON = 80  # characters of a job’s reason
HEX = re.compile(r"[0-9a-f-]{4,36}")


@dataclass(frozen=True, slots=True)
class Option:
    """A link of the results. `second` is what tells it from others of its name."""

    text: str
    url: str
    second: str = ""
    icon: str = "arrow-right"


@dataclass(frozen=True, slots=True)
class ResultGroup:
    heading: str
    options: Sequence[Option]


def found(person: Person, q: str, at: str = "") -> list[ResultGroup]:
    """The groups of a search. `at` is the path of the page that it is asked from: its table's pages and acts come first."""
    here = _table_at(person, at)
    tables = _tables(person, q)
    if here is not None:  # you are there already: what can be done with it comes first
        tables = [*(each for each in tables if each.pk != here.pk), *(each for each in tables if each.pk == here.pk)]
    own = [each for each in _favourites(person, q) if here is None or each.pk != here.pk]
    marked = {each.pk for each in own}
    groups = [
        ResultGroup("Favourites", [_table(table, FAVOURITE) for table in own]),
        *_on_this_table(person, here, q),
        ResultGroup("Acts", _acts(person, q, here)),
        ResultGroup("Pages", _pages(person, q)),
        ResultGroup("Saved filters", _filters(person, q)),
        ResultGroup("Tables", [_table(table) for table in tables if table.pk not in marked]),
        ResultGroup("Columns", _columns(person, q, tables)),
        ResultGroup("Jobs", _jobs(person, q, tables)),
        ResultGroup("Streams", _streams(person, q)),
        ResultGroup("Schedules", _schedules(person, q)),
        ResultGroup("People", _people(person, q)),
        ResultGroup("Jobs by their reason", _jobs_by_reason(person, q)),
        ResultGroup("Help", _help(q)),
    ]
    return [group for group in groups if group.options]


def unasked(person: Person, at: str = "", recent: Iterable[str] = ()) -> list[ResultGroup]:
    """What stands there before anything is typed: their favourites, what they last opened, this page's table, their filters, the pages."""
    groups = [
        ResultGroup("Favourites", [_table(table, FAVOURITE) for table in _favourites(person, "")]),
        ResultGroup("Last opened", _recent(person, list(recent)[:RECENT])),
        *_on_this_table(person, _table_at(person, at), ""),
        ResultGroup("Saved filters", _filters(person, "", pinned_only=True)),
        ResultGroup("Pages", _pages(person, "")),
    ]
    return [group for group in groups if group.options]


def _matches(q: str, text: str) -> bool:
    """Whether each word of the question begins one of the text's words."""
    words = text.casefold().split()
    return all(any(word.startswith(term) for word in words) for term in terms(q))


def _on_this_table(person: Person, table: Table | None, q: str) -> list[ResultGroup]:
    """The pages and acts of the page's table; words of the question that its name holds say which table, not what to do there."""
    if table is None:
        return []
    name = table.catalog_name or table.name
    asked = " ".join(term for term in terms(q) if term not in name.casefold())
    matching = [
        Option(text, url, "on this table")
        for text, url, words in page_header.places(person, table)
        if _matches(asked, f"{text} {words}")
    ]
    return [ResultGroup(f"On {name}", matching)]


def _acts(person: Person, q: str, here: Table | None) -> list[Option]:
    return [Option(text, url, table.path, "player-play") for text, url, table in acts_on_tables(person, q, here)]


def _table_at(person: Person, at: str) -> Table | None:
    """The table that a page is about; None for a page about none, or about one that the person may not see."""
    try:
        about = resolve(at).kwargs
    except Resolver404:
        return None
    if "job_id" in about:
        job = visible_jobs(person).filter(pk=about["job_id"]).values_list("table_id", flat=True).first()
        about = {"table_id": job}
    try:
        return listing.table_for(person, about["table_id"]) if about.get("table_id") else None
    except Http404:
        return None


def _pages(person: Person, q: str) -> list[Option]:
    return [
        Option(place.text, place.url, f"g {place.key}" if place.key else "")
        for place in places_for(person)
        if _matches(q, f"{place.text} {place.words}")
    ][: None if q else 12]


def _filters(person: Person, q: str, *, pinned_only: bool = False) -> list[Option]:
    saved = [each for each in saved_filters(person) if each.list in KINDS and KINDS[each.list].address]
    return [
        Option(each.name, f"{reverse(KINDS[each.list].address)}?{each.query}", KINDS[each.list].title, "bookmark")
        for each in saved
        if (each.pinned or not pinned_only) and _matches(q, f"{each.name} {each.list}")
    ][:MOST]


def _tables(person: Person, q: str) -> list[Table]:
    if not person.may(Permission.TABLE_READ):
        return []
    return listing.table_page(person, listing.TableFilter(q=q), listing.SEARCH_ORDER, TABLES, "").rows


def _favourites(person: Person, q: str) -> list[Table]:
    """The first ones by name; of those whose names hold each word of the question."""
    if not person.may(Permission.TABLE_READ):
        return []
    asked = terms(q)
    named = ((each, f"{each.name} {each.catalog_name or ''}".casefold()) for each in favourites.of(person))
    return [each for each, names in named if all(term in names for term in asked)][:MOST]


def _table(table: Table, icon: str = "table") -> Option:
    name = table.catalog_name or table.name
    return Option(name, reverse("tables:overview", args=[table.pk]), table.path, icon)


def _columns(person: Person, q: str, tables: Sequence[Table]) -> list[Option]:
    """Columns whose name holds the last word that was typed, each with its table.

    A word in the names of more tables than are shown is looked for in the columns of those shown: thousands may be named so, and
    each would have to be looked through before it is known that no other one has such a column.
    """
    term = terms(q)[-1]
    are_named_so = len(tables) == TABLES and all(getattr(table, "tier", BESIDE) < BESIDE for table in tables)
    candidates = listing.with_columns(tables) if are_named_so else listing.beside_their_names(person, q, CANDIDATES)
    options = [
        Option(
            column,
            reverse("tables:schema", args=[table.pk]),
            f"column of {table.catalog_name or table.name}",
            "columns-3",
        )
        for table in candidates
        for column in (table.schema.columns if table.schema else ())
        if term in column.casefold()
    ]
    return options[:MOST]


def _jobs(person: Person, q: str, tables: Sequence[Table]) -> list[Option]:
    """The newest jobs of the first tables that were found, and the jobs whose id begins with what was typed."""
    jobs = visible_jobs(person)
    ids = {pk for table in tables[:JOBS_OF] for pk in _newest(jobs.filter(table=table, folded=False))}
    if HEX.fullmatch(prefix := q.strip().casefold()) and (span := ids_from(prefix)):
        ids |= set(_newest(jobs.filter(pk__range=span)))
    known = titled(jobs.filter(pk__in=ids)).select_related("table").order_by("-requested_at", "-id")
    return [_job(job) for job in known[:MOST]] if ids else []


def _newest(jobs: Iterable[Job]) -> list[uuid.UUID]:
    return list(jobs.order_by("-requested_at").values_list("pk", flat=True)[:MOST])  # type: ignore[attr-defined]


def _job(job: Job) -> Option:
    state = job.state.replace("_", " ")
    text = f"{str(job.pk)[:8]}, {state}: {Truncator(job.reason).chars(REASON)}"
    return Option(title_of(job), reverse("jobs:detail", args=[job.pk]), text, "clock")


def _jobs_by_reason(person: Person, q: str) -> list[Option]:
    """Of the newest jobs of all, those that the person sees whose reason holds every word.

    When the oldest of them was requested is asked first: PostgreSQL would otherwise read the reasons of all jobs there are.
    """
    newest = Job.objects.filter(folded=False).order_by("-requested_at", "-id").values_list("requested_at", flat=True)
    jobs = visible_jobs(person).filter(folded=False)
    for oldest in newest[REASONS_OF - 1 : REASONS_OF]:
        jobs = jobs.filter(requested_at__gte=oldest)
    for term in terms(q):
        jobs = jobs.filter(reason__icontains=term)
    return [_job(job) for job in titled(jobs).select_related("table").order_by("-requested_at", "-id")[:MOST]]


def _help(q: str) -> list[Option]:
    """Sections of the help whose headings hold every word."""
    try:
        pages = site.load().pages
    except FileNotFoundError:
        return []  # not built
    asked = q.lower().split()
    hits = [hit for hit in searching.search(q, pages) if _heads(hit, asked)][:HELP]
    return [
        Option(
            hit.section.title,
            f"{reverse('help_page', args=[hit.page.name]) if hit.page.name else reverse('help')}#{hit.section.anchor}",
            "help" if hit.is_page else f"help: {hit.page.title}",
            "help-circle",
        )
        for hit in hits
    ]


def _heads(hit: searching.Hit, asked: Sequence[str]) -> bool:
    heading = f"{hit.page.title} {hit.section.title}".lower()
    return all(word in heading for word in asked)


def _streams(person: Person, q: str) -> list[Option]:
    streams = ports.streams_named(person, q)[:MOST] if person.may(Permission.TABLE_READ) else []
    return [Option(each.name, each.url, f"{each.source} → {each.target}", "refresh") for each in streams]


def _schedules(person: Person, q: str) -> list[Option]:
    if not person.may(Permission.TABLE_READ):
        return []
    schedules = schedule_queries.named(person, q)[:MOST]
    return [
        Option(each.name, reverse("jobs:schedule", args=[each.pk]), f"{each.command} {place_of(each).name}", "clock")
        for each in schedules
    ]


def _people(person: Person, q: str) -> list[Option]:
    if not person.may(Permission.PEOPLE_MANAGE):
        return []
    people = Person.objects.all()
    for term in terms(q):
        people = people.filter(name__icontains=term)
    return [
        Option(each.name, reverse("accounts:person", args=[each.pk]), "person", "user-circle")
        for each in people.order_by("name")[:MOST]
    ]


def _recent(person: Person, recent: Sequence[str]) -> list[Option]:
    """What a browser remembers as `table:ID` and `job:ID`, as far as it is there and the person may see it."""
    asked = [(kind, known) for kind, _, text in (each.partition(":") for each in recent) if (known := _uuid(text))]
    tables = listing.visible_to(person).only("name", "catalog_name", "path")
    jobs = visible_jobs(person).select_related("table").defer("preview")
    rows = {
        "table": {pk: _table(table) for pk, table in tables.in_bulk([i for k, i in asked if k == "table"]).items()},
        "job": {pk: _job(job) for pk, job in jobs.in_bulk([i for k, i in asked if k == "job"]).items()},
    }
    return [option for kind, known in asked if (option := rows.get(kind, {}).get(known))]


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
