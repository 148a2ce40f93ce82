"""How far a stream of a Delta table is behind it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.utils import timezone

from jobs.models import Stream
from jobs.streams import acts, lag
from tables.models import Commit, Table
from tables.sync import log_access
from tests.jobs import small_delta

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]


def _read_to(stream: Stream, version: int) -> None:
    """A checkpoint of a query that has read the versions before this one."""
    place = Path(stream.checkpoint)
    for name in ("offsets", "commits"):
        (place / name).mkdir(parents=True)
    (place / "commits" / "0").write_text("v1\n{}")
    (place / "offsets" / "0").write_text(f"v1\n{{}}\n{json.dumps({'reservoirVersion': version, 'index': -1})}")


def test_the_oldest_version_that_waits_is_the_current_tables(actor, asked, sales):
    """The catalog keeps the commits of a table that was made anew at the same path, under the same numbers."""
    stream = acts.create(actor, "copy", "x", {**asked, "source": {"table": str(sales.pk)}})
    small_delta.append(Path(sales.path), [{"id": 77, "p": "a"}])
    log_access.sync(sales.pk)
    Table.objects.filter(pk=sales.pk).update(
        incarnation=1
    )  # made anew: of this one the catalog hasn't read version 1 yet
    _read_to(stream, 1)
    measured = lag.measure(Stream.objects.get(pk=stream.pk))
    assert measured == lag.Lag(1, "version", None)
    now = timezone.now()
    Commit.objects.create(table=sales, incarnation=1, version=1, committed_at=now)
    assert lag.measure(Stream.objects.get(pk=stream.pk)) == lag.Lag(1, "version", now)


def test_a_stream_that_reads_another_source_forgets_how_far_it_was_behind(actor, stream, sales):
    now = timezone.now()
    lag.note(stream, lag.Lag(7, "file", now))
    measured = {"lag": lag.Lag(7, "file", now).as_json(), "lag_at": now, "lag_text": "so far"}
    Stream.objects.filter(pk=stream.pk).update(**measured)
    acts.change(
        actor, stream, {"trigger": {"interval": "20s"}, "source": {**stream.asked["source"], "schema": "id INT"}}
    )
    stream.refresh_from_db()
    assert (stream.lags.count(), stream.lag, stream.lag_text) == (1, measured["lag"], "so far")
    acts.change(actor, stream, {"source": {"table": str(sales.pk)}})
    stream.refresh_from_db()
    assert (stream.lags.count(), stream.lag, stream.lag_at, stream.lag_text) == (0, None, None, "")
