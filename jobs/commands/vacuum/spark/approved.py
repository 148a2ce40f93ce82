"""The plan of a run: that of the preview, made anew on the newest version, and never with a file that wasn't approved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow.compute as pc

from console.base.text.counted import counted
from jobs.commands.vacuum.rules import Vacuum
from jobs.commands.vacuum.spark.plan import Plan, PlanOrder, planned
from jobs.domain.engine import Report
from jobs.domain.errors import CommandRefused, Refusal

MORE = "The directory now holds {files:,} files ({bytes}) that the run would delete; {seen:,} ({seen_bytes}) were approved."
OTHERS = "The {files:,} files that the run would delete aren’t those that were approved: some have come or gone since."
NESTED = "The directory now holds another Delta table, whose files the run would delete: {place}."
AGAIN = "Request it again: Levee lists the directory anew."


def approved_plan(command: Vacuum, preview: Mapping[str, Any], report: Report) -> Plan:
    """The files that were approved, but for those that the newest version needs again. Raises CommandRefused: `stale`, as `planned`."""
    now_ms, since = int(preview["planned_at_ms"]), int(preview["measured_at_version"])
    order = PlanOrder(command.path, command.retention_hours, command.lite, now_ms, since=since)
    plan = planned(order, report, with_paths=True)
    _refuse_more(plan, preview)
    if plan.files and plan.digest != preview.get("digest"):
        _refuse_others(plan, replace(order, version=since), preview, report)
    return plan


def _refuse_more(plan: Plan, preview: Mapping[str, Any]) -> None:
    """Old files may have been put into the directory since: nobody approved of those."""
    seen, seen_bytes = int(preview["files"]), preview["bytes"]
    if plan.nested_count:
        raise _stale(NESTED.format(place=plan.nested[0]))
    if plan.files > seen or (plan.bytes is not None and seen_bytes is not None and plan.bytes > seen_bytes):
        sizes = {"bytes": _in_words(plan.bytes), "seen_bytes": _in_words(seen_bytes)}
        raise _stale(MORE.format(files=plan.files, seen=seen, **sizes))


def _refuse_others(plan: Plan, as_previewed: PlanOrder, preview: Mapping[str, Any], report: Report) -> None:
    """Fewer files go where some have come back into the table. That none of them is another one is proven by making the preview's
    plan once more, of its own version: its digest is the approved one, and it holds them all."""
    try:
        approved = planned(as_previewed, report)
    except CommandRefused:  # its version can't be rebuilt any more
        raise _stale(OTHERS.format(files=plan.files)) from None
    keys = approved.gone["key"].combine_chunks()
    if approved.digest != preview.get("digest") or not pc.all(pc.is_in(plan.gone["key"], value_set=keys)).as_py():
        raise _stale(OTHERS.format(files=plan.files))


def _in_words(size: int | None) -> str:
    return "of unknown size" if size is None else counted(size, "byte")


def _stale(text: str) -> CommandRefused:
    return CommandRefused(Refusal("stale", text, remedy=AGAIN))
