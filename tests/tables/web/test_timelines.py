"""Lines of time: acts of jobs with their undos, and the lives of columns."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

from tables.deltalog.rules.schema_changes import SchemaChange, SchemaChangeKind
from tables.models import Commit
from tables.ports import JobRun
from tables.web.charts.version_axis import NEWEST_WIDTH, STRIP_LEFT, STRIP_RIGHT
from tables.web.table import timelines

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def act(
    asked: float, ended: float | None, version: int | None = None, undoes: JobRun | None = None, *, ran: bool = True
) -> JobRun:
    end = None if ended is None else ago(ended)
    return JobRun(
        id=uuid.uuid4(), url="/", title="Delete rows from sales", reason="GDPR-1", asked_by="olga", asked_at=ago(asked),
        began_at=ago((asked + (ended or 0)) / 2) if ran else None, ended_at=end, state="succeeded", version=version,
        undoes=undoes.id if undoes else None, undoes_version=undoes.version if undoes else None,
    )  # fmt: skip


def test_an_undo_leads_to_what_it_undid() -> None:
    first = act(10, 8, version=62)
    undo = act(4, 2, version=64, undoes=first)
    drawn = timelines.acts_over_time([first, act(6, 5, ran=False), undo], NOW)
    assert drawn is not None
    assert [len(row.marks) for row in drawn.rows] == [1, 0, 1]
    assert [[part.kind for part in row.parts] for row in drawn.rows] == [
        ["waiting", "works"],
        ["waiting"],
        ["waiting", "works"],
    ]
    (link,) = drawn.links
    start, end = drawn.rows[2].marks[0], drawn.rows[0].marks[0]
    assert link.startswith(f"M{start.x} {start.y}C")
    assert link.endswith(f"{end.x} {end.y + timelines.BAR}")
    assert end.title == "v62: Delete rows from sales: GDPR-1"
    assert timelines.acts_over_time([], NOW) is None


def test_every_part_lies_on_the_axis_even_of_acts_at_one_moment() -> None:
    for acts in ([act(0, 0, version=1)], [act(400, None)], [act(1e-9, 0, version=2), act(0, 0, version=3)]):
        drawn = timelines.acts_over_time(acts, NOW)
        assert drawn is not None
        for row in drawn.rows:
            for part in row.parts:
                assert STRIP_LEFT <= part.x <= part.x + part.width <= STRIP_RIGHT
            assert row.y + timelines.BAR <= drawn.axis < drawn.height


def changed(version: int, days: float, *changes: SchemaChange) -> timelines.SchemaCommit:
    return Commit(version=version, committed_at=ago(days)), list(changes) or None


def change(kind: SchemaChangeKind, column: str, before: str | None = None, after: str | None = None) -> SchemaChange:
    return SchemaChange(kind, column, before, after)


def test_a_column_lives_from_its_coming_to_its_going_under_all_its_names() -> None:
    changes = [
        changed(9, 1, change(SchemaChangeKind.ADDED, "channel", None, "string")),
        changed(7, 4, change(SchemaChangeKind.REMOVED, "medium")),
        changed(5, 6, change(SchemaChangeKind.RENAMED, "medium", "channel", "medium")),
        changed(
            3,
            8,
            change(SchemaChangeKind.ADDED, "channel", None, "string"),
            change(SchemaChangeKind.TYPE, "id", "int", "long"),
        ),
        changed(0, 10),
    ]
    drawn = timelines.columns_over_time(changes, NOW)
    assert drawn is not None
    rows = {row.name: row for row in drawn.rows}
    assert rows.keys() == {"id", "medium", "channel"}
    assert rows["id"].parts[0].x == STRIP_LEFT  # there before all that is known
    assert [mark.title for mark in rows["medium"].marks] == [
        "v3: channel added, string", "v5: channel renamed to medium", "v7: medium removed",
    ]  # fmt: skip
    gone = rows["medium"].parts[0]
    assert gone.x + gone.width < rows["channel"].parts[0].x  # another column of the name came later
    assert "changed from int to long" in rows["id"].marks[0].title


def test_a_column_that_takes_the_name_of_one_that_goes_lives_on() -> None:
    new, old = change(SchemaChangeKind.ADDED, "id", None, "long"), change(SchemaChangeKind.REMOVED, "id", "int")
    drawn = timelines.columns_over_time([changed(3, 4, new, old), changed(0, 10)], NOW)
    assert drawn is not None
    assert [[mark.title for mark in row.marks] for row in drawn.rows] == [["v3: id removed"], ["v3: id added, long"]]
    gone, there = (row.parts[0] for row in drawn.rows)
    assert gone.x + gone.width == there.x < there.x + there.width == STRIP_RIGHT - NEWEST_WIDTH


class Counted(str):
    """A name that counts what it is compared with."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_a_change_of_many_columns_looks_at_each_one_alone() -> None:
    names = [f"c{n}" for n in range(400)]
    told = [
        changed(3, 1, *(change(SchemaChangeKind.REMOVED, Counted(f"d{n[1:]}")) for n in names)),
        changed(
            2, 3, *(change(SchemaChangeKind.RENAMED, Counted(f"d{n[1:]}"), Counted(n), f"d{n[1:]}") for n in names)
        ),
        changed(1, 5, *(change(SchemaChangeKind.TYPE, Counted(n), "int", "long") for n in names)),
        changed(0, 9),
    ]
    Counted.compared = 0
    drawn = timelines.columns_over_time(told, NOW)
    assert drawn is not None
    assert {len(row.marks) for row in drawn.rows} == {3}
    assert Counted.compared < 20 * len(names)


def test_the_columns_that_changed_last_are_drawn_and_a_table_that_never_changed_has_no_drawing() -> None:
    many = [changed(1, 5, *(change(SchemaChangeKind.ADDED, f"c{n}", None, "int") for n in range(90))), changed(0, 9)]
    newer = [changed(2, 1, change(SchemaChangeKind.REMOVED, "c7")), *many]
    drawn = timelines.columns_over_time(newer, NOW)
    assert drawn is not None
    assert len(drawn.rows) == timelines.MOST_COLUMNS
    assert drawn.rows[-1].name == "c7"
    assert timelines.columns_over_time([changed(0, 9)], NOW) is None
