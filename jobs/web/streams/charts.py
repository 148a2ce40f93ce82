"""Times of batches as drawings: a small one for each stream of the list, a large one with its grid for a stream's own page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from console.base import zones
from console.base.text.counted import counted
from console.templatetags.levee import duration
from jobs.models import Stream, StreamBatch
from jobs.web.streams.batch_times import is_late, seconds_text
from tables.web.charts.axes import LEFT, WIDTH, Tick, nice_steps

LATELY = 24  # batches in a row of the list
DRAWN = 48  # batches in the drawing
SPARK_WIDTH, SPARK_HEIGHT = 104.0, 20.0


@dataclass(frozen=True, slots=True)
class Spark:
    """The times of a stream's last batches as bars of a small drawing; `text` says the same in words.

    The bars are two paths, `hot` those above the trigger: a list has up to 1,200 of them, and an element each is slow.
    """

    path: str
    hot: str
    text: str


def spark(times: Sequence[int | None], interval_seconds: int | None) -> Spark | None:
    """None without any time to draw."""
    known = [took for took in times if took is not None]
    if not known:
        return None
    slot, top = SPARK_WIDTH / LATELY, max(*known, 1)
    paths = {True: "", False: ""}
    for place, took in enumerate(times):
        if took is not None:
            height = max(round(took / top * (SPARK_HEIGHT - 1), 1), 0.5)
            paths[is_late(took, interval_seconds)] += _bar(round(place * slot, 1), SPARK_HEIGHT, 3, height)
    return Spark(paths[False], paths[True], f"{seconds_text(min(known))} to {seconds_text(max(known))}")


def _bar(x: float, bottom: float, width: float, height: float) -> str:
    """A bar as a part of a path."""
    return f"M{x} {bottom}v{-height}h{width}v{height}z"


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
        paths[is_late(batch.took_ms, limit)] += _bar(x, DRAWN_BOTTOM, round(slot - 3, 1), height)
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
        Tick(
            round(LEFT + (place + (place in ends)) * slot, 1),
            f"{zones.local(batches[place].at):{shape}}",
            ends.get(place, ""),
        )
        for place in places
    ]


def _label(batches: Sequence[StreamBatch], limit: int | None) -> str:
    text = f"Time of the last {counted(len(batches), 'micro-batch', 'micro-batches')}"
    late = sum(is_late(batch.took_ms, limit) for batch in batches)
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
