"""Asking for the live `DeltaTableV2`: one question for pages and API."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from console.accounts.models import Person
from console.errors import Problem
from jobs import locating, reads
from jobs.models import Read, Worker
from tables import after_jobs, locations
from tables.models import Table

PARTITION = re.compile(r"[^/=]+=[^/]+(/[^/=]+=[^/]+)*")
PARTS_OF_A_PATH = ("at", "partition")
BOUNDS = ("starting_version", "ending_version", "starting_timestamp", "ending_timestamp")


def ask_deltatable(person: Person, table: Table, given: Mapping[str, Any]) -> Read:
    """The read that answers it. `given` holds `version`, `timestamp`, `at`, `by`, `partition`, `read_change_feed`, ….

    Raises Problem 400, 403 `outside_roots`, 404 when the directory is gone.
    """
    locating.check_place(table)
    question = _question(table, given)
    return reads.ask(person, "deltatable", Worker.Kind.INTERACTIVE, question, table, _version(table, given))


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
    """A name takes no `@` and no directory, and a table without one isn't loaded by it. Raises Problem 400."""
    if given.get("by") != "name":
        return
    if not table.catalog_name:
        raise _invalid("by", "the table has no name in the catalog; leave it out, or say path")
    for part in PARTS_OF_A_PATH:
        if given.get(part):
            raise _invalid(part, "goes with a path alone; leave out by=name, or say the version in `version`")


def _check_feed(given: Mapping[str, Any]) -> None:
    """Bounds of a change feed say nothing without it. Raises Problem 400."""
    if given.get("read_change_feed"):
        return
    for bound in BOUNDS:
        if given.get(bound) is not None:
            raise _invalid(bound, "is a bound of the change feed; say read_change_feed=true as well")


def _invalid(field: str, detail: str) -> Problem:
    return Problem(400, "invalid", f"{field}: {detail}", fields={field: detail})


def _check_partition(table: Table, partition: str) -> None:
    """A directory below the table, and no link out of it; it need not be there, Delta reads a filter from its name alone.

    Raises Problem 400, 403 `outside_roots`.
    """
    if not PARTITION.fullmatch(partition):
        detail = "partition is a directory below the table, such as day=2020-01-01/country=FR"
        raise Problem(400, "invalid", detail, fields={"partition": detail})
    try:
        locations.resolve(f"{table.path}/{partition}", [table.root])
    except locations.NoSuchDirectory:
        return  # with column mapping the directories have other names
    except locations.LocationError as error:
        raise Problem(error.status, error.code, str(error)) from None


def _version(table: Table, given: Mapping[str, Any]) -> int | None:
    """The version that an earlier answer must have been asked for to be given again: the one named, else the head."""
    if "version" in given:
        return int(given["version"])
    return after_jobs.head_version(table.path, table.version)
