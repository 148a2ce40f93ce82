"""Streams as pages show them: states and lags in words, batches as lines and drawings. A constant number of queries each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Count, Exists, F, OuterRef, Subquery
from django.db.models.functions import JSONObject
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html, format_html_join

from console.accounts.models import Person
from console.accounts.roles import Permission
from console.base.pagination import Key, Page, page
from console.templatetags.levee import StateLook, duration, size, unknown
from jobs.commands.stream_round.rules import Definition
from jobs.domain.states import ENDED, SENTENCE, State
from jobs.models import Stream, StreamBatch, StreamRound
from jobs.streams import queries, rounds
from jobs.streams.sinks import sink_of
from tables.web.charts import LEFT, WIDTH, Tick, nice_steps

BY_NAME = (Key("name"), Key("id"))
NEWEST = (Key("id", descending=True),)
LATELY = 24  # batches in a row of the list
DRAWN = 48  # batches in the drawing
ROUNDS = 20
STALE_LAG = timedelta(minutes=5)  # an older measure says when it was made

LOOKS: Mapping[str, StateLook] = {
    Stream.State.RUNNING: StateLook("ok", "player-play", "Running"),
    Stream.State.STOPPING: StateLook("wait", "player-stop", "Stopping"),
    Stream.State.STOPPED: StateLook("idle", "player-stop", "Stopped"),
    Stream.State.FAILED: StateLook("bad", "circle-x", "Failed"),
}
WAITS = StateLook("wait", "user-check", "Waits for approval")
BEHIND = StateLook("wait", "alert-triangle", "Falls behind")
STOPPED_BY = "Stopped by "


# --- the list ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spark:
    """The times of a stream's last batches as bars of a small drawing; `text` says the same in words.

    The bars are two paths, `hot` those above the trigger: a list has up to 1,200 of them, and an element each is slow.
    """

    path: str
    hot: str
    text: str


@dataclass(frozen=True, slots=True)
class Lag:
    """A lag in words. `why`: why there is none; `measured_at` is set where it was measured a while ago."""

    text: str = ""
    oldest: datetime | None = None
    why: str = ""
    measured_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A stream as the list shows it. `last` is its newest batch, `second` a line below its state."""

    stream: Stream
    source: str
    state: StateLook
    second: str
    condition: str
    lag: Lag
    last: Mapping[str, Any] | None
    spark: Spark | None
    is_behind: bool


def listed(person: Person, limit: int, cursor: str) -> Page[Stream]:
    """The person's streams by name, each with its `last` batch, the times of the `lately` ones, and `waits`. One query."""
    batches = StreamBatch.objects.filter(stream=OuterRef("pk")).order_by("-id")
    waiting = StreamRound.objects.filter(stream=OuterRef("pk"), booked_at=None, job__state=State.AWAITING_APPROVAL)
    told = JSONObject(at="at", took_ms="took_ms", rows_out="rows_out", skipped="skipped")
    streams = queries.visible_to(person).annotate(
        waits=Exists(waiting),
        last=Subquery(batches.values(told=told)[:1]),
        lately=ArraySubquery(batches.values("took_ms")[:LATELY]),
    )
    return page(streams, BY_NAME, limit, cursor)


def counted(person: Person) -> str:
    """6 streams: 3 running, 1 failed, 2 stopped."""
    found = dict(queries.visible_to(person).order_by().values_list("state").annotate(Count("pk")))
    total = sum(found.values())
    order = (Stream.State.RUNNING, Stream.State.STOPPING, Stream.State.FAILED, Stream.State.STOPPED)
    parts = [f"{found[state]:,} {state.label.lower()}" for state in order if found.get(state)]
    return f"{total:,} stream{'' if total == 1 else 's'}{': ' if parts else ''}{', '.join(parts)}"


def row(stream: Stream) -> Row:
    last: dict[str, Any] | None = stream.last  # type: ignore[attr-defined]  # annotated by `listed`
    lately: list[int | None] = stream.lately  # type: ignore[attr-defined]  # newest first
    behind = is_behind(stream, last["took_ms"] if last else None)
    state, second = _state_of(stream, behind)
    condition = condition_of(stream.error) if stream.state == Stream.State.FAILED else ""
    spark = _spark(lately[::-1], stream.interval_seconds)
    return Row(stream, queries.source_of(stream), state, second, condition, lag_of(stream), last, spark, behind)


def _state_of(stream: Stream, behind: bool) -> tuple[StateLook, str]:
    """Look and second line."""
    look = LOOKS[stream.state]
    if stream.waits:  # type: ignore[attr-defined]  # annotated by `listed`
        return WAITS, "its round, or the reset of its checkpoint"
    if behind:
        return BEHIND, f"a batch takes longer than the trigger, {duration(stream.interval_seconds)}"
    if stream.state == Stream.State.RUNNING:
        return (
            look,
            f"every {duration(stream.interval_seconds)}" if stream.interval_seconds else "until it has read everything",
        )
    if stream.state != Stream.State.STOPPED:
        return look, ""
    if stream.state_text.startswith(STOPPED_BY):
        return look._replace(word=stream.state_text.rstrip(".")), ""
    return look, stream.state_text or ("never started" if not stream.rounds else "")


def is_behind(stream: Stream, took_ms: int | None) -> bool:
    """Whether the stream runs and its last batch took longer than its trigger leaves it."""
    return stream.state == Stream.State.RUNNING and _is_late(took_ms, stream.interval_seconds)


def lag_of(stream: Stream) -> Lag:
    if stream.state == Stream.State.STOPPED:
        return Lag(why="A stopped stream isn’t measured.")
    if stream.lag is None:
        return Lag(why="Levee measures a stream before each round, from its source and its checkpoint.")
    measured_at = stream.lag_at if stream.lag_at and timezone.now() - stream.lag_at > STALE_LAG else None
    waiting, unit = int(stream.lag["waiting"]), stream.lag["unit"]
    if not waiting:
        return Lag("up to date", measured_at=measured_at)
    text = f"{'' if stream.lag['exact'] else 'at least '}{waiting:,} {unit}{'' if waiting == 1 else 's'}"
    return Lag(text, parse_datetime(stream.lag["oldest"] or ""), measured_at=measured_at)


SPARK_WIDTH, SPARK_HEIGHT = 104.0, 20.0


def _spark(times: Sequence[int | None], interval_seconds: int | None) -> Spark | None:
    """None without any time to draw."""
    known = [took for took in times if took is not None]
    if not known:
        return None
    slot, top = SPARK_WIDTH / LATELY, max(*known, 1)
    paths = {True: "", False: ""}
    for place, took in enumerate(times):
        if took is not None:
            height = max(round(took / top * (SPARK_HEIGHT - 1), 1), 0.5)
            paths[_is_late(took, interval_seconds)] += _bar(round(place * slot, 1), SPARK_HEIGHT, 3, height)
    return Spark(paths[False], paths[True], f"{seconds_text(min(known))} to {seconds_text(max(known))}")


def _bar(x: float, bottom: float, width: float, height: float) -> str:
    """A bar as a part of a path."""
    return f"M{x} {bottom}v{-height}h{width}v{height}z"


def _is_late(took_ms: int | None, interval_seconds: int | None) -> bool:
    """Whether a batch took longer than the trigger."""
    return took_ms is not None and interval_seconds is not None and took_ms > interval_seconds * 1000


def seconds_text(ms: int | None) -> str | None:
    """Milliseconds as people compare them: `840 ms`, `9.7 s`, `2 min 3 s`."""
    if ms is None:
        return None
    if ms < 1000:
        return f"{ms} ms"
    return f"{ms / 1000:.1f} s" if ms < 60_000 else str(duration(ms / 1000))


# --- one stream -------------------------------------------------------------------------------------------------------

_CLASS = re.compile(r"\[([A-Z][A-Z0-9_]{2,80}(?:\.[A-Z][A-Z0-9_]{2,80})*)\]")
WRAPPER = "STREAM_FAILED"


def condition_of(error: Mapping[str, Any] | None) -> str:
    """The engine's condition of a failure: the one inside STREAM_FAILED, which Spark puts around every error of a query."""
    engine = (error or {}).get("engine") or {}
    condition = str(engine.get("condition") or "")
    if condition and condition != WRAPPER:
        return condition
    inside = [name for name in _CLASS.findall(str(engine.get("message") or "")[:20_000]) if name != WRAPPER]
    return inside[0] if inside else condition


def heading(stream: Stream, behind: bool) -> str:
    """The stream and its state as a sentence."""
    match stream.state:
        case Stream.State.RUNNING if behind:
            said = "falls behind"
        case Stream.State.RUNNING if stream.interval_seconds:
            said = f"runs every {duration(stream.interval_seconds)}"
        case Stream.State.RUNNING:
            said = "runs until it has read what its source holds"
        case Stream.State.STOPPING:
            said = "stops after its current round"
        case Stream.State.FAILED:
            said = "failed"
        case _:
            said = "is stopped" if stream.rounds else "was never started"
    return f"{stream.name} {said}"


@dataclass(frozen=True, slots=True)
class BatchLine:
    """A micro-batch as the table of batches shows it, made here since a page has hundreds of its values.

    `when` is the time of its commit, `read` are the cells of what it read, `wrote` those of what it wrote; `phases` and `facts` unfold.
    """

    batch: StreamBatch
    is_late: bool
    when: str
    read: str
    wrote: str
    phases: str
    facts: str


# Spark's phases of a batch in the order in which they run; the whole comes last.
PHASES = ("latestOffset", "getBatch", "queryPlanning", "walCommit", "addBatch", "commitBatch", "commitOffsets")
WHOLE = "triggerExecution"


LOST = "Only the log knows this batch: its worker was lost before it told"
CELL = '<td class="n">{}</td>'
PAIR = "<dt>{}</dt><dd>{}</dd>"


def batch_lines(stream: Stream, batches: Sequence[StreamBatch]) -> list[BatchLine]:
    return [_batch_line(batch, stream.interval_seconds) for batch in batches]


def _batch_line(batch: StreamBatch, interval_seconds: int | None) -> BatchLine:
    read = (seconds_text(batch.took_ms) or unknown(LOST), _told(batch.input_rows))
    wrote = (
        _told(batch.rows_out, word="not reported"),
        _told(batch.files_added),
        _told(batch.files_removed),
        size(batch.bytes_added),
    )
    return BatchLine(
        batch,
        _is_late(batch.took_ms, interval_seconds),
        _when(batch.at),
        format_html_join("", CELL, ((cell,) for cell in read)),
        format_html_join("", CELL, ((cell,) for cell in wrote)),
        format_html_join("", PAIR, _phases(batch.durations)),
        format_html_join("", PAIR, _facts(batch)),
    )


def _when(at: datetime) -> str:
    """Day and time in UTC: the batches of a page may be of several days."""
    moment = at.astimezone(UTC)
    element = '<time datetime="{}" title="{} UTC">{}</time>'
    return format_html(
        element, f"{moment:%Y-%m-%dT%H:%M:%SZ}", f"{moment:%Y-%m-%d %H:%M:%S}", f"{moment:%-d %b %H:%M:%S}"
    )


def _told(value: int | None, word: str = "unknown") -> str:
    return unknown("Neither Spark nor the commit tells", word) if value is None else f"{value:,}"


def _phases(durations: Mapping[str, Any]) -> list[tuple[str, str]]:
    order = {name: place for place, name in enumerate((*PHASES, *sorted(durations.keys() - {*PHASES, WHOLE}), WHOLE))}
    told = [(name, f"{durations[name]:,} ms") for name in sorted(durations, key=lambda name: order[name])]
    return told or [("Phases", unknown(LOST))]


def _facts(batch: StreamBatch) -> Iterator[tuple[str, str]]:
    yield "Query id", batch.query_id or unknown()
    yield "Run id", batch.run_id or unknown(LOST)
    yield "Epoch id", f"{batch.batch_id:,}"
    yield "Output mode", batch.output_mode.capitalize()
    yield "Rows in", _rate(batch.input_rate) or unknown("Spark told no rate")
    yield "Processed", _rate(batch.processed_rate) or unknown("Spark told no rate")


def batch_page(stream: Stream, limit: int, cursor: str) -> Page[StreamBatch]:
    """Batches, newest first. One query on the index of stream and id."""
    return page(StreamBatch.objects.filter(stream=stream), NEWEST, limit, cursor)


def newest_batches(stream: Stream) -> list[StreamBatch]:
    """The batches of the drawing, newest first."""
    return list(StreamBatch.objects.filter(stream=stream).order_by("-id").defer("durations")[:DRAWN])


@dataclass(frozen=True, slots=True)
class Drawing:
    """Times of batches as bars with their grid, `late` those above the trigger, which is a line where it isn't far above all."""

    path: str
    late: str
    grid: list[Tick]
    below: list[Tick]
    label: str
    reference: float | None = None
    reference_text: str = ""
    note: str = ""

    @property
    def reference_text_at(self) -> float:
        return round((self.reference or 0) - 6, 1)


DRAWN_TOP, DRAWN_BOTTOM = 28.0, 118.0
FAR = 3  # times the longest batch: a trigger above that would press the bars flat


def drawing(stream: Stream, newest: Sequence[StreamBatch]) -> Drawing | None:
    """None while no batch has a time."""
    batches, limit = list(reversed(newest)), stream.interval_seconds
    known = [batch.took_ms / 1000 for batch in batches if batch.took_ms is not None]
    if not known:
        return None
    longest = max(*known, 0.001)
    near = limit is not None and limit <= longest * FAR
    top = max(longest, limit or 0) if near else longest
    steps = nice_steps(top)
    scale, slot = (DRAWN_BOTTOM - DRAWN_TOP) / max(top, steps[-1]), (WIDTH - LEFT) / DRAWN
    paths = {True: "", False: ""}
    for place, batch in enumerate(batches):
        height = round((batch.took_ms or 0) / 1000 * scale, 1)
        x = round(LEFT + place * slot + 1.5, 1)
        paths[_is_late(batch.took_ms, limit)] += _bar(x, DRAWN_BOTTOM, round(slot - 3, 1), height)
    grid = [Tick(round(DRAWN_BOTTOM - step * scale, 1), _step_text(step)) for step in steps]
    reference = round(DRAWN_BOTTOM - limit * scale, 1) if near and limit else None
    texts = _reference_texts(limit, near)
    return Drawing(paths[False], paths[True], grid, _times(batches, slot), _label(batches, limit), reference, *texts)


def _step_text(step: float) -> str:
    return str(duration(step)) if step >= 1 or step == 0 else f"{round(step * 1000)} ms"


def _times(batches: Sequence[StreamBatch], slot: float) -> list[Tick]:
    """When the first, the last and two batches between them began."""
    last = len(batches) - 1
    places = sorted({0, last // 3, last * 2 // 3, last}) if last >= 9 else [0]
    shape = "%H:%M" if batches[last].at - batches[0].at < timedelta(days=1) else "%-d %b"
    ends = {last: "end"} if last >= DRAWN - 5 else {}  # else it would be cut off
    return [
        Tick(round(LEFT + (place + (place in ends)) * slot, 1), f"{batches[place].at:{shape}}", ends.get(place, ""))
        for place in places
    ]


def _label(batches: Sequence[StreamBatch], limit: int | None) -> str:
    text = f"Time of the last {len(batches)} micro-batch{'' if len(batches) == 1 else 'es'}"
    late = sum(_is_late(batch.took_ms, limit) for batch in batches)
    return text if limit is None else f"{text}; {late or 'none'} took longer than the trigger of {duration(limit)}"


def _reference_texts(limit: int | None, near: bool) -> tuple[str, str]:
    if limit is None:
        return "", ""
    text = f"trigger every {duration(limit)}"
    return (
        (f"{text}; above this line the stream falls behind", "")
        if near
        else ("", f"The {text} lies far above every bar.")
    )


@dataclass(frozen=True, slots=True)
class RoundLine:
    """A round as the rail lists it."""

    round: StreamRound
    sentence: str


def round_lines(stream: Stream) -> list[RoundLine]:
    """The newest rounds with their jobs. One query, without the jobs' long parts but for the sink's name."""
    found = StreamRound.objects.filter(stream=stream).select_related("job").order_by("-id")
    long = ("job__preview", "job__parameters", "job__result", "job__policy", "job__error")
    newest = found.defer(*long).annotate(sink=F("job__result__details__sink"))[:ROUNDS]
    return [RoundLine(each, SENTENCE[State(each.job.state)]) for each in newest]


def described_sink(stream: Stream, lines: Sequence[RoundLine]) -> str:
    """The sink as Spark described it last; before that, as it will."""
    told = [line.round.sink for line in lines if line.round.sink]  # type: ignore[attr-defined]  # annotated
    return str(told[0]) if told else sink_of(stream)


@dataclass(frozen=True, slots=True)
class Approval:
    """Whether the stream needs an approval, and which one it has. `job` gave it."""

    is_needed: bool
    job: Any = None


def approval_of(stream: Stream, definition: Definition) -> Approval:
    if not rounds.replaces_rows(stream, definition):
        return Approval(is_needed=False)
    return Approval(is_needed=True, job=stream.approved_by_job if rounds.is_approved(stream) else None)


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates of the newest batch. `over`: how much longer than its trigger it took."""

    input: str | None
    processed: str | None
    over: str | None


def rates_of(stream: Stream, batch: StreamBatch | None) -> Rates | None:
    if batch is None:
        return None
    behind = is_behind(stream, batch.took_ms)
    over = seconds_text((batch.took_ms or 0) - (stream.interval_seconds or 0) * 1000) if behind else None
    return Rates(_rate(batch.input_rate), _rate(batch.processed_rate), over)


def _rate(value: float | None) -> str | None:
    if value is None:
        return None
    return f"{value:,.0f} rows/s" if value >= 10 else f"{value:,.1f} rows/s"


@dataclass(frozen=True, slots=True)
class Actions:
    """The buttons that this person may press now."""

    run_once: bool = False
    start: bool = False
    stop: bool = False
    edit: bool = False
    reset: bool = False
    remove: bool = False

    def __bool__(self) -> bool:
        return self.edit


def actions_of(person: Person, stream: Stream, opened: StreamRound | None) -> Actions:
    if not queries.may_run(person, stream):
        return Actions()
    still = stream.state in {Stream.State.STOPPED, Stream.State.FAILED}
    return Actions(
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
    if opened.job.state == State.RUNNING and progress.get("stage"):
        return f"{str(progress['stage']).capitalize()}."
    if opened.job.state in ENDED:
        return "It has ended; Levee is entering its batches."
    return SENTENCE[State(opened.job.state)]


def sees_source(person: Person, stream: Stream) -> bool:
    """Whether the person may open the page of the table that the stream reads."""
    source = stream.source_table
    return source is not None and person.scopes(Permission.TABLE_READ).covers_table(source.root_id, source.pk)
