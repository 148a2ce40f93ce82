"""A job as a person reads it before a decision, and afterwards. Any command's: its figures have the API's own names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from console.cli.words import UNKNOWN, figure, label, moment, plain, shown

Pair = tuple[str, str]
_NOT_FIGURES = frozenset({"rows_hash", "path", "table", "table_id", "tree", "why"})
_FIELD = re.compile("[a-z][a-z0-9_]*")
_SENTENCES = {"consequences": "Consequence", "notes": "Note"}
MOST_LINES = 20  # of one list of the preview


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
        if name in _NOT_FIGURES:
            continue
        if name == "predicate" and value is None:
            yield "Rows", "the whole table"
        elif isinstance(value, dict) or (isinstance(value, list) and value and isinstance(value[0], dict)):
            several = value if isinstance(value, list) else [value] if value else []
            yield from ((label("" if place else name), _as_written(one)) for place, one in enumerate(several))
        elif value not in (None, []):
            yield label(name), shown(value) if isinstance(value, list) else _value(name, value)


def _as_written(value: Any) -> str:
    """What a requester gave below names of their own, such as properties: the names stay as they are."""
    if not isinstance(value, dict):
        return shown(value)
    told = {key: one for key, one in value.items() if key != "tree" or isinstance(one, str)}  # a condition, read
    return ", ".join(f"{plain(key)}: {_as_written(one)}" for key, one in told.items())


def _needs(job: Mapping[str, Any]) -> Iterator[Pair]:
    if needed := job["policy"]["required_approvals"]:
        yield "Approvals", f"{_yes(job)} of {needed}, from {job['policy']['role']}s"


def _yes(job: Mapping[str, Any]) -> int:
    return sum(one["decision"] == "approve" and one.get("voided_at") is None for one in job["approvals"])


def _preview(job: Mapping[str, Any]) -> Iterator[Pair]:
    preview = job["preview"] or {}
    shown_ones = {name: value for name, value in preview.items() if name not in _NOT_FIGURES | _SENTENCES.keys()}
    yield from ((label(name), _value(name, value)) for name, value in shown_ones.items() if not isinstance(value, list))
    for name, value in shown_ones.items():
        if isinstance(value, list):
            yield from _items(name, value)
    for name, heading in _SENTENCES.items():
        yield from ((heading, shown(_text(one))) for one in preview.get(name) or [])


def _items(name: str, items: Sequence[Any]) -> Iterator[Pair]:
    """How many, and the first of them, one line each."""
    yield label(name), f"{len(items):,}" if items else "none"
    yield from (("", _value(name, one)) for one in items[:MOST_LINES])
    if len(items) > MOST_LINES:
        yield "", f"and {len(items) - MOST_LINES:,} more: see --json"


def _value(name: str, value: Any) -> str:
    if isinstance(value, dict):
        pairs = (f"{_key(key)}: {_value(key, one)}" for key, one in value.items())
        return ", ".join(pairs) or UNKNOWN
    if isinstance(value, list):
        return "; ".join(_value(name, one) for one in value) or "none"
    return str(value) if isinstance(value, int) and "version" in name else figure(name, value)


def _key(name: str) -> str:
    """A field of the API in words; any other name, such as a property's, as it is."""
    return label(name).lower() if _FIELD.fullmatch(name) else plain(name)


def _text(said: Any) -> Any:
    return said.get("text") if isinstance(said, dict) else said


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
