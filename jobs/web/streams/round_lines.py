"""A stream's rounds on its page, what they say of sink and approval, and the buttons that a person may press meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import JSONObject
from django.urls import reverse
from django.utils.html import format_html

from console.accounts.models import Person
from console.accounts.roles import Permission
from console.templatetags.levee import ago, status
from jobs.commands.stream_round.rules import Definition
from jobs.commands.stream_round.rules import StreamRound as Round
from jobs.domain.policy import TableClass
from jobs.domain.states import ENDED, SENTENCE, State
from jobs.models import Stream, StreamBatch, StreamRound
from jobs.policy.candidates import Candidates, candidates_for
from jobs.policy.needs import needs_of
from jobs.streams import queries, rounds
from jobs.streams.sinks import sink_of
from jobs.web.streams.damaged_lines import lines_text

ROUNDS = 20


@dataclass(frozen=True, slots=True)
class RoundLine:
    """A round as the rail lists it."""

    round: StreamRound
    text: str


def round_lines(stream: Stream) -> list[RoundLine]:
    """The newest rounds with their jobs. One query, of what a line shows of the jobs, the sink's name and the damaged lines left out."""
    found = StreamRound.objects.filter(stream=stream).select_related("job").order_by("-id")
    shown = ("stream", "number", "reset", "opened_at", "job__state", "job__version")
    newest = found.only(*shown).annotate(sink=F("job__result__details__sink"), damaged=Subquery(_damaged()))[:ROUNDS]
    return [RoundLine(each, _line(each)) for each in newest]


def _damaged() -> QuerySet[StreamBatch, Any]:
    """Of a round: the sum over the batches that counted their damaged lines, and how many of its batches didn't."""
    batches = StreamBatch.objects.filter(job=OuterRef("job"), skipped=False).order_by().values("job")
    uncounted = Count("pk", filter=Q(damaged_lines=None))
    return batches.annotate(told=JSONObject(lines=Sum("damaged_lines"), uncounted=uncounted)).values("told")


LINE = '{} <span class="lv-second"><a href="{}">{}</a>{}, {}{}</span>'


def _line(found: StreamRound) -> str:
    name = "reset" if found.reset else f"round {found.number:,}"
    version = "" if found.job.version is None else f", version {found.job.version:,}"
    address = reverse("jobs:detail", args=[found.job_id])
    damaged = _damaged_text(found.damaged)  # type: ignore[attr-defined]  # annotated
    return format_html(LINE, status(found.job.state), address, name, version, ago(found.opened_at), damaged)


def _damaged_text(told: Mapping[str, int | None] | None) -> str:
    """Empty where no batch counted its damaged lines, or none had any."""
    lines = (told or {}).get("lines")
    if not told or not lines:
        return ""
    return f", {lines_text(lines, at_least=bool(told['uncounted']))} left out"


def described_sink(stream: Stream, lines: Sequence[RoundLine]) -> str:
    """The sink as Spark described it last; before that, as it will."""
    told = [line.round.sink for line in lines if line.round.sink]  # type: ignore[attr-defined]  # annotated
    return str(told[0]) if told else sink_of(stream)


@dataclass(frozen=True, slots=True)
class StreamApproval:
    """Whether the stream needs an approval, and which one it has: `job` gave it. Until then how many its next round needs, and whose."""

    is_needed: bool
    job: Any = None
    required: int = 0
    candidates: Candidates | None = None


def approval_of(person: Person, stream: Stream, definition: Definition) -> StreamApproval:
    """`person` looks at it, and would start one that nobody has."""
    if not rounds.replaces_rows(stream, definition):
        return StreamApproval(is_needed=False)
    if rounds.is_approved(stream):
        return StreamApproval(is_needed=True, job=stream.approved_by_job)
    author = stream.run_by or person
    needs = needs_of(author, Round.kind, stream.table, {"class": TableClass.WHOLE_TABLE.value})
    if not needs.required_approvals:
        return StreamApproval(is_needed=True)
    shaped = [author, *Person.objects.filter(pk__in=stream.edited_by).exclude(pk=author.pk)]
    candidates = candidates_for(shaped, needs.policy.role, needs.place, needs.required_approvals)
    return StreamApproval(is_needed=True, required=needs.required_approvals, candidates=candidates)


@dataclass(frozen=True, slots=True)
class StreamButtons:
    """The buttons that this person may press now."""

    run_once: bool = False
    start: bool = False
    stop: bool = False
    edit: bool = False
    reset: bool = False
    remove: bool = False

    def __bool__(self) -> bool:
        return self.edit


def actions_of(person: Person, stream: Stream, opened: StreamRound | None) -> StreamButtons:
    if not queries.may_run(person, stream):
        return StreamButtons()
    still = stream.state in {Stream.State.STOPPED, Stream.State.FAILED}
    return StreamButtons(
        run_once=opened is None,
        start=stream.state != Stream.State.RUNNING,
        stop=stream.state == Stream.State.RUNNING,
        edit=True,
        reset=still and opened is None,
        remove=still and opened is None,
    )


def round_sentence(opened: StreamRound) -> str:
    """What the open round does now."""
    progress = opened.job.progress or {}
    if opened.job.state == State.RUNNING and progress.get("waiting"):
        return str(progress["waiting"])
    if opened.job.state == State.RUNNING and progress.get("stage"):
        return f"{str(progress['stage']).capitalize()}."
    if opened.job.state in ENDED:
        return "It has ended; Levee is entering its batches."
    return SENTENCE[State(opened.job.state)]


def sees_source(person: Person, stream: Stream) -> bool:
    """Whether the person may open the page of the table that the stream reads."""
    source = stream.source_table
    return source is not None and person.scopes(Permission.TABLE_READ).covers_table(source.root_id, source.pk)
