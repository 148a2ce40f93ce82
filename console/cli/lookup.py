"""Finds what a person names: a table by id, path or name, a stream by id or name."""

from __future__ import annotations

import uuid
from typing import Any

from console.cli.client import PAGE, Api
from console.cli.exits import CliError, Exit
from console.cli.words import plain

SEARCHED = 2 * PAGE  # tables that a search may find before the name must be a path


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


def find_tables(api: Api, text: str) -> list[dict[str, Any]]:
    """The tables at that path; else those with that catalog name; else those with that name."""
    if is_id(text):
        return [api.get(f"/tables/{text}")]
    path = text.removeprefix("file://").removeprefix("file:") if text.startswith("file:") else text
    path = path.rstrip("/") or "/"
    rows = api.pages("/tables", {"q": path if is_path(text) else text}, SEARCHED)["results"]
    if is_path(text):
        return [row for row in rows if row["path"] == path]
    named = [row for row in rows if row["catalog_name"] == text]
    return named or [row for row in rows if row["name"] == text]


def stream_id(api: Api, text: str) -> str:
    """The id of the stream. Raises CliError NOT_FOUND."""
    if is_id(text):
        return text
    found = [row for row in api.pages("/streams", {}, None)["results"] if row["name"] == text]
    if len(found) != 1:
        what = "No stream is" if not found else f"{len(found)} streams are"
        raise CliError(Exit.NOT_FOUND, f"{what} named {plain(text)}. List them: levee streams")
    return str(found[0]["id"])
