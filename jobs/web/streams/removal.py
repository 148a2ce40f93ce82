"""What the removal of a stream means, as its page says it before."""

from __future__ import annotations

from collections.abc import Sequence

from django.urls import reverse

from console.base.questions import Question, QuestionText
from console.base.text.counted import counted
from jobs.commands.stream_round.rules import APPEND, Definition, FileSource
from jobs.models import Stream
from jobs.streams.queries import source_of

REASON = QuestionText("reason", "Reason", "Recorded in the audit log.", is_required=True)


def question_of(stream: Stream) -> Question:
    """What a person answers before a stream is removed."""
    return Question(
        act=f"Remove the stream {stream.name}",
        button="Remove the stream",
        follows=follows(stream),
        back=reverse("jobs:stream", args=[stream.pk]),
        back_text=stream.name,
        text=REASON,
    )


def follows(stream: Stream) -> Sequence[tuple[str, str]]:
    """What becomes of what the stream touches. A checkpoint is taken up by no other stream: the database has it once."""
    name = stream.table.name
    lines = [
        ("Table", f"{name} keeps {_loaded(stream)}; no more come from this stream"),
        ("Source", f"{source_of(stream)} stays as it is; what the stream hasn’t read yet, it never reads"),
        ("Checkpoint", f"stays at {stream.checkpoint}; no other stream can continue from it"),
        ("Jobs and audit", "stay; the stream’s page with its batches is no longer shown"),
    ]
    if stream.rounds:
        lines.append(("Another stream", _again(stream)))
    lines.append(
        ("Way back", "none: you can’t undo this. A stopped stream reads nothing; keep it if you may start it again")
    )
    return lines


def _loaded(stream: Stream) -> str:
    batches = stream.batches.filter(skipped=False, version__isnull=False).count()
    return f"the rows of {counted(batches, 'batch', 'batches')}" if batches else "its rows"


def _again(stream: Stream) -> str:
    definition = Definition.from_json(stream.definition)
    if definition.output_mode != APPEND:
        return f"of the same source begins anew, and its first batch replaces the rows of {stream.table.name}"
    start = "first file" if isinstance(definition.source, FileSource) else "start"
    return f"of the same source begins at its {start}, and loads rows again that this one has loaded"
