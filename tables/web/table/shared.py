"""Shared parts of the pages of one table."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.accounts.permissions import person_of
from console.base.errors import Problem
from tables.history import queries
from tables.models import Table
from tables.web.forms import VersionForm
from tables.web.table import page_header


def table_page(request: HttpRequest, table: Table, tab: str, **context: Any) -> HttpResponse:
    """A page of the table under its header. `tab` is the template and the tab that is current."""
    around = page_header.header(person_of(request), table, tab)
    return render(request, f"tables/table/{tab}.html", {**around, **context})


def start_of(text: str) -> int:
    """The place in a list where a page begins; the first page for what is no place."""
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def version_asked(request: HttpRequest, table: Table) -> int:
    """The version of the page. Raises Problem 400 `invalid`, and as `histories.newest`."""
    newest = queries.newest(table)
    form = VersionForm(request.GET)
    if not form.is_valid():
        raise Problem(400, "invalid", "A version must be a number.")
    asked: int | None = form.cleaned_data["version"]
    return newest if asked is None else asked
