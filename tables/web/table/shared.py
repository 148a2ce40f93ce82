"""Shared parts of the pages of one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.accounts.permissions import person_of
from console.base.errors import Problem
from tables.history import queries
from tables.models import Table
from tables.web.table import page_header

LONGEST = 18  # digits of a version


def table_page(request: HttpRequest, table: Table, tab: str, status: int = 200, **context: Any) -> HttpResponse:
    """A page of the table under its header. `tab` is the template and the tab that is current."""
    around = page_header.header(person_of(request), table, tab)
    return render(request, f"tables/table/{tab}.html", {**around, **context}, status=status)


def start_of(text: str) -> int:
    """The place in a list where a page begins; the first page for what is no place."""
    return int(text) if text.isdecimal() and len(text) < 10 else 0


@dataclass(frozen=True, slots=True)
class VersionAsked:
    """The version that a page shows. Where another was typed, `fault` says at its field why it isn't shown; the newest one is."""

    version: int
    typed: str
    fault: str = ""
    status: int = 200

    def refused(self, newest: int, problem: Problem) -> VersionAsked:
        """The newest one in place of this, which the problem is about."""
        return VersionAsked(newest, self.typed, problem.detail, problem.status)


def version_asked(request: HttpRequest, table: Table) -> VersionAsked:
    """The version of the page. Raises Problem as `queries.newest`."""
    newest = queries.newest(table)
    return version_in(request.GET.get("version", ""), newest, newest)


def version_in(text: str, newest: int, usual: int) -> VersionAsked:
    """A version as it was typed; the usual one for nothing."""
    typed = text.strip()[:30]
    plain = typed.replace(",", "")
    if not plain:
        return VersionAsked(usual, str(usual))
    if not (plain.isascii() and plain.isdecimal()):
        return VersionAsked(newest, typed, f"A version is a whole number from 0 to {newest:,}.", 400)
    if len(plain) > LONGEST or int(plain) > newest:
        return VersionAsked(newest, typed, f"There is no version {typed}: the newest is {newest:,}.", 404)
    return VersionAsked(int(plain), typed)
