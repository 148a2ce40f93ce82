"""The list of streams: a row for each, with its lag, its last batch and the times of those before. A constant number of queries."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Count, Exists, OuterRef, Subquery
from django.db.models.functions import JSONObject
from django.urls import reverse
from django.utils.html import format_html
from django.utils.text import Truncator

from console.accounts.models import Person
from console.base.pagination import OrderKey, Page, page
from console.base.text.counted import counted
from console.templatetags.formatting.looks import StateLook
from console.templatetags.levee import ago, duration, state_line, unknown
from jobs.domain.states import State
from jobs.models import Stream, StreamBatch, StreamRound
from jobs.streams import queries
from jobs.web.streams.batch_times import is_behind
from jobs.web.streams.charts import LATELY, Spark, spark
from jobs.web.streams.lags import lag_cell, lag_of
from jobs.web.streams.states import BEHIND, condition_of, look_of
from tables.models import Table

BY_NAME = (OrderKey("name"), OrderKey("id"))
FAILED_FIRST = (OrderKey("rank"), *BY_NAME)
ORDERS = {"name": BY_NAME, "failed": FAILED_FIRST}
WAITS = StateLook("wait", "user-check", "Waiting for approval")
STATES = (Stream.State.RUNNING, Stream.State.STOPPING, Stream.State.FAILED, Stream.State.STOPPED)
STOPPED_BY = "Stopped by "
# What a row shows of a stream and its tables.
SHOWN = (
    *("name", "state", "state_text", "error", "definition", "interval_seconds", "lag", "lag_at", "lag_text", "rounds"),
    *("table__name", "table__version", "source_table__name"),
)


@dataclass(frozen=True, slots=True)
class StreamRow:
    """A stream as the list shows it, its cells made here: a page has fifty rows. `second` is a line below its state.

    `times` says why there is no drawing of the batches' times.
    """

    name: str
    url: str
    way: str
    state: str
    second: str
    condition: str
    lag: str
    last: str
    rows: str
    spark: Spark | None
    times: str
    version: str
    is_behind: bool


def listed(
    person: Person,
    limit: int,
    cursor: str,
    state: str = "",
    order: tuple[OrderKey, ...] = BY_NAME,
    table: uuid.UUID | None = None,
) -> Page[Stream]:
    """The person's streams, by name unless told, of one state and of one table if any. One query.

    Each has its `last` batch, the times of the `lately` ones, and `waits`.
    """
    batches = StreamBatch.objects.filter(stream=OuterRef("pk")).order_by("-id")
    waiting = StreamRound.objects.filter(stream=OuterRef("pk"), booked_at=None, job__state=State.AWAITING_APPROVAL)
    told = JSONObject(at="at", took_ms="took_ms", rows_out="rows_out", skipped="skipped")
    # A table's row is long: what a search looks through, its layout, its health.
    visible = queries.touching(person, table).select_related(None).select_related("table", "source_table")
    streams = visible.only(*SHOWN).annotate(
        waits=Exists(waiting),
        rank=queries.RANK,
        last=Subquery(batches.values(told=told)[:1]),
        lately=ArraySubquery(batches.values("took_ms")[:LATELY]),
    )
    return page(streams.filter(state=state) if state else streams, order, limit, cursor)


def states(chosen: str, table: uuid.UUID | None = None) -> list[dict[str, Any]]:
    """Links that narrow the list: to each state, and to all of them."""
    links = [("", "All"), *((state.value, state.label) for state in STATES)]
    of_table = f"&table={table}" if table else ""
    return [{"text": text, "url": f"?state={value}{of_table}", "is_current": value == chosen} for value, text in links]


def by_state(person: Person, table: uuid.UUID | None = None) -> str:
    """6 streams: 3 running, 1 failed, 2 stopped."""
    found = dict(queries.touching(person, table).order_by().values_list("state").annotate(Count("pk")))
    total = sum(found.values())
    parts = [f"{found[state]:,} {state.label.lower()}" for state in STATES if found.get(state)]
    return f"{counted(total, 'stream')}{': ' if parts else ''}{', '.join(parts)}"


def row(stream: Stream) -> StreamRow:
    last: dict[str, Any] | None = stream.last  # type: ignore[attr-defined]  # annotated by `listed`
    lately: list[int | None] = stream.lately  # type: ignore[attr-defined]  # newest first
    behind = is_behind(stream, last["took_ms"] if last else None)
    look, second = _state_of(stream, behind)
    return StreamRow(
        name=stream.name,
        url=reverse("jobs:stream", args=[stream.pk]),
        way=f"{queries.source_of(stream)} → {stream.table.name}",
        state=state_line(look),
        second=Truncator(second).chars(90),
        condition=condition_of(stream.error) if stream.state == Stream.State.FAILED else "",
        lag=lag_cell(lag_of(stream)),
        last=ago(last["at"]) if last else NONE_YET,
        rows=_rows_of(last),
        spark=spark(lately[::-1], stream.interval_seconds),
        times="not measured" if last else "no batch yet",
        version=_version_of(stream.table),
        is_behind=behind,
    )


NONE_YET = format_html('<span class="lv-quiet">{}</span>', "none yet")
NO_ROWS = unknown(word="none")
SKIPPED = unknown("Delta had the batch already and wrote nothing", word="skipped")
NOT_REPORTED = unknown("The log doesn’t tell how many rows the batch wrote", word="not reported")
NO_TABLE = unknown("The first batch creates the table", word="no table yet")


def _rows_of(last: Mapping[str, Any] | None) -> str:
    """What the newest batch wrote."""
    if last is None:
        return NO_ROWS
    if last["skipped"]:
        return SKIPPED
    return NOT_REPORTED if last["rows_out"] is None else f"{last['rows_out']:,}"


def _version_of(table: Table) -> str:
    if table.version is None:
        return NO_TABLE
    return format_html(
        '<a href="{}">{}</a>', reverse("tables:commit", args=[table.pk, table.version]), f"{table.version:,}"
    )


def _state_of(stream: Stream, behind: bool) -> tuple[StateLook, str]:
    """Look and second line."""
    look = look_of(stream, behind=False)
    if stream.waits:  # type: ignore[attr-defined]  # annotated by `listed`
        return WAITS, "its round, or the reset of its checkpoint"
    if behind:
        return BEHIND, f"a batch takes longer than the trigger, {duration(stream.interval_seconds)}"
    if stream.state == Stream.State.RUNNING:
        return (
            look,
            f"every {duration(stream.interval_seconds)}" if stream.interval_seconds else "until it has read everything",
        )
    if stream.state != Stream.State.STOPPED:
        return look, ""
    if stream.state_text.startswith(STOPPED_BY):
        return look._replace(word=stream.state_text.rstrip(".")), ""
    return look, stream.state_text
