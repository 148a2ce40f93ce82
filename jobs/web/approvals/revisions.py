"""The revisions of a request side by side: what an edit changed in its condition, its reason and its figures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from typing import Any

from jobs.domain.states import State
from jobs.models import Edit, Job
from jobs.web.approvals.figures import figures_at

LABELS = {"predicate": "Condition", "reason": "Reason"}
MOST_PAIRS = 40_000  # of words that are compared: of more, what differs is shown before and after as a whole
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of a text: `kind` is same, gone or new."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field before and after. `parts` are the pieces of a changed text, in order; empty for figures."""

    label: str
    before: str
    after: str
    parts: tuple[TextPart, ...] = ()


@dataclass(frozen=True, slots=True)
class Revision:
    """What led from revision `number` - 1 to `number`."""

    number: int
    changes: list[FieldChange]


def told(job: Job, events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The job's events, oldest first, each with the `revision` that it began, None for most. One query, none without an edit.

    An edit is written just before its event: the first one after it that leads back to a preview.
    """
    revisions = _revisions(job)
    shown = []
    for event in events:
        begins = bool(revisions) and event["target"] == State.PREVIEWING and event["at"] >= revisions[0][0]
        shown.append({**event, "revision": revisions.pop(0)[1] if begins else None})
    return shown


def _revisions(job: Job) -> list[tuple[datetime, Revision]]:
    """With the time of its edit each, oldest first."""
    edits = [edit for edit in Edit.objects.filter(job=job).order_by("id") if edit.before] if job.revision > 1 else []
    previews = [*(edit.before.get("preview") for edit in edits[1:]), job.preview] if edits else []
    return [(edit.at, _revision(job, edit, preview)) for edit, preview in zip(edits, previews, strict=True)]


def _revision(job: Job, edit: Edit, preview: Mapping[str, Any] | None) -> Revision:
    named = [name for name in edit.after if edit.before.get(name) != edit.after[name]]
    texts = [_text(name, edit.before.get(name), edit.after[name]) for name in named]
    return Revision(edit.revision + 1, [*texts, *_figures(job, edit.before.get("preview"), preview)])


def _text(name: str, before: Any, after: Any) -> FieldChange:
    old, new = (
        ("every row" if name == "predicate" else "none") if value is None else str(value) for value in (before, after)
    )
    comparable = before is not None and after is not None
    return FieldChange(LABELS.get(name, name.capitalize()), old, new, tuple(parts_of(old, new)) if comparable else ())


def parts_of(old: str, new: str) -> list[TextPart]:
    """The words that stay, go and come, in the order of the text; what goes stands before what comes for it.

    Between the beginning and the end that both have, at most MOST_PAIRS are compared: however long the texts, it takes no longer.
    """
    one, other = _WORDS.findall(old), _WORDS.findall(new)
    start = _alike(one, other)
    end = _alike(one[start:][::-1], other[start:][::-1])
    middle = _compared(one[start : len(one) - end], other[start : len(other) - end])
    parts = [TextPart("same", "".join(one[:start])), *middle, TextPart("same", "".join(one[len(one) - end :]))]
    return [part for part in parts if part.text]


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words both begin with."""
    pairs = zip(one, other, strict=False)
    return next((place for place, (word, its) in enumerate(pairs) if word != its), min(len(one), len(other)))


def _compared(one: Sequence[str], other: Sequence[str]) -> list[TextPart]:
    """Parts of words, some without a text."""
    if len(one) * len(other) > MOST_PAIRS:
        return [TextPart("gone", "".join(one)), TextPart("new", "".join(other))]
    parts = []
    for kind, start, end, begin, stop in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        gone = TextPart("same" if kind == "equal" else "gone", "".join(one[start:end]))
        parts += [gone] if kind == "equal" else [gone, TextPart("new", "".join(other[begin:stop]))]
    return parts


def _figures(job: Job, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[FieldChange]:
    """The figures that differ, by their names; nothing where one revision's preview isn't known."""
    if not before or not after:
        return []
    old = {figure["label"]: str(figure["value"]) for figure in figures_at(job, before)}
    new = {figure["label"]: str(figure["value"]) for figure in figures_at(job, after)}
    labels = list(dict.fromkeys([*old, *new]))
    return [
        FieldChange(label, old.get(label, ""), new.get(label, ""))
        for label in labels
        if old.get(label) != new.get(label)
    ]
