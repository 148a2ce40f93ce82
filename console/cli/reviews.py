"""A job as a person reads it before a decision, and afterwards. Any command's: its figures have the API's own names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from console.cli.words import figure, label, moment, shown

Pair = tuple[str, str]
_NOT_FIGURES = frozenset({"rows_hash", "path", "table", "table_id", "tree", "why"})


def summary(job: Mapping[str, Any]) -> list[Pair]:
    """Who asked for what on which table, and where it stands."""
    return [
        ("Job", job["id"]),
        ("Command", job["command"]),
        ("Table", f"{job['table']['name']} ({job['table']['path']})"),
        *_parameters(job),
        ("Requested", f"by {job['requested_by']}, {moment(job['requested_at'])} UTC"),
        ("Reason", shown(job["reason"])),
        ("State", job["state_text"]),
        *_needs(job),
    ]


def review(job: Mapping[str, Any]) -> list[Pair]:
    """All that an approval of the job stands for: request, preview, drift, digest."""
    return [*summary(job), *_preview(job), *_drift(job), *_decisions(job), ("Digest", shown(job["digest"]))]


def ended(job: Mapping[str, Any]) -> list[Pair]:
    """What was asked for, and what became of it."""
    return [*summary(job), *_decisions(job), *_outcome(job)]


def whole(job: Mapping[str, Any]) -> list[Pair]:
    """The review, with what became of the job."""
    return [*review(job), *_outcome(job)]


def _parameters(job: Mapping[str, Any]) -> Iterator[Pair]:
    for name, value in job["parameters"].items():
        if name in _NOT_FIGURES or isinstance(value, dict):
            continue
        if name == "predicate" and value is None:
            yield "Rows", "the whole table"
        elif value not in (None, []):
            yield label(name), str(value) if isinstance(value, int) else shown(value)


def _needs(job: Mapping[str, Any]) -> Iterator[Pair]:
    if needed := job["policy"]["required_approvals"]:
        yield "Approvals", f"{_yes(job)} of {needed}, from {job['policy']['role']}s"


def _yes(job: Mapping[str, Any]) -> int:
    return sum(one["decision"] == "approve" and one.get("voided_at") is None for one in job["approvals"])


def _preview(job: Mapping[str, Any]) -> Iterator[Pair]:
    preview = job["preview"] or {}
    for name, value in preview.items():
        if name not in _NOT_FIGURES and isinstance(value, str | int) and value != "":
            yield label(name), str(value) if "version" in name else figure(name, value)
    for consequence in preview.get("consequences") or []:
        yield "Consequence", shown(consequence["text"])


def _drift(job: Mapping[str, Any]) -> Iterator[Pair]:
    if drift := job["drift"]:
        yield "Since the preview", f"{label(drift['verdict'])}. {drift.get('why') or ''}".strip()


def _decisions(job: Mapping[str, Any]) -> Iterator[Pair]:
    for one in job["approvals"]:
        void = ", voided by an edit" if one.get("voided_at") else ""
        comment = f": {one['comment']}" if one["comment"] else ""
        yield label(one["decision"]), f"by {one['by']}, {moment(one['decided_at'])} UTC{void}{comment}"


def _outcome(job: Mapping[str, Any]) -> Iterator[Pair]:
    yield "Of the table", job["table_state_text"]
    if (result := job["result"]) and result["num_affected_rows"] is not None:
        yield "Rows affected", shown(result["num_affected_rows"])
    if error := job["error"]:
        yield "Error", f"{error['message']} [{error['code']}]"
        yield "What you can do", error["what_to_do"]
