"""Lines of time: what jobs did to a table and which undid which, and when its columns came, went and changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tables.deltalog.rules.schema_changes import SchemaChange, SchemaChangeKind
from tables.models import Commit
from tables.ports import JobRun
from tables.web.charts.axes import Tick
from tables.web.charts.version_axis import NEWEST_WIDTH, STRIP_LEFT, STRIP_RIGHT, Scale, dates_on

ROW, TOP = 22, 8  # the height of a row, and what is above the first
BAR = 12
MOST_COLUMNS = 24
LEAST_WIDTH = 3.0  # of what took no time that could be seen
NAME = 23  # characters that have room beside a row


@dataclass(frozen=True, slots=True)
class TimelinePart:
    """A piece of a row: `kind` is waiting, works or gone."""

    x: float
    y: float
    width: float
    kind: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A point on a row with its title, as a diamond."""

    x: float
    y: float
    title: str

    @property
    def path(self) -> str:
        return f"M{self.x} {self.y}l6 6-6 6-6-6z"


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """A named row of a line of time; `title` is the whole of a name that is cut, and what else tells it from others."""

    name: str
    y: float
    parts: list[TimelinePart]
    marks: list[Mark]
    title: str = ""

    @property
    def text_y(self) -> float:
        return self.y + 10


@dataclass(frozen=True, slots=True)
class Timeline:
    """Rows over an axis of dates; `links` are paths from an act to the one that it undid."""

    rows: list[TimelineRow]
    dates: list[Tick]
    links: list[str] = field(default_factory=list)

    @property
    def height(self) -> float:
        return self.axis + 20

    @property
    def axis(self) -> float:
        return TOP + ROW * len(self.rows) + 4


def _scale(start: datetime, end: datetime) -> Scale:
    seconds = max(1.0, (end - start).total_seconds())
    return Scale(0, start, (STRIP_RIGHT - NEWEST_WIDTH - STRIP_LEFT) / seconds)


def _short(name: str) -> str:
    return name if len(name) <= NAME else f"{name[: NAME - 1]}…"


def acts_over_time(acts: Sequence[JobRun], now: datetime) -> Timeline | None:
    """A row for each act, oldest first: how long it waited and ran, and its commit. None without one."""
    if not acts:
        return None
    scale = _scale(min(act.asked_at for act in acts), now)
    rows = [_act_row(act, scale, TOP + ROW * place, now) for place, act in enumerate(acts)]
    by_id = {act.id: row for act, row in zip(acts, rows, strict=True)}
    links = [_link(row, by_id[act.undoes]) for act, row in zip(acts, rows, strict=True) if act.undoes in by_id]
    return Timeline(rows, dates_on(scale, now), [link for link in links if link])


def _act_row(act: JobRun, scale: Scale, y: float, now: datetime) -> TimelineRow:
    end = act.ended_at or now
    begun = min(act.began_at or end, end)
    parts = [_part(scale, act.asked_at, begun, y, "waiting")]
    if act.began_at:
        parts.append(_part(scale, begun, end, y, "works" if act.version is not None or not act.ended_at else "gone"))
    title = f"{act.title}: {act.reason}"
    marks = [] if act.version is None else [Mark(scale.x(0, end), y, f"v{act.version:,}: {title}")]
    return TimelineRow(_short(act.title), y, parts, marks, title)


def _part(scale: Scale, start: datetime, end: datetime, y: float, kind: str) -> TimelinePart:
    left = scale.x(0, start)
    return TimelinePart(left, y, round(max(LEAST_WIDTH, scale.x(0, end) - left), 1), kind)


def _link(undo: TimelineRow, undone: TimelineRow) -> str:
    """From the undo's commit to the one it took back; empty while it has none."""
    if not undo.marks or not undone.marks:
        return ""
    start, end = undo.marks[0], undone.marks[0]
    return f"M{start.x} {start.y}C{start.x} {(start.y + end.y) / 2} {end.x} {(start.y + end.y) / 2 + BAR} {end.x} {end.y + BAR}"


@dataclass(slots=True)
class _Life:
    """A column from its coming to its going: times, None for what was before all that is known, or lasts."""

    name: str
    begin: datetime | None
    end: datetime | None = None
    marks: list[tuple[datetime, str]] = field(default_factory=list)


SchemaCommit = tuple[Commit, list[SchemaChange] | None]


def columns_over_time(changes: Sequence[SchemaCommit], now: datetime) -> Timeline | None:
    """The columns that came, went or changed, by the commits that changed the schema (newest first). None where none did.

    Those that changed last are drawn, MOST_COLUMNS at most.
    """
    known = [(commit.committed_at, commit.version, told) for commit, told in reversed(changes) if commit.committed_at]
    lives: list[_Life] = []
    by_name: dict[str, _Life] = {}
    for at, version, told in known:
        for change in sorted(
            told or (), key=lambda change: change.kind != SchemaChangeKind.REMOVED
        ):  # a name may be taken at once
            _live(lives, by_name, change, at, f"v{version:,}")
    if not lives:
        return None
    scale = _scale(known[0][0], now)
    shown = sorted(lives, key=_last_change)[-MOST_COLUMNS:]
    rows = [_column_row(life, scale, TOP + ROW * place, now) for place, life in enumerate(shown)]
    return Timeline(rows, dates_on(scale, now))


def _last_change(life: _Life) -> datetime:
    times = [at for at, _ in life.marks]
    return max(at for at in (life.begin, life.end, *times) if at is not None)


def _live(lives: list[_Life], by_name: dict[str, _Life], change: SchemaChange, at: datetime, version: str) -> None:
    """Writes one change into the lives of the columns; `by_name` has those that haven't gone."""
    if change.kind == SchemaChangeKind.ADDED:
        by_name.pop(change.column, None)
        life = _of(lives, by_name, change.column, at)
        life.marks.append((at, f"{version}: {change.column} added, {change.after}"))
    elif change.kind == SchemaChangeKind.REMOVED:
        life = _of(lives, by_name, change.column)
        life.end = at
        life.marks.append((at, f"{version}: {change.column} removed"))
        del by_name[change.column]
    elif change.kind == SchemaChangeKind.RENAMED:
        life = _of(lives, by_name, str(change.before))
        life.name = change.column
        life.marks.append((at, f"{version}: {change.before} renamed to {change.column}"))
        by_name[change.column] = by_name.pop(str(change.before))
    elif change.column:
        text = f"{version}: {change.kind} of {change.column} changed from {change.before or 'none'} to {change.after or 'none'}"
        _of(lives, by_name, change.column).marks.append((at, text))


def _of(lives: list[_Life], by_name: dict[str, _Life], name: str, begin: datetime | None = None) -> _Life:
    """The column that goes by the name now. One that nothing was said of before began then, or has been there all along."""
    if name not in by_name:
        by_name[name] = _Life(name, begin)
        lives.append(by_name[name])
    return by_name[name]


def _column_row(life: _Life, scale: Scale, y: float, now: datetime) -> TimelineRow:
    begin = life.begin or scale.start or now
    part = _part(scale, begin, life.end or now, y, "works")
    return TimelineRow(_short(life.name), y, [part], _apart([Mark(scale.x(0, at), y, text) for at, text in life.marks]))


def _apart(marks: Iterable[Mark]) -> list[Mark]:
    """Marks at one place become one, with all that they say."""
    placed: list[Mark] = []
    for mark in marks:
        if placed and mark.x - placed[-1].x < BAR / 2:
            placed[-1] = Mark(placed[-1].x, mark.y, f"{placed[-1].title}; {mark.title}")
        else:
            placed.append(mark)
    return placed
