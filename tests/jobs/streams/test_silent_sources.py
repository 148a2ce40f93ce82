"""Sources and checkpoints on storage that doesn't answer: the dispatcher goes on with everything else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from datetime import timedelta
from multiprocessing.pool import AsyncResult
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from console.audit.actor import Actor
from jobs.dispatcher import streams
from jobs.models import Stream, StreamBatch
from jobs.streams import acts, file_listing, lag, rounds, runs
from jobs.streams.looks import Looks
from tests import clock
from tests.jobs.streams.small_stream import SmallStream, book_ended, fresh, make_due, run_round

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]
ROW = {"id": 1, "p": "a"}


class Impatient(Looks):
    """Waits half a second for what hangs, and long for everything else: a busy machine is no storage that is away."""

    hung: frozenset[Hashable] = frozenset()
    for_hung = 0.5

    def answer(self, key: Hashable, act: Callable[[], Any]) -> Any:
        self.seconds = self.for_hung if key in self.hung else 60.0
        return super().answer(key, act)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Impatient:
    """The dispatcher's."""
    made = Impatient(4, 60.0)
    monkeypatch.setattr(lag, "LOOKS", made)
    return made


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch, root) -> Iterator[threading.Event]:
    """Listings below `ROOT/away` hang until the event is set."""
    (Path(root.uri) / "away").mkdir()
    answers, listed = threading.Event(), file_listing._entries

    def entries(directory: str, *, required: bool) -> Any:
        if directory.endswith("/away"):
            answers.wait()
        return listed(directory, required=required)

    monkeypatch.setattr(file_listing, "_entries", entries)
    yield answers
    answers.set()


def _due_beside(actor: Actor, asked: dict[str, Any], root: Any, hangs: threading.Event, number: int) -> list[Stream]:
    """So many streams that read the place which hangs, and then one that doesn't; all due, each with a round behind it."""
    hangs.set()
    away = {**asked["source"], "path": f"{root.uri}/away"}
    made = [
        acts.create(actor, f"a{n}", "away", {**asked, "source": away, "target": {"path": f"{root.uri}/t{n}"}})
        for n in range(number)
    ]
    made.append(acts.create(actor, "b", "here", asked))
    for each in made:
        runs.start(actor, each)
        run_round(SmallStream([ROW]))
    book_ended()
    for each in made:
        make_due(each)
    hangs.clear()
    return made


def test_a_source_that_hangs_holds_up_no_other_stream(actor, asked, root, hanging, looks, monkeypatch):
    *away, here = _due_beside(actor, asked, root, hanging, 2)
    looks.hung = frozenset(each.pk for each in away)
    assert streams.look() == 1
    assert fresh(here).rounds == 2
    for each in map(fresh, away):
        assert (each.rounds, each.state, each.lag, each.lag_text) == (1, "running", None, rounds.SILENT)
        assert each.next_round_at > timezone.now() + timedelta(seconds=20)
    for each in away:
        make_due(each)
    looks.for_hung, waits = 60.0, list[float]()
    with monkeypatch.context() as later:
        clock.replace(later, "jobs.streams.looks", monotonic=lambda: time.monotonic() + looks.for_hung)
        later.setattr(AsyncResult, "wait", lambda _result, seconds: waits.append(seconds))
        assert streams.look() == 0  # the threads of before still hang, and their time is over: nothing is waited for
    assert waits == [0.0, 0.0]
    hanging.set()
    while any(look.is_under_way for look in looks._looks.values()):
        time.sleep(0.01)
    assert streams.look() == 0  # not before their next look
    for each in away:
        make_due(each)
    (Path(root.uri) / "away" / "new.json").write_text("{}")
    assert streams.look() == 2
    assert [fresh(each).lag_text for each in away] == ["", ""]


def test_streams_beyond_the_looks_that_hang_get_their_rounds_unseen(actor, asked, root, hanging, looks):
    looks.most = 1
    away, here = _due_beside(actor, asked, root, hanging, 1)
    looks.hung = frozenset([away.pk])
    assert streams.look() == 1
    assert (fresh(here).rounds, fresh(here).lag, fresh(here).lag_text) == (2, None, rounds.UNSEEN)


def test_a_round_is_booked_while_its_checkpoint_doesnt_answer(actor, stream, hanging, looks, monkeypatch):
    def query_id(_checkpoint: str) -> None:
        hanging.wait()

    monkeypatch.setattr(lag, "query_id", query_id)
    looks.hung = frozenset([("position", stream.pk)])
    runs.start(actor, stream)
    engine = SmallStream([ROW])
    run_round(engine)
    assert streams.look() == 1
    assert StreamBatch.objects.get(stream=stream).rows_out == 1
    assert fresh(stream).query_id == engine.query_id
