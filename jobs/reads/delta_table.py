"""Reads of the live `DeltaTableV2`, for pages and API."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from console.accounts.models import Person
from console.base.errors import Problem
from jobs.models import Read, Worker
from jobs.reads import queue
from jobs.targets import places
from tables.models import Table
from tables.rules import locations
from tables.sync import log_access

PARTITION = re.compile(r"[^/=]+=[^/]+(/[^/=]+=[^/]+)*")
PARTS_OF_A_PATH = ("at", "partition")
BOUNDS = ("starting_version", "ending_version", "starting_timestamp", "ending_timestamp")


def ask_deltatable(person: Person, table: Table, given: Mapping[str, Any]) -> Read:
    """Queues the read. `given` holds `version`, `timestamp`, `at`, `by`, `partition`, `read_change_feed`, ….

    Raises Problem 400, 403 `outside_roots`, 404 when the directory is gone.
    """
    places.check_place(table)
    question = _question(table, given)
    return queue.ask(person, "deltatable", Worker.Kind.INTERACTIVE, question, table, _version(table, given))


def _question(table: Table, given: Mapping[str, Any]) -> dict[str, Any]:
    question = {"path": table.path, "name": table.catalog_name}
    question |= {k: v.isoformat() if hasattr(v, "isoformat") else v for k, v in given.items() if k != "wait"}
    _check_name(table, given)
    _check_feed(given)
    if partition := given.get("partition"):
        _check_partition(table, partition)
    if any(given.get(part) for part in PARTS_OF_A_PATH):
        question["by"] = "path"
    return {name: value for name, value in question.items() if value is not None}


def _check_name(table: Table, given: Mapping[str, Any]) -> None:
    """Refuses `@` or a directory with a name, and a name for a table without one. Raises Problem 400."""
    if given.get("by") != "name":
        return
    if not table.catalog_name:
        raise _invalid("by", "the table has no name in the catalog; leave this out, or use path")
    for part in PARTS_OF_A_PATH:
        if given.get(part):
            raise _invalid(part, "works only with a path; leave out by=name, or pass the version in `version`")


def _check_feed(given: Mapping[str, Any]) -> None:
    """Refuses bounds of the change feed without the feed itself. Raises Problem 400."""
    if given.get("read_change_feed"):
        return
    for bound in BOUNDS:
        if given.get(bound) is not None:
            raise _invalid(bound, "is a bound of the change feed; pass read_change_feed=true as well")


def _invalid(field: str, detail: str) -> Problem:
    return Problem(400, "invalid", f"{field}: {detail}", fields={field: detail})


def _check_partition(table: Table, partition: str) -> None:
    """Refuses a directory that isn't below the table, or a link out of it. It need not exist: Delta reads a filter from its name.

    Raises Problem 400, 403 `outside_roots`.
    """
    if not PARTITION.fullmatch(partition):
        detail = "partition must be a directory below the table, such as day=2020-01-01/country=FR"
        raise Problem(400, "invalid", detail, fields={"partition": detail})
    try:
        locations.resolve(f"{table.path}/{partition}", [table.root])
    except locations.NoSuchDirectory:
        return  # with column mapping the directories have other names
    except locations.LocationError as error:
        raise Problem(error.status, error.code, str(error)) from None


def _version(table: Table, given: Mapping[str, Any]) -> int | None:
    """The version for which an earlier answer can be reused: the one named, else the head."""
    if "version" in given:
        return int(given["version"])
    return log_access.head_version(table.path, table.version)
