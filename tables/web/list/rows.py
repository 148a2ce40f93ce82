"""The rows of the list of tables. Their cells are made here, not in the template: a page has up to 200 rows."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from console.base.addresses import address_of
from console.templatetags.levee import ago, number, size, state_line, unknown
from tables import ports
from tables.models import Table
from tables.ports import Offer
from tables.web.table_state import state_of

NUMERIC = '<td role="cell" class="n" data-label="{}">{}</td>'
CELL = '<td role="cell">{}</td>'
NO_VERSION = unknown(word="none")
NO_STATISTICS = unknown("Some files have no statistics, so the log doesn't say")
NOT_COUNTED = unknown("Not counted yet. An inspection reads the footers.", word="not counted")
NOT_THERE_YET = format_html('<span class="lv-quiet">{}</span>', "no table there yet")
ONLY_PARQUET = format_html('<span class="lv-quiet">{}</span>', "parquet only")


@dataclass(frozen=True, slots=True)
class ListedTable:
    """A table as the list shows it; `cells` are those of the columns that the person has."""

    name: str
    path: str
    url: str
    cells: SafeString
    is_favourite: bool


def rows_of(
    tables: Iterable[Table],
    columns: Sequence[str],
    *,
    may_request: bool,
    streaming: Mapping[str, str] | None = None,
    favourites: Collection[uuid.UUID] = (),
) -> list[ListedTable]:
    """The rows, with these columns in this order.

    Who may request changes has a link to what is offered for a directory that is no Delta table yet, unless a stream is at it
    (`streaming`: why not, by path).
    """
    offers = [offer for offer in ports.offers() if offer.of_plain] if may_request else []
    return [
        ListedTable(
            table.catalog_name or table.name,
            table.path,
            address_of("tables:overview", table.pk),
            cells,
            table.pk in favourites,
        )
        for table in tables
        for cells in [_cells(table, columns, offers, (streaming or {}).get(table.path, ""))]
    ]


def _cells(table: Table, columns: Sequence[str], offers: Sequence[Offer], streaming: str) -> SafeString:
    cells = [_health(table, offers, streaming) if name == "health" else _numeric(table, name) for name in columns]
    return format_html_join("", "{}", ((cell,) for cell in cells))


def _numeric(table: Table, name: str) -> SafeString:
    label, value = NUMBERS[name]
    return format_html(NUMERIC, label, value(table))


def _version(table: Table) -> str:
    return number(table.version) if table.is_delta else NO_VERSION


def _records(table: Table) -> str:
    if table.num_records is not None:
        return number(table.num_records)
    return NO_STATISTICS if table.is_delta else NOT_COUNTED


NUMBERS: dict[str, tuple[str, Callable[[Table], str]]] = {
    "version": ("Version", _version),
    "size": ("Size", lambda table: size(table.size_bytes)),
    "files": ("Files", lambda table: number(table.num_files)),
    "rows": ("Rows", _records),
    "changed": ("Changed", lambda table: ago(table.last_commit_at)),
}


def _health(table: Table, offers: Sequence[Offer], streaming: str) -> SafeString:
    if table.is_delta or table.missing_since or table.sync_error:
        return format_html(CELL, state_line(state_of(table)))
    if table.is_not_there_yet:
        return format_html(CELL, NOT_THERE_YET)
    if offers and streaming:
        return format_html(CELL, format_html('{}<span class="lv-second lv-break">{}</span>', ONLY_PARQUET, streaming))
    if not offers:
        return format_html(CELL, ONLY_PARQUET)
    links = ((offer.address(table), offer.text) for offer in offers)
    return format_html(CELL, format_html_join(" ", '<a href="{}">{}</a>', links))
