"""The strip of a table's versions: which can be reached, and which took something away."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from console.base import zones
from tables.history.operations import UNNAMED, Destructive
from tables.history.reachability import Span
from tables.web.charts.axes import Tick
from tables.web.charts.commits import title_of
from tables.web.charts.hatching import hatch
from tables.web.charts.version_axis import STRIP_LEFT, STRIP_RIGHT, dates_on, scale_of

DIAMONDS = 127.5  # the height of their lane


@dataclass(frozen=True, slots=True)
class Box:
    """A part of a lane: `kind` is a class of box (known, log, works, gone)."""

    x: float
    y: float
    width: float
    kind: str

    @property
    def hatch(self) -> str:
        return hatch(self.x, self.y, self.width, 14)


@dataclass(frozen=True, slots=True)
class Diamond:
    """A destructive commit on its lane; hollow unless an approved job stands behind it."""

    x: float
    title: str
    is_hollow: bool

    @property
    def path(self) -> str:
        return f"M{self.x} {DIAMONDS - 6}l6 6-6 6-6-6z"


@dataclass(frozen=True, slots=True)
class Strip:
    """Which versions can be reached, and which took something away, from the oldest known to the newest.

    Lanes of boxes, `marks` where one span of versions begins, `diamonds` with `names` for as many as have room, `dates` on the axis: none
    where the times aren't known, and the versions lie at even distances instead.
    """

    boxes: list[Box]
    marks: list[Tick]
    diamonds: list[Diamond]
    names: list[Tick]
    dates: list[Tick]


def strip(spans: Sequence[Span], destructive: Sequence[Destructive] = ()) -> Strip:
    """One box per span and lane: known to Levee, in the log, restorable, change feed; below them the destructive commits."""
    if not spans:
        return Strip([], [], [], [], [])
    scale = scale_of(spans)
    # Times can go back where commits begin to tell their own, in a copied table say; no box begins left of the one before it.
    begins = (scale.x(span.first, span.first_at) for span in spans[1:])
    lefts = list(itertools.accumulate([STRIP_LEFT, *begins], max))
    boxes = [Box(STRIP_LEFT, 20, STRIP_RIGHT - STRIP_LEFT, "known")]
    for span, left, right in zip(spans, lefts, [*lefts[1:], STRIP_RIGHT], strict=True):
        width = round(right - left, 1)
        boxes.append(Box(left, 44, width, "log" if span.in_log else "gone"))
        boxes.append(Box(left, 68, width, "works" if span.restorable else "gone"))
        boxes.append(Box(left, 92, width, "works" if span.change_feed else "gone"))
    marks = [Tick(left, _begins(span), "") for span, left in zip(spans[1:], lefts[1:], strict=True)]
    places = _beside([scale.x(d.version, d.at) for d in destructive])
    diamonds = [Diamond(x, title_of(d), not d.is_approved) for x, d in zip(places, destructive, strict=True)]
    names = _named_apart(diamonds, destructive)
    return Strip(boxes, _apart(marks, 110), diamonds, names, dates_on(scale, spans[-1].last_at))


def _begins(span: Span) -> str:
    return f"v{span.first:,}" + (f" · {zones.local(span.first_at):%-d %b}" if span.first_at else "")


APART, FARTHEST = 11.0, 33.0  # between two diamonds, and of one from its own place


def _beside(places: Sequence[float]) -> list[float]:
    """Places that would hide each other moved to the left, the newest first in line for its own."""
    moved: list[float] = []
    for place in reversed(places):
        free = moved[-1] - APART if moved else place
        moved.append(round(max(min(place, free), place - FARTHEST, STRIP_LEFT), 1))
    return moved[::-1]


LETTER = 6.0  # the width of one at most, on average


def _named_apart(diamonds: Sequence[Diamond], commits: Sequence[Destructive]) -> list[Tick]:
    """The names that have room, newest first in line for it; none reaches over the right end, nor into the next one."""
    names: list[Tick] = []
    free = STRIP_RIGHT + LETTER
    for diamond, commit in zip(reversed(diamonds), reversed(commits), strict=True):
        text = f"v{commit.version:,} {commit.operation or UNNAMED}" + (
            "" if commit.is_approved else ", no approved job"
        )
        width = len(text) * LETTER
        anchor = "end" if diamond.x + width / 2 > STRIP_RIGHT else "mid"
        right = diamond.x + (0 if anchor == "end" else width / 2)
        if right + LETTER <= free:
            names.append(Tick(diamond.x, text, anchor))
            free = right - width
    return names[::-1]


def _apart(marks: Sequence[Tick], distance: float = 60) -> list[Tick]:
    """The marks whose texts don't run into each other, nor into the newest version's at the right."""
    kept: list[Tick] = []
    for mark in marks:
        if mark.at < STRIP_RIGHT - 150 and (not kept or mark.at - kept[-1].at >= distance):
            kept.append(mark)
    return kept
