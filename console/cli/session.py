"""What every command shares: which server, JSON or tables, and where each kind of line goes."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import click
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from console.cli import profiles
from console.cli.client import Api
from console.cli.profiles import ServerProfile
from console.cli.words import plain

FILE_WIDTH = 160  # columns where nothing says how wide the output is
TERMINAL_WIDTH = 80  # columns of a terminal that is said to have none
GAP = 2  # columns between those of a list
FOLDED_WIDTH = 6  # columns that a text in a list needs at least, on several lines


@dataclass
class Session:
    """One run of the program. Standard output carries the data and nothing else; all other lines go to standard error."""

    as_json: bool = False
    server_name: str | None = None

    @cached_property
    def server(self) -> ServerProfile:
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
            # A terminal would obey control characters, and another encoding lacks most; escaped, they are the same JSON.
            is_plain = sys.stdout.isatty() or not _is_unicode(sys.stdout)
            click.echo(json.dumps(data, indent=2, ensure_ascii=is_plain))
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

    def show_list(self, page: Mapping[str, Any], columns: Sequence[ListColumn]) -> None:
        """A list; says on standard error when there is more."""
        self.show(page, lambda: listing(columns, page["results"]))
        if page["next"]:
            self.note(f"These are the first {len(page['results'])}. --limit N shows more, --limit 0 all.")
        elif not page["results"] and not self.as_json:
            self.note("Nothing found.")


@dataclass(frozen=True, slots=True)
class ListColumn:
    """A column of a list: its heading, its text of a row, and whether it holds numbers, or names that must stay whole."""

    heading: str
    text: Callable[[Any], str]
    is_number: bool = False
    is_whole: bool = False

    @property
    def is_unbroken(self) -> bool:
        return self.is_whole or self.is_number


class _Printer(Console):
    def on_broken_pipe(self) -> None:
        """Rich itself would end the program with 1, which means a failed job."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def printer(stream: Any) -> Console:
    """Rich on a stream: no colour where it isn't a terminal or NO_COLOR is set, and as wide as COLUMNS, the terminal, or 160."""
    return _Printer(file=stream, width=_width(stream), markup=False, highlight=False, emoji=False, soft_wrap=False)


def _width(stream: Any) -> int | None:
    """What COLUMNS says, unless it is no width; None: Rich asks the terminal."""
    said = os.environ.get("COLUMNS", "")
    width = int(said) if said.isascii() and said.isdecimal() else None
    if stream.isatty():
        return width if width != 0 else TERMINAL_WIDTH
    return width or FILE_WIDTH


def _is_unicode(stream: Any) -> bool:
    return (stream.encoding or "utf-8").lower().startswith("utf")


@dataclass(frozen=True, slots=True)
class TextListing:
    """Rows with headings; where they would not fit without cuts, the rows' facts one below the other."""

    columns: Sequence[ListColumn]
    rows: Sequence[Sequence[str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        if not self.rows or self._least_width() <= options.max_width:
            yield self._table()
            return
        for place, row in enumerate(self.rows):
            if place:
                yield ""
            yield facts(zip((column.heading for column in self.columns), row, strict=True))

    def _least_width(self) -> int:
        widths = [max(cell_len(text) for text in (column.heading, *cells)) for column, cells in self._by_column()]
        kept = zip(self.columns, widths, strict=True)
        return GAP * (len(widths) - 1) + sum(
            width if column.is_unbroken else min(width, FOLDED_WIDTH) for column, width in kept
        )

    def _by_column(self) -> Iterator[tuple[ListColumn, Sequence[str]]]:
        return zip(self.columns, zip(*self.rows, strict=True), strict=True)

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in self.columns:
            justify: JustifyMethod = "right" if column.is_number else "left"
            table.add_column(column.heading, justify=justify, no_wrap=column.is_unbroken, overflow="fold")
        for row in self.rows:
            table.add_row(*(Text(text) for text in row))
        return table


def listing(columns: Iterable[ListColumn], rows: Iterable[Any]) -> TextListing:
    """The columns of the rows, as a person reads them."""
    shown = list(columns)
    return TextListing(shown, [[plain(column.text(row)) for column in shown] for row in rows])


def facts(pairs: Iterable[tuple[str, str]]) -> Table:
    """One object: names and values."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs:
        table.add_row(Text(plain(name)), Text(plain(value)))
    return table
