"""The plan in numbers, as a preview stores it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from jobs.commands.vacuum.rules import CURVE, HOUR_MS
from jobs.commands.vacuum.spark.plan import Plan, PlanOrder
from jobs.domain.measures import Deletable
from tables.deltalog.vacuum.keys import KEY, bytes_of, column

# The ages that are told apart, hours.
AGES = (0, 24, 168, 720, 2_160, None)
COMMITS = 10


def measured(plan: Plan, order: PlanOrder) -> Deletable:
    """What the plan would delete."""
    untracked = _untracked(plan)
    return Deletable(
        version=plan.version,
        planned_at_ms=order.now_ms,
        cut_ms=plan.cut_ms,
        files=plan.files,
        bytes=plan.bytes,
        directories=len(plan.directories),
        untracked_files=untracked.num_rows,
        untracked_bytes=bytes_of(untracked),
        digest=plan.digest,
        listed=plan.listed,
        by_age=tuple(_by_age(plan.gone, order.now_ms)),
        by_commit=tuple(_by_commit(plan.gone)),
        curve=tuple(_curve(plan, order)),
        dying=tuple(plan.dying),
        sample=tuple(sorted(plan.sample)),
        nested=tuple(sorted(plan.nested)),
        nested_count=plan.nested_count,
    )


def _untracked(plan: Plan) -> pa.Table:
    """The files that go and that the log doesn't name. It names those of the change feed, though no commit removes them."""
    feed = pc.is_in(plan.gone["key"], value_set=column(plan.changes.feed.keys, KEY))
    return plan.gone.filter(pc.and_(pc.is_null(plan.gone["removed_by"]), pc.invert(feed)))


def _by_age(gone: pa.Table, now_ms: int) -> Iterator[Mapping[str, int | None]]:
    """For each class of ages that has files: from how many hours on, up to how many (None: no end)."""
    for low, high in pairwise(AGES):
        inside = pc.less_equal(gone["unneeded"], now_ms - (low or 0) * HOUR_MS)
        if high is not None:
            inside = pc.and_(inside, pc.greater(gone["unneeded"], now_ms - high * HOUR_MS))
        files = gone.filter(inside)
        if files.num_rows:
            yield {"from_hours": low, "to_hours": high, "files": files.num_rows, "bytes": bytes_of(files)}


def _by_commit(gone: pa.Table) -> Iterator[Mapping[str, int | None]]:
    """The commits that removed most bytes, as far as they are still in the log."""
    known = gone.filter(pc.fill_null(pc.greater_equal(gone["removed_by"], 0), False))
    rows = known.group_by("removed_by").aggregate([("size", "sum"), ("size", "count"), ("key", "count")])
    rows = rows.sort_by([("size_sum", "descending"), ("removed_by", "descending")]).slice(0, COMMITS)
    for row in rows.to_pylist():
        files, is_known = row["key_count"], row["size_count"] == row["key_count"]
        yield {"version": row["removed_by"], "files": files, "bytes": row["size_sum"] if is_known else None}


def _curve(plan: Plan, order: PlanOrder) -> Iterator[Mapping[str, int | None]]:
    """What a vacuum of now would free with other retentions."""
    for hours in sorted({*CURVE, (order.now_ms - plan.cut_ms) // HOUR_MS}):
        files = plan.unused.filter(pc.less(plan.unused["unneeded"], order.now_ms - hours * HOUR_MS))
        yield {"hours": hours, "files": files.num_rows, "bytes": bytes_of(files)}
