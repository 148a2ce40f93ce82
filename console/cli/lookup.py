"""Finds what a person names: a table by id, path or name, a stream by id or name."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from typing import Any

from console.cli.client import PAGE, Api
from console.cli.exits import CliError, Exit
from console.cli.words import plain

SEARCHED = 2 * PAGE  # tables that a search may find before the name must be a path
AMBIGUOUS = 5  # jobs that are named where an id's beginning fits several
JOB_ID = re.compile(r"[0-9a-fA-F]{8}[0-9a-fA-F-]{0,28}")
CATALOG, DATABASE = "spark_catalog", "default"  # where a name without them lies


@dataclass(frozen=True, slots=True)
class NamedDirectory:
    """A directory to convert. Of one that was named by its name in the catalog: that name, and what the catalog declares there.

    `declared` is `{schema, partition_columns}`; None if the catalog declares nothing, or the directory was named by its path.
    """

    path: str
    catalog_name: str | None = None
    declared: dict[str, Any] | None = None


def is_id(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False


def is_path(text: str) -> bool:
    return text.startswith("/") or "://" in text or text.startswith("file:")


def table_id(api: Api, text: str) -> str:
    """The id of the table. Raises CliError NOT_FOUND when there is none, or several have the name."""
    return text if is_id(text) else str(table_row(api, text)["id"])


def table_row(api: Api, text: str) -> dict[str, Any]:
    """The same as the list has it."""
    found = find_tables(api, text)
    if not found:
        raise CliError(
            Exit.NOT_FOUND, f"No table is named {plain(text)}, or you don't have access. Search: levee tables TEXT"
        )
    if len(found) > 1:
        places = ", ".join(plain(row["path"]) for row in found[:5])
        raise CliError(Exit.NOT_FOUND, f"{len(found)} tables are named {plain(text)}: {places}. Give the path.")
    return found[0]


def directory(api: Api, text: str) -> NamedDirectory:
    """The directory at a path, known or not, or that of a known table. Raises CliError NOT_FOUND."""
    if is_path(text):
        return NamedDirectory(text)
    row = table_row(api, text)
    if row["catalog_name"] is None:
        return NamedDirectory(row["path"])
    return NamedDirectory(row["path"], row["catalog_name"], api.get(f"/tables/{row['id']}")["catalog_entry"])


def find_tables(api: Api, text: str) -> list[dict[str, Any]]:
    """The tables at that path; else those with that catalog name; else those with that name; else in another spelling of the first."""
    if is_id(text):
        return [api.get(f"/tables/{text}")]
    path = text.removeprefix("file://").removeprefix("file:") if text.startswith("file:") else text
    path = path.rstrip("/") or "/"
    spelled = _catalog_spelling(text)
    # What the catalog adds to a name is in no other name: the search goes without it.
    searched = path if is_path(text) else spelled if spelled in text.lower() else text
    rows = api.pages("/tables", {"q": searched}, SEARCHED)["results"]
    if is_path(text):
        return [row for row in rows if row["path"] == path]
    ways = (("catalog_name", text), ("name", text), ("catalog_name", spelled))
    return next(filter(None, ([row for row in rows if row[field] == name] for field, name in ways)), [])


def _catalog_spelling(text: str) -> str:
    """A name as the catalog has it: in lower case, without the catalog, in `default` if it is one part alone."""
    parts = text.lower().split(".")
    if len(parts) == 3 and parts[0] == CATALOG:
        parts = parts[1:]
    return ".".join(parts if len(parts) > 1 else (DATABASE, *parts))


def job_id(api: Api, text: str) -> uuid.UUID:
    """The id of the job whose id is this, or begins so. Raises CliError NOT_FOUND when there is none, or several do."""
    if is_id(text):
        return uuid.UUID(text)
    found = [row["id"] for row in api.pages("/jobs", {"id": text}, AMBIGUOUS)["results"]]
    if not found:
        raise CliError(
            Exit.NOT_FOUND, f"No job’s id begins with {plain(text)}, or you don't have access. List them: levee jobs"
        )
    if len(found) > 1:
        raise CliError(Exit.NOT_FOUND, f"The ids of several jobs begin with {plain(text)}: {', '.join(found)}.")
    return uuid.UUID(found[0])


def stream_id(api: Api, text: str) -> str:
    """The id of the stream. Raises CliError NOT_FOUND."""
    return _named(api, "streams", text, "List them: levee streams")


def schedule_id(api: Api, text: str) -> str:
    """The id of the schedule. Raises CliError NOT_FOUND."""
    return _named(api, "schedules", text, "List them: levee schedules")


def root_id(api: Api, text: str) -> str:
    """The id of the root. Raises CliError NOT_FOUND."""
    return _named(api, "roots", text, "The page Roots lists them.")


def _named(api: Api, what: str, text: str, advice: str) -> str:
    if is_id(text):
        return text
    found = [row for row in api.pages(f"/{what}", {}, None)["results"] if row["name"] == text]
    if len(found) != 1:
        many = f"No {what.removesuffix('s')} is" if not found else f"{len(found)} {what} are"
        raise CliError(Exit.NOT_FOUND, f"{many} named {plain(text)}. {advice}")
    return str(found[0]["id"])
