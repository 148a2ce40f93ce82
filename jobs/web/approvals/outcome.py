"""A run on its job's page: who approved it, its result beside the prediction, and the undo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from console.accounts.models import Person
from console.accounts.roles import Permission
from console.templatetags.levee import duration, number, size
from jobs.commands.registry import compared, contradicted, not_undone
from jobs.domain import comparison
from jobs.domain.comparison import ROWS_CHANGED, Line, Unit, Verdict
from jobs.domain.results import Result
from jobs.models import Job
from jobs.targets.lineage import undoing
from jobs.web.approvals import figures
from jobs.web.approvals.figures import figures_of
from jobs.web.approvals.review_queries import decisions_of, is_reviewed, request_of
from jobs.web.jobs.naming import name_by_id
from jobs.web.jobs.queries import titled
from jobs.web.parts import parts_of


@dataclass(frozen=True, slots=True)
class Word:
    """A verdict as icon, tone and word."""

    tone: str
    icon: str
    text: str


WORDS = {
    Verdict.SAME: Word("ok", "circle-check", "as predicted"),
    Verdict.WITHIN: Word("ok", "circle-check", "within the bound"),
    Verdict.DIFFERENT: Word("wait", "alert-triangle", "different"),
    Verdict.UNKNOWN: Word("unknown", "help-circle", "not recorded"),
    Verdict.MEASURED: Word("idle", "info-circle", "not predicted"),
}


def outcome_of(person: Person, job: Job) -> dict[str, Any]:
    """The context of the job's page beside state and log."""
    result = Result.from_json(job.result) if job.result else None
    lines = compared(job, result) if result else []
    undone = undoing(job)
    wrong = contradicted(job, result) if result else []
    return {
        **request_of(job),
        "approvers": [d.person.name for d in decisions_of(job) if d.decision == "approve" and d.voided_at is None],
        "figures": figures_of(job, None),
        "counted": figures.outcome_of(job, result) if result else [],
        "lines": [shown(line) for line in lines if line.why != comparison.OUT_OF_LOG],
        "kept_out": [line.label.lower() for line in lines if line.why == comparison.OUT_OF_LOG],
        "contradictions": [comparison.in_words(line) for line in wrong],
        "differing": len(comparison.differ(lines)),
        "may_undo": job.version is not None and not undone and not not_undone(job) and _may_ask(person, job),
        "back_to": result.read_version if result and any(line.name == ROWS_CHANGED for line in wrong) else None,
        "undone": undone,
        "undone_named": name_by_id(undone.job, job.table_id) if undone else None,
        "not_undone": not_undone(job) if job.version is not None else "",
        "opposite_url": parts_of(job).opposite(job) if job.version is not None and _may_ask(person, job) else "",
        "undone_by": _undone_by(job),
        "is_reviewed": is_reviewed(job),
    }


def _may_ask(person: Person, job: Job) -> bool:
    return person.scopes(Permission.JOB_REQUEST).covers_table(job.table.root_id, job.table_id)


def _undone_by(job: Job) -> list[Job]:
    """The jobs that were requested to undo this one, newest first."""
    undoing_it = titled(Job.objects.filter(undoes=job)).select_related("table")
    return [] if job.version is None else list(undoing_it.order_by("-requested_at")[:5])


def shown(line: Line) -> dict[str, Any]:
    return {
        "name": line.name,
        "label": line.label,
        "expected": _expected(line),
        "actual": None if line.actual is None else _text(line.actual, line.unit),
        "word": WORDS[line.verdict],
        "why": line.why,
    }


def _expected(line: Line) -> str:
    """The prediction in words; empty if there was none."""
    expected = line.expected
    if expected.value is not None:
        return _text(expected.value, line.unit)
    least = "" if expected.least is None else f"at least {_text(expected.least, line.unit)}"
    most = "" if expected.most is None else f"at most {_text(expected.most, line.unit)}"
    return ", ".join(filter(None, (least, most)))


def _text(value: int | str, unit: Unit) -> str:
    if isinstance(value, str):
        return value
    match unit:
        case Unit.BYTES:
            return size(value)
        case Unit.MILLISECONDS:
            return duration(value / 1000)
    return number(value)
