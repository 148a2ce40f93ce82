"""What a restore says of the streams that write the table or read it, and what a stream's page says after one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobs.commands.restore.handling import seen_by_streams
from jobs.commands.restore.log import from_log
from jobs.models import Stream
from jobs.targets.lineage import lineage
from jobs.targets.readers import CommitChange
from jobs.targets.restored_streams import undone_batches, with_streams
from jobs.targets.subject import subject_of
from tables.models import Commit, Table
from tests import factories
from tests.clients import browser
from tests.factories import lakes
from tests.jobs import small_delta

pytestmark = pytest.mark.django_db
QUERY = "6d3c8a1e-0000-4000-8000-000000000001"
OTHER = "6d3c8a1e-0000-4000-8000-000000000002"


@pytest.fixture
def sales(lake: Any) -> Table:
    """At version 0, by an ordinary write."""
    return lakes.sales_in(lake)


@pytest.fixture
def stream(sales: Table) -> Stream:
    return factories.stream(sales, name="clicks", query_id=QUERY)


def batches(table: Table, *queries: str) -> None:
    for number, query in enumerate(queries):
        rows = small_delta._adds(Path(table.path), [{"id": 100 + number, "p": "FR"}])
        told = {"queryId": query, "epochId": str(number), "outputMode": "Append"}
        small_delta.commit(Path(table.path), "STREAMING UPDATE", rows, operationParameters=told)


def restored(table: Table, to: int, **told: str) -> None:
    """Somebody else's restore."""
    place = Path(table.path)
    now, then = set(small_delta.live(place)), set(small_delta.live(place, to))
    back = [small_delta.SmallEngine()._added(place, name) for name in sorted(then - now)]
    removes = [small_delta._remove(name) for name in sorted(now - then)]
    small_delta.commit(place, "RESTORE", [*removes, *back], operationParameters=told or {"version": str(to)})


def said(table: Table, to: int) -> dict[str, str]:
    subject = subject_of(table.pk)
    preview = seen_by_streams(from_log(subject, to), subject, to)
    return {each["code"]: each["text"] for each in preview["consequences"]}


def page_of(stream: Stream) -> str:
    return str(browser(factories.person_with("viewer")).get(f"/streams/{stream.pk}/").content.decode())


def now(stream: Stream) -> Stream:
    subject_of(stream.table_id)
    return Stream.objects.select_related("table").get(pk=stream.pk)


def test_a_restore_to_before_all_batches_says_that_they_do_not_come_again_and_what_to_do(stream: Stream) -> None:
    batches(stream.table, QUERY, QUERY)
    text = said(stream.table, 0)["undoes_batches"]
    assert "undoes 2 batches (versions 1 to 2) of the stream clicks" in text
    assert "reset the stream after the restore" in text
    assert "nothing comes twice" in text
    assert "undone" not in page_of(stream)
    restored(stream.table, 0)
    undone = undone_batches(now(stream))
    assert undone is not None
    assert (undone.batches, undone.first, undone.last, undone.kept) == (2, 1, 2, False)
    page = page_of(stream)
    assert "has undone 2 batches (versions 1 to 2) of this stream" in page
    assert "reset the stream" in page


def test_one_that_keeps_some_batches_says_that_a_reset_loads_those_twice(stream: Stream) -> None:
    batches(stream.table, QUERY, QUERY, QUERY)
    text = said(stream.table, 2)["undoes_batches"]
    assert "undoes a batch (version 3)" in text
    assert "loaded twice in Append mode" in text
    assert "undoes_batches" not in said(stream.table, 3)


def test_a_restore_that_brings_undone_batches_back_undoes_none(stream: Stream) -> None:
    batches(stream.table, QUERY, QUERY)
    restored(stream.table, 1)
    assert "undoes_batches" not in said(stream.table, 2)
    restored(stream.table, 2)
    assert undone_batches(now(stream)) is None
    batches(stream.table, QUERY)
    assert "2 batches (versions 2 to 5)" in said(stream.table, 3)["undoes_batches"]
    assert "a batch (version 5)" in said(stream.table, 4)["undoes_batches"]
    assert undone_batches(now(stream)) is None


def test_after_a_reset_nothing_is_said(stream: Stream) -> None:
    batches(stream.table, QUERY)
    restored(stream.table, 0)
    Stream.objects.filter(pk=stream.pk).update(query_id=None)
    assert undone_batches(now(stream)) is None
    Stream.objects.filter(pk=stream.pk).update(query_id=OTHER)
    assert undone_batches(now(stream)) is None


def test_a_query_that_is_no_stream_of_levees_is_named_by_its_id(sales: Table) -> None:
    batches(sales, OTHER)
    text = said(sales, 0)["undoes_batches"]
    assert f"the streaming query {OTHER}, which isn’t one of Levee’s streams" in text


def test_of_many_the_rest_is_a_number(sales: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.targets.readers.MOST", 1)
    batches(sales, QUERY, OTHER)
    assert said(sales, 0)["undoes_batches"] == "It undoes batches of 1 more query."  # the last of that code
    copy = factories.TableFactory(root=sales.root, name="copy")
    for name in ("a", "b", "c"):
        factories.stream(copy, name=name, query_id=name, source_table=sales)
    doubled = with_streams({"consequences": []}, subject_of(sales.pk), 2, CommitChange(removes=False, adds=True))[
        "consequences"
    ]
    assert [each["text"].split(" into ")[0] for each in doubled] == [
        "The stream a",
        "The same is true of 2 more streams of those that read this table.",
    ]


def test_a_complete_stream_brings_its_counts_back_by_itself(stream: Stream) -> None:
    Stream.objects.filter(pk=stream.pk).update(definition={**stream.definition, "output_mode": "complete"})
    batches(stream.table, QUERY)
    assert "replaces all rows by them" in said(stream.table, 0)["undoes_batches"]
    restored(stream.table, 0)
    subject_of(stream.table_id)
    assert "has undone" not in page_of(stream)


def test_a_restore_that_names_no_version_leaves_it_unknown(stream: Stream) -> None:
    batches(stream.table, QUERY)
    restored(stream.table, 0, timestamp="2026-01-01")
    assert undone_batches(now(stream)) is None
    assert Commit.objects.filter(operation="RESTORE").count() == 1


@pytest.mark.parametrize(
    ("version", "restores", "spans"),
    [
        (5, [], [(0, 5)]),
        (5, [(5, 2)], [(5, 5), (0, 2)]),
        (7, [(5, 2)], [(5, 7), (0, 2)]),
        (4, [(5, 2)], [(0, 4)]),
        (9, [(8, 6), (5, 2)], [(8, 9), (5, 6), (0, 2)]),
        (9, [(8, 4), (5, 2)], [(8, 9), (0, 4)]),
    ],
)
def test_a_versions_rows_come_of_the_commits_that_no_restore_left_out(
    version: int, restores: list[tuple[int, int]], spans: list[tuple[int, int]]
) -> None:
    assert lineage(version, restores) == spans


@pytest.mark.parametrize(
    ("skips", "change", "code"),
    [
        (False, CommitChange(removes=False, adds=True), "doubles_rows"),
        (True, CommitChange(removes=False, adds=True), "doubles_rows"),
        (True, CommitChange(removes=True, adds=True), "passed_over"),
        (False, CommitChange(removes=True, adds=True), None),  # it fails, as readers.py says
        (True, CommitChange(removes=False, adds=False), None),
    ],
)
def test_streams_that_read_the_table_are_named_for_what_they_make_of_it(
    sales: Table, skips: bool, change: CommitChange, code: str | None
) -> None:
    reader = factories.stream(factories.TableFactory(root=sales.root), name="copy", query_id=QUERY, source_table=sales)
    source = {"table": str(sales.pk), "path": sales.path, "table_id": "x", "skip_change_commits": skips}
    Stream.objects.filter(pk=reader.pk).update(definition={**reader.definition, "source": source})
    found = with_streams({"consequences": []}, subject_of(sales.pk), 0, change)["consequences"]
    assert [each["code"] for each in found] == ([code] if code else [])
