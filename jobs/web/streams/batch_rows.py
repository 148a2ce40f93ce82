"""A stream's micro-batches as rows of a table that unfold.

A page has fifty of them with some twenty values each, so the cells are put together here, in three calls per row: the variables and
conditions of a template would cost several times as much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.html import format_html

from console.base.pagination import OrderKey, Page, page
from console.templatetags.levee import day_and_clock, short_id, size, unknown
from jobs.models import Stream, StreamBatch
from jobs.web.streams.batch_times import is_late, seconds_text
from jobs.web.streams.charts import DRAWN
from jobs.web.streams.rates import Rate, input_rate, processed_rate

NEWEST = (OrderKey("id", descending=True),)
# Spark's phases of a batch in the order in which they run; the whole comes last.
PHASES = ("latestOffset", "getBatch", "queryPlanning", "walCommit", "addBatch", "commitBatch", "commitOffsets")
WHOLE = "triggerExecution"
LOST = "Only the log knows this batch: the worker was lost before reporting it"


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A micro-batch: its `number`, the `cells` after that, and what unfolds: `phases` and `facts`, each the pairs of a list."""

    number: str
    is_late: bool
    cells: str
    phases: str
    facts: str


def batch_page(stream: Stream, limit: int, cursor: str) -> Page[StreamBatch]:
    """Batches, newest first. One query on the index of stream and id."""
    return page(StreamBatch.objects.filter(stream=stream), NEWEST, limit, cursor)


def newest_batches(stream: Stream) -> list[StreamBatch]:
    """The batches of the drawing, newest first."""
    return list(StreamBatch.objects.filter(stream=stream).order_by("-id").defer("durations")[:DRAWN])


def last_good_batch(stream: Stream) -> StreamBatch | None:
    """The newest batch whose commit is known, however many came after it."""
    return StreamBatch.objects.filter(stream=stream, version__isnull=False).order_by("-id").defer("durations").first()


def batch_rows(stream: Stream, batches: Sequence[StreamBatch], *, tells_damaged: bool = False) -> list[BatchRow]:
    """The rows of a page. `tells_damaged`: with a cell of the damaged lines that were left out, after that of the rows in."""
    links = _Links(stream, batches)
    return [_batch_row(batch, stream.interval_seconds, links, tells_damaged) for batch in batches]


def _batch_row(batch: StreamBatch, interval_seconds: int | None, links: _Links, tells_damaged: bool) -> BatchRow:
    late = is_late(batch.took_ms, interval_seconds)
    cells = _cells(batch, links, tells_damaged)
    return BatchRow(f"{batch.batch_id:,}", late, cells, _phases(batch.durations), _facts(batch, links))


class _Links:
    """The links of a page's batches: to the commit of each, and to the few rounds that ran them. `reverse` is slow for each row."""

    def __init__(self, stream: Stream, batches: Sequence[StreamBatch]) -> None:
        self._before, self._after = reverse("tables:commit", args=[stream.table_id, 0]).rsplit("0", 1)
        self._rounds = {job: self._round(job) for job in {batch.job_id for batch in batches} if job}

    def commit(self, version: int) -> str:
        """The address of a version's commit."""
        return f"{self._before}{version}{self._after}"

    def round(self, batch: StreamBatch) -> str:
        """Empty where no job is known."""
        return self._rounds[batch.job_id] if batch.job_id else ""

    @staticmethod
    def _round(job: UUID) -> str:
        return format_html(ROUND, reverse("jobs:detail", args=[job]), short_id(job))


NO_VERSION = unknown("No commit of this batch is known", word="none")
UNKNOWN = unknown("Neither Spark nor the commit tells")
NOT_REPORTED = unknown("Neither Spark nor the commit tells", word="not reported")
NOT_COUNTED = unknown("Levee didn’t count the damaged lines of this batch")
UNKNOWN_TIME = unknown(LOST)
NO_ID = unknown()

CELL = '<td class="n">{}</td>'
READ = '<td class="lv-nowrap">{}</td>' + 2 * CELL
WROTE = 4 * CELL
SKIPPED = '<td class="n" colspan="4"><span class="lv-quiet">skipped: Delta had it already</span></td>'
VERSION = '<td class="n"><a href="{}">{}</a></td>'
PAIR = "<dt>{}</dt><dd>{}</dd>"
FACTS = "".join(
    f"<dt>{name}</dt><dd>{{}}</dd>"
    for name in ("Query id", "Run id", "Epoch id", "Output mode", "Rows in", "Processed")
)
ROUND = '<dt>Round</dt><dd><a href="{}">job {}</a></dd>'


def _cells(batch: StreamBatch, links: _Links, tells_damaged: bool) -> str:
    wrote = () if batch.skipped else _wrote(batch)
    pattern = READ + (CELL if tells_damaged else "") + (SKIPPED if batch.skipped else WROTE)
    read = [day_and_clock(batch.at), seconds_text(batch.took_ms) or UNKNOWN_TIME, _count(batch.input_rows)]
    if tells_damaged:
        read.append(_count(batch.damaged_lines, NOT_COUNTED))
    if batch.version is None:
        return format_html(pattern + CELL, *read, *wrote, NO_VERSION)
    return format_html(pattern + VERSION, *read, *wrote, links.commit(batch.version), f"{batch.version:,}")


def _wrote(batch: StreamBatch) -> tuple[str, ...]:
    rows, files = _count(batch.rows_out, NOT_REPORTED), (_count(batch.files_added), _count(batch.files_removed))
    return rows, *files, size(batch.bytes_added)


def _count(value: int | None, otherwise: str = UNKNOWN) -> str:
    return otherwise if value is None else f"{value:,}"


def _phases(durations: Mapping[str, Any]) -> str:
    order = {name: place for place, name in enumerate((*PHASES, *sorted(durations.keys() - {*PHASES, WHOLE}), WHOLE))}
    names = sorted(durations, key=order.__getitem__)
    told = chain.from_iterable((name, f"{durations[name]:,} ms") for name in names)
    return format_html(PAIR * len(names), *told) if names else format_html(PAIR, "Phases", UNKNOWN_TIME)


def _facts(batch: StreamBatch, links: _Links) -> str:
    ids = batch.query_id or NO_ID, batch.run_id or UNKNOWN_TIME, f"{batch.batch_id:,}"
    rates = _rate(input_rate(batch)), _rate(processed_rate(batch))
    return format_html(FACTS + "{}", *ids, batch.output_mode.capitalize(), *rates, links.round(batch))


def _rate(rate: Rate) -> str:
    return unknown(rate.why) if rate.text is None else rate.text
