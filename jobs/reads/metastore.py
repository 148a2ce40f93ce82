"""Reads of the metastore's databases and tables, and the addition of tables that it names.

The interactive worker lists, through Spark's Hive client. The light worker adds: it has the interactive one describe the tables,
page by page, and enters each by itself, so that a crash loses none and a refusal stops none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from console.accounts.admins import role_needed
from console.accounts.models import Person
from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem
from console.base.pagination import NOT_STORED
from console.base.text.masking import masked_text
from console.base.timeouts import timing
from jobs.models import Read, Worker
from jobs.reads import queue
from tables.catalog import rights
from tables.catalog.adding.additions import kind_at, locate
from tables.catalog.listing import visible_to
from tables.catalog.renaming import FORMATS, add_named
from tables.models import Root, Table
from tables.rules.catalog_names import CatalogEntry, InvalidEntry, InvalidName, canonical_name, declared
from tables.rules.discovery import DirectoryKind
from tables.rules.locations import LocationError, canonical, innermost

LIST, ADD = "metastore", "metastore_add"
KINDS = (LIST, ADD)
MAX_NAMES = 500
MAX_REFUSALS = 200
MAX_NAME = 128  # what a Hive metastore keeps of a database's name, and Levee's catalog of a table's
MAX_CURSOR = 256  # what it keeps of a table's name
STATUS = {"metastore_away": 503, "no_database": 404, "no_metastore": 409}
MOST_ADDITIONS = 2  # under way at a time: the light workers have syncs to do, too
OPEN_FOR = timedelta(days=7)  # nobody’s addition waits or works for longer
WAIT_SECONDS = 120  # for a worker with Spark to describe one page


def address() -> str:
    """The metastore's address. Raises Problem 409 `no_metastore` without the setting."""
    configured: str | None = settings.ENV.metastore
    if configured is None:
        detail = "LEVEE_METASTORE isn’t set, so Levee knows no metastore. Set it and restart Levee."
        raise Problem(409, "no_metastore", detail)
    return configured


def require(person: Person) -> None:
    """Raises Problem 403 `forbidden` unless the person may add tables somewhere."""
    if not person.may(Permission.TABLE_ADD):
        raise Problem(403, "forbidden", role_needed(Permission.TABLE_ADD, where="a root at least"))


def ask_databases(person: Person) -> Read:
    """Queues the list of databases. Raises Problem 409 `no_metastore`, 403, 429 `too_many_reads`."""
    return _ask(person, {})


def ask_tables(person: Person, database: str, cursor: str = "") -> Read:
    """Queues a page of a database's tables, those after `cursor` (a name). Raises Problem as `ask_databases`, and 400 `invalid`."""
    if len(cursor) > MAX_CURSOR or NOT_STORED.search(cursor):
        raise _invalid("cursor", "A cursor is the `next` of the answer before.")
    return _ask(person, {"database": _part("database", database), **({"cursor": cursor} if cursor else {})})


def _ask(person: Person, question: Mapping[str, Any]) -> Read:
    require(person)
    address()
    return queue.ask(person, LIST, Worker.Kind.INTERACTIVE, dict(question))


def ask_addition(actor: Actor, database: str, names: Sequence[str] | None) -> Read:
    """Has the light worker add tables of a database by name; None: all of them.

    Each is then entered under the actor's permission at its location. Raises Problem 409 `no_metastore`, 403, 400 `invalid`,
    429 `too_many_reads` beside another addition of theirs, 503 `busy` beside two of others or without a worker that has Spark.
    """
    person = rights.person_of(actor)
    require(person)
    place = address()
    question: dict[str, Any] = {"database": _part("database", database)}
    if names is not None:
        if not 0 < len(names) <= MAX_NAMES:
            raise _invalid("names", f"Select 1 to {MAX_NAMES} tables, or all.")
        question["names"] = sorted({_part("names", name) for name in names})
    if not queue.is_ready(Worker.Kind.INTERACTIVE):
        detail = "No worker with Spark is ready to describe the metastore’s tables. Nothing was added; try again once one is."
        raise Problem(503, "busy", detail, retry_after=queue.RETRY_AFTER)
    with transaction.atomic():
        after = {"metastore": place, **question}
        record(actor, Action.METASTORE_ADD, ObjectKind.METASTORE, database, database, after=after)
        others = Read.objects.filter(kind=ADD, state__in=(Read.State.WAITING, Read.State.RUNNING), expires_at__gt=Now())
        asked = queue.ask(person, ADD, Worker.Kind.LIGHT, question, open_for=OPEN_FOR)
        _refuse_more(person, others.exclude(pk=asked.pk))
        return asked


def _refuse_more(person: Person, others: QuerySet[Read]) -> None:
    """Refuses an addition beside `others` that are under way; whoever asks for it writes nothing then."""
    if others.filter(person=person).exists():
        text = "Levee is adding tables for you already. Wait until that has ended, then try again."
        raise Problem(429, "too_many_reads", text, retry_after=queue.RETRY_AFTER)
    if others.count() >= MOST_ADDITIONS:
        text = f"Levee is adding tables for {MOST_ADDITIONS} other people. Wait until one addition has ended, then try again."
        raise Problem(503, "busy", text, retry_after=queue.RETRY_AFTER)


def _part(field: str, text: str) -> str:
    if not text or len(text) > MAX_NAME or not text.isprintable():
        raise _invalid(field, f"A name in a metastore has 1 to {MAX_NAME} printable characters.")
    return text.lower()


def _invalid(field: str, detail: str) -> Problem:
    return Problem(400, "invalid", detail, fields={field: detail})


def problem_status(code: str) -> int:
    """The HTTP status of the engine's refusal of a read of the metastore."""
    return STATUS.get(code, 422)


# What a listing shows


def shown(person: Person, read: Read) -> dict[str, Any]:
    """The read's answer for this person: each table with what the catalog knows at its location, and why it can't be added.

    It goes by the words alone: a page of tables mustn't wait for as many directories.
    """
    answer: dict[str, Any] = read.answer or {}
    if read.kind == ADD or "tables" not in answer:
        return answer
    sight = _Sight(person, answer["tables"])
    return {**answer, "tables": [_row(sight, answer["database"], table) for table in answer["tables"]]}


class _Sight:
    """What a person sees of the places of a metastore's tables: roots, and the catalog's tables there."""

    def __init__(self, person: Person, tables: Sequence[Mapping[str, Any]]) -> None:
        self.reads, self.adds = person.scopes(Permission.TABLE_READ), person.scopes(Permission.TABLE_ADD)
        self.roots = list(Root.objects.all())
        self.paths = {table["name"]: path for table in tables if (path := _canonical(table["location"]))}
        rows = visible_to(person).filter(path__in=set(self.paths.values()))
        self.known = {table.path: table for table in rows}

    def shows(self, root: Root | None, entry: Table | None) -> bool:
        """Whether the person sees where a table is: below such a root, as a table of theirs, or because they add everywhere."""
        return root is not None or entry is not None or self.adds.everything

    def root_of(self, path: str) -> Root | None:
        """The root that the person sees above a path; None for another's, as for none."""
        root = innermost(path, self.roots)
        return root if root is not None and self.reads.covers_root(root.pk) else None


def _canonical(location: str | None) -> str | None:
    try:
        return canonical(location) if location else None
    except LocationError:
        return None


def _row(sight: _Sight, database: str, table: Mapping[str, Any]) -> dict[str, Any]:
    path = sight.paths.get(table["name"])
    entry = sight.known.get(path or "")
    name = f"{database}.{table['name']}"
    root = sight.root_of(path) if path else None
    is_known = entry is not None and entry.catalog_name == name
    return {
        **{field: table[field] for field in ("name", "type", "format")},
        "location": masked_text(table["location"]) if sight.shows(root, entry) else None,
        "root": root.name if root else None,
        "table": str(entry.pk) if entry else None,
        "catalog_name": entry.catalog_name if entry else None,
        "is_known": is_known,
        "is_stale": entry is not None and entry.is_delta and table["format"] == "parquet",
        "refusal": "" if is_known else _no_table(name, table) or _no_place(sight, root, entry, name),
    }


def _no_table(name: str, table: Mapping[str, Any]) -> str:
    """Why what the metastore has under a name is no table for Levee; empty if it is one."""
    if table["type"] == "view":
        return "A view has no files."
    if table["type"] == "unreadable":
        return f"Spark can’t read what the metastore keeps of it: {table['why']}"
    if table["format"] not in FORMATS:
        return f"Levee adds Delta and parquet tables; this one is {table['format'] or 'of an unknown format'}."
    if not table["location"]:
        return "The metastore keeps no location for it."
    try:
        canonical_name(name)
    except InvalidName as error:
        return str(error)
    return ""


def _no_place(sight: _Sight, root: Root | None, entry: Table | None, name: str) -> str:
    if root is None and entry is None:
        return "Its location is outside of the roots that you see. Have an admin add a root above it."
    if entry is not None and entry.catalog_name:
        return f"The catalog has its location under the name {entry.catalog_name}."
    if root is not None and not sight.adds.covers_root(root.pk):
        return f"You may not add tables below the root {root.name}."
    return ""


# Adding


def add_tables(read: Read) -> dict[str, Any]:
    """Answers a `metastore_add` read: `{database, tables, added, named, known, refused: [{name, code, detail}]}`.

    `tables` were looked at, `added` are new in the catalog, `named` were there and got this name, `known` had it. At most
    MAX_REFUSALS are told; `refusals` counts them all. Raises Problem for a metastore that is away, and 403 `forbidden` at the next
    page once the asker may add tables nowhere.
    """
    database = str(read.question["database"])
    counts = {"tables": 0, "added": 0, "named": 0, "known": 0, "refusals": 0}
    refused: list[dict[str, str]] = []
    for page in _pages(read):
        actor = Actor.acting_for(_asker(read))
        for table in page:
            counts["tables"] += 1
            try:
                counts[_added(actor, database, table)] += 1
            except Problem as problem:
                counts["refusals"] += 1
                refused.append({"name": table["name"], "code": problem.code, "detail": problem.detail})
    return {"database": database, **counts, "refused": refused[:MAX_REFUSALS]}


def _asker(read: Read) -> Person:
    """The asker with the rights that they have now: those of a page before may be gone. Raises Problem 403."""
    person = Person.objects.get(pk=read.person_id)
    require(person)
    return person


def _pages(read: Read) -> Iterator[list[dict[str, Any]]]:
    """The tables of the question as the metastore has them now, and a refusal's place for each name that it lacks."""
    question = {"database": read.question["database"]}
    wanted = read.question.get("names")
    if wanted is not None:
        there = _answer(read.person, {**question, "names": wanted})["tables"]
        gone = set(wanted) - {table["name"] for table in there}
        yield [*there, *({"name": name, "type": "gone"} for name in sorted(gone))]
        return
    cursor: str | None = ""
    while cursor is not None:
        page = _answer(read.person, {**question, **({"cursor": cursor} if cursor else {})})
        yield page["tables"]
        cursor = page["next"]


def _answer(person: Person, question: dict[str, Any]) -> dict[str, Any]:
    """The interactive worker's answer. Raises Problem: the read's own, or 503 `busy` if no worker has answered in time."""
    asked = queue.ask(person, LIST, Worker.Kind.INTERACTIVE, question)
    done = queue.until_answered(asked, min(WAIT_SECONDS, timing().read_kept))
    if problem := queue.problem_of(done):
        raise problem
    if done.answer is None:
        detail = "No worker with Spark has described the metastore’s tables in time. What was added stays; ask again."
        raise Problem(503, "busy", detail)
    return dict(done.answer)


def _added(actor: Actor, database: str, table: Mapping[str, Any]) -> str:
    """Enters one table; answers the count that it belongs to. Raises Problem."""
    name = f"{database}.{table['name']}"
    if table["type"] == "gone":
        raise Problem(404, "no_table", f"The metastore has no table {name}.")
    if why := _no_table(name, table):
        raise Problem(422, "not_addable", why)
    person = rights.person_of(actor)
    if visible_to(person).filter(path=_canonical(table["location"]), catalog_name=name).exists():
        return "known"
    place = locate(person, table["location"]).path
    # A metastore that nobody told of a conversion still says parquet.
    is_delta = table["format"] == DirectoryKind.DELTA or kind_at(place) is DirectoryKind.DELTA
    entry = CatalogEntry(None, ()) if is_delta else _declaration(table)
    return (
        "added"
        if add_named(actor, name, place, DirectoryKind.DELTA if is_delta else DirectoryKind.PARQUET, entry).is_new
        else "named"
    )


def _declaration(table: Mapping[str, Any]) -> CatalogEntry:
    """What the metastore declares of a parquet table; nothing where Levee can't take it: a conversion then names its partitions."""
    try:
        return declared(table["schema"], table["partition_columns"])
    except InvalidEntry:
        return CatalogEntry(None, ())
