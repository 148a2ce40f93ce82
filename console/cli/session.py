"""What every command shares: which server, JSON or tables, and where each kind of line goes."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import click
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from console.cli import profiles
from console.cli.client import Api
from console.cli.profiles import Server
from console.cli.words import plain

FILE_WIDTH = 160  # columns where nothing says how wide the output is


@dataclass
class Session:
    """One run of the program. Standard output carries the data and nothing else; all other lines go to standard error."""

    as_json: bool = False
    server_name: str | None = None

    @cached_property
    def server(self) -> Server:
        """Raises CliError if you aren't signed in."""
        return profiles.chosen(self.server_name)

    @cached_property
    def api(self) -> Api:
        return Api(self.server, self.note)

    @property
    def patient_api(self) -> Api:
        """The API for a wait, which outlasts a restart of the server."""
        self.api.patient = True
        return self.api

    def note(self, text: str) -> None:
        """A line for a person, never part of the data."""
        click.echo(text, err=True)

    def show(self, data: Any, for_people: Callable[[], RenderableType]) -> None:
        """The API's own JSON, or what a person reads."""
        if self.as_json:
            # A terminal would obey control characters; escaped, they are the same JSON.
            click.echo(json.dumps(data, indent=2, ensure_ascii=sys.stdout.isatty()))
        else:
            printer(sys.stdout).print(for_people())

    def show_job(
        self, job: Mapping[str, Any], for_people: Callable[[], RenderableType], id_alone: bool = False
    ) -> None:
        """A job, or for scripts its id."""
        if id_alone and not self.as_json:
            click.echo(job["id"])
        else:
            self.show(job, for_people)

    def show_list(self, page: Mapping[str, Any], columns: Sequence[Column]) -> None:
        """A list; says on standard error when there is more."""
        self.show(page, lambda: listing(columns, page["results"]))
        if page["next"]:
            self.note(f"These are the first {len(page['results'])}. --limit N shows more, --limit 0 all.")
        elif not page["results"] and not self.as_json:
            self.note("Nothing found.")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a list: its heading, its text of a row, and whether it holds numbers, or names that must stay whole."""

    heading: str
    text: Callable[[Any], str]
    is_number: bool = False
    is_whole: bool = False


class _Printer(Console):
    def on_broken_pipe(self) -> None:
        """Rich itself would end the program with 1, which means a failed job."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def printer(stream: Any) -> Console:
    """Rich on a stream: no colour where it isn't a terminal or NO_COLOR is set, and then as wide as COLUMNS or 160."""
    width = None if stream.isatty() else int(os.environ.get("COLUMNS") or FILE_WIDTH)
    return _Printer(file=stream, width=width, markup=False, highlight=False, emoji=False, soft_wrap=False)


def listing(columns: Iterable[Column], rows: Iterable[Any]) -> Table:
    """Rows with headings."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    shown = list(columns)
    for column in shown:
        whole = column.is_whole or column.is_number
        table.add_column(
            column.heading, justify="right" if column.is_number else "left", no_wrap=whole, overflow="fold"
        )
    for row in rows:
        table.add_row(*(Text(plain(column.text(row))) for column in shown))
    return table


def facts(pairs: Iterable[tuple[str, str]]) -> Table:
    """One object: names and values."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs:
        table.add_row(Text(name), Text(plain(value)))
    return table
