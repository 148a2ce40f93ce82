"""The files of a source table are looked at in storage before a round reads them: rows behind a wrong size would never reach the target."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from console.audit.actor import Actor
from jobs.commands.stream_round import log as looked
from jobs.commands.stream_round.log import streamed_files
from jobs.models import Job, Stream
from jobs.streams import acts, runs
from tables.models import Table
from tests.jobs import small_delta
from tests.jobs.streams.small_stream import SmallStream, book_ended, fresh, run_round

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]
ROW = {"id": 1, "p": "a"}


@pytest.fixture
def copy(actor: Actor, asked: dict[str, Any], sales: Table) -> Stream:
    return acts.create(actor, "copy", "rows", {**asked, "source": {"table": str(sales.pk)}})


def reads(stream: Stream) -> set[str] | None:
    found = streamed_files(fresh(stream))
    return None if found is None else set(found.files.column("path").to_pylist())


def at(stream: Stream, version: int | None) -> None:
    """A round has run, and the next one reads from this version on."""
    Stream.objects.filter(pk=stream.pk).update(query_id="6d3c8a1e-0000-4000-8000-000000000001", reads_from=version)


def added_by(table: Table, version: int) -> set[str]:
    commit = Path(table.path) / "_delta_log" / f"{version:020d}.json"
    actions = map(json.loads, commit.read_text().splitlines())
    return {action["add"]["path"] for action in actions if "add" in action}


def test_the_first_round_reads_all_live_files_and_later_ones_what_has_come_since(copy: Stream, sales: Table) -> None:
    assert reads(copy) == set(small_delta.live(Path(sales.path)))
    small_delta.append(Path(sales.path), [{"id": 50, "p": "FR"}])
    small_delta.append(Path(sales.path), [{"id": 51, "p": "FR"}])
    head = max(int(file.stem) for file in (Path(sales.path) / "_delta_log").glob("*.json"))
    at(copy, head)
    assert reads(copy) == added_by(sales, head) != set()
    at(copy, head - 1)
    assert reads(copy) == added_by(sales, head) | added_by(sales, head - 1)
    at(copy, head + 1)
    assert reads(copy) is None


def test_files_that_a_query_does_not_read_are_not_looked_at(copy: Stream, sales: Table) -> None:
    place = Path(sales.path)
    head = max(int(file.stem) for file in (place / "_delta_log").glob("*.json"))
    small_delta.append(place, [{"id": 50, "p": "FR"}])
    (new,) = added_by(sales, head + 1)
    add = next(
        each
        for each in map(json.loads, (place / f"_delta_log/{head + 1:020d}.json").read_text().splitlines())
        if "add" in each
    )
    rewritten = {"add": {**add["add"], "path": "p=FR/rewritten.json", "dataChange": False}}
    small_delta.commit(place, "OPTIMIZE", [rewritten])
    updated = {"add": {**add["add"], "path": "p=FR/updated.json"}}
    small_delta.commit(
        place, "UPDATE", [updated, {"remove": {"path": new, "deletionTimestamp": 0, "dataChange": True}}]
    )
    at(copy, head + 1)
    assert reads(copy) == {"p=FR/updated.json"}
    skipping = {**copy.definition["source"], "skip_change_commits": True}
    Stream.objects.filter(pk=copy.pk).update(definition={**copy.definition, "source": skipping})
    assert reads(copy) is None


def test_where_the_round_begins_somewhere_unknown_no_file_is_looked_at(copy: Stream, sales: Table) -> None:
    at(copy, None)
    assert reads(copy) is None
    by_time = {**copy.definition["source"], "starting_timestamp": "2026-01-01T00:00:00+00:00"}
    Stream.objects.filter(pk=copy.pk).update(query_id=None, definition={**copy.definition, "source": by_time})
    assert reads(copy) is None


def test_neither_are_those_of_more_commits_than_it_reads(
    copy: Stream, sales: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_delta.append(Path(sales.path), [{"id": 50, "p": "FR"}])
    at(copy, 0)
    assert reads(copy)
    monkeypatch.setattr(looked, "MOST_COMMITS", 1)
    assert reads(copy) is None


def test_a_stream_of_files_and_a_table_that_is_gone_have_none(copy: Stream, stream: Stream, sales: Table) -> None:
    assert reads(stream) is None
    (Path(sales.path) / "_delta_log").rename(Path(sales.path) / "aside")
    assert reads(copy) is None


def test_a_file_of_another_size_ends_the_round_before_it_reads_and_is_a_finding_of_the_source(
    actor: Actor, copy: Stream, sales: Table
) -> None:
    name = next(iter(small_delta.live(Path(sales.path))))
    file = Path(sales.path) / name
    file.write_text(file.read_text() + "  ")
    runs.start(actor, copy)
    engine = SmallStream([ROW])
    job: Job = run_round(engine)
    assert engine.ran == []
    assert job.state == "failed"
    assert job.error is not None
    assert "file_sizes_differ" in json.dumps(job.error)
    assert name in json.dumps(job.error)
    book_ended()
    assert fresh(copy).state == "failed"
    sales.refresh_from_db()
    assert "file_sizes_differ" in sales.health_codes
    assert "file_sizes_differ" not in copy.table.health_codes
