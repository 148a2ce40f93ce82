"""Sources that can't be read are refused when the stream is created."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from console.base.errors import Problem
from jobs.models import Stream
from jobs.streams import acts, runs
from tables.models import Root, Table
from tables.sync import log_access
from tests import factories
from tests.factories import lakes

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]


def test_a_directory_that_levees_user_cant_list_is_refused(
    actor, asked, landing, root, monkeypatch: pytest.MonkeyPatch
):
    listed: Any = os.scandir

    def scandir(place: Any = ".") -> Any:
        path = os.path.realpath(f"/proc/self/fd/{place}") if isinstance(place, int) else os.fspath(place)
        if path == str(landing):  # the rights themselves don't bind the user of most test machines
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(Problem) as refused:
        acts.create(actor, "clicks", "x", asked)
    assert (refused.value.status, refused.value.code) == (422, "unreadable")
    assert "Permission denied" in str(refused.value.fields)
    assert not Stream.objects.exists()
    assert not Path(root.uri, "clicks").exists()


@pytest.fixture
def events(root: Root) -> Table:
    """A table of versions 0 to 3."""
    for number in range(4):
        lakes.delta(Path(root.uri) / "events", {"id": [number]}, mode="append")
    return factories.table_in(root, "events")


def _clean_log(table: Table) -> None:
    """As Delta does it behind a checkpoint: versions 0 and 1 are in no file of the log any more."""
    DeltaTable(table.path).create_checkpoint()
    for version in (0, 1):
        (Path(table.path) / "_delta_log" / f"{version:020}.json").unlink()
    assert log_access.sync(table.pk).first_version == 2


def test_a_version_that_the_log_no_longer_holds_is_no_start(actor, asked, events):
    _clean_log(events)
    source = {"table": str(events.pk), "starting_version": 1}
    with pytest.raises(Problem) as refused:
        acts.create(actor, "copy", "x", {**asked, "source": source})
    assert refused.value.status == 400
    assert (refused.value.fields or {})["source.starting_version"].endswith("the first that it has is 2.")
    assert acts.create(actor, "copy", "x", {**asked, "source": {**source, "starting_version": 2}})


def test_a_stream_that_has_begun_starts_though_the_log_lost_its_first_version(actor, asked, events):
    stream = acts.create(actor, "copy", "x", {**asked, "source": {"table": str(events.pk), "starting_version": 0}})
    Stream.objects.update(query_id="q")
    _clean_log(events)
    assert runs.start(actor, Stream.objects.get(pk=stream.pk)).state == "queued"
