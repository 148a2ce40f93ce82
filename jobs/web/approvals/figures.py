"""The numbers of a request as pages show them: the main one first, unknown ones as a word."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.base import zones
from console.base.text.counted import counted
from console.templatetags.levee import number, size, unknown
from jobs.commands import registry
from jobs.domain.comparison import Unit
from jobs.domain.results import Result
from jobs.domain.wording import Figure
from jobs.models import Job
from jobs.targets.undo_window import Undo

Shown = dict[str, Any]


def figures_of(job: Job, undo: Undo | None) -> list[Shown]:
    """The preview's counts, and how long you could undo it; empty before there is a preview."""
    figures = [_shown(figure) for figure in registry.figures_of(job)]
    return figures if not figures or undo is None or undo.until is None else [*figures, _undo(undo)]


def figures_at(job: Job, preview: Mapping[str, Any]) -> list[Shown]:
    """The counts of a preview that the job has or had."""
    return [_shown(figure) for figure in registry.figures_of(job, preview)]


def outcome_of(job: Job, result: Result) -> list[Shown]:
    """The numbers that lead a result."""
    return [_shown(figure) for figure in registry.outcome_of(job, result)]


def rehearsed_of(job: Job) -> dict[str, Any] | None:
    """What its rehearsal did: `{version, rows_after, seconds, figures}`; None without one."""
    preview = job.preview or {}
    found = preview.get("rehearsal")
    if not found:
        return None
    version = job.base_version if job.base_version is not None else preview.get("measured_at_version")
    figures = [_shown(figure) for figure in registry.rehearsed(job)]
    return {"version": version, "rows_after": found["rows_after"], "seconds": found["seconds"], "figures": figures}


def weight_of(job: Job) -> Shown | None:
    """The one number that shows how much the request affects."""
    weight = registry.weight_of(job)
    return None if weight is None else _shown(weight)


def _shown(figure: Figure) -> Shown:
    return {"label": figure.label, "value": _value(figure), "sub": figure.sub}


def _value(figure: Figure) -> str:
    if figure.word:
        return figure.word
    if figure.value is None:
        return unknown(figure.why_unknown, figure.unknown)
    return f"{'≤ ' if figure.at_most else ''}{_figure(figure.value, figure)}"


def _figure(value: float, figure: Figure) -> str:
    if figure.unit is Unit.BYTES:
        return size(int(value))
    return counted(value, figure.noun) if figure.noun else number(value)


def _undo(undo: Undo) -> Shown:
    if not undo.possible or undo.until is None:
        return {"label": "Undo", "value": "not possible", "sub": "once it has run"}
    value = day_and_time(undo.until)
    return {"label": "Undo until", "value": value, "sub": f"{zones.abbreviation(undo.until)}, if it runs before then"}


def day_and_time(moment: datetime) -> SafeString:
    """A moment short enough for a figure (`27 Nov, 08:00`); in full, with UTC beside it, on hover."""
    here = zones.local(moment)
    year = "" if here.year == zones.local(timezone.now()).year else f" {here.year}"
    text = f"{here.day} {here:%b}{year}, {here:%H:%M}"
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', moment.astimezone(UTC).isoformat(), zones.in_full(moment), text
    )
