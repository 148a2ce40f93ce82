"""A read always comes to an end: answered, refused, or given out again when its worker is gone."""

from datetime import timedelta

import pytest
from django.utils import timezone

from jobs import answering, reads
from jobs.claims import claim_read
from jobs.domain.errors import CommandRefused, EngineCancelled, EngineLost, Refusal
from jobs.models import Read, Worker
from tests import factories
from tests.jobs import scripted

pytestmark = pytest.mark.django_db

WORKER = "interactive@here"


class Engine(scripted.ScriptedEngine):
    """Answers a read with what it is given, or raises it."""

    def __init__(self, found):
        super().__init__()
        self.answer = found

    def read(self, kind, question, marks, report):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def worker():
    return Worker.objects.create(
        name=WORKER, kind="interactive", host="here", boot_id="b", pid=1, start_ticks=1, condition="ready",
        started_at=timezone.now() - timedelta(hours=1),
    )  # fmt: skip


@pytest.fixture
def claimed(olga):
    """Claims a new read as the worker does."""

    def claim(**values):
        read = factories.read(olga, **values)
        claimed = claim_read(read.queue, WORKER)
        assert claimed == read
        return claimed

    return claim


def now(read):
    return Read.objects.get(pk=read.pk)


@pytest.mark.parametrize(
    ("trouble", "status", "code"),
    [
        (KeyError("nobody thought of it"), 500, "broken"),
        (CommandRefused(Refusal("not_delta", "no table")), 422, "not_delta"),
        (scripted.failure(), 422, "engine_failed"),
        (EngineCancelled("cancelled"), 422, "time_limit"),
    ],
)
def test_whatever_goes_wrong_the_asker_is_told(claimed, trouble, status, code):
    read = claimed()
    answering.answer(read, Engine(trouble))
    found = now(read)
    assert (found.state, found.problem["status"], found.problem["code"]) == ("failed", status, code)


def test_a_table_may_say_what_no_store_of_json_takes(claimed):
    """A comment, a default or a column's metadata may hold a NUL; the whole answer was refused for it."""
    read = claimed(kind="deltatable")
    answering.answer(read, Engine({"a\x00": ["\ud800", {"x": float("nan")}, (float("-inf"), 1.5, None, 2**70)]}))
    assert now(read).answer == {"a␀": ["?", {"x": "NaN"}, ["-Infinity", 1.5, None, 2**70]]}


def test_a_problem_may_say_it_too(claimed):
    read = claimed()
    answering.answer(read, Engine(CommandRefused(Refusal("not_delta", "no table at a\x00b"))))
    assert now(read).problem["detail"] == "no table at a␀b"


def test_a_lost_engine_is_told_and_ends_the_worker(claimed):
    read = claimed()
    with pytest.raises(EngineLost):
        answering.answer(read, Engine(scripted.lost()))
    assert now(read).problem["code"] == "engine_lost"


def test_a_light_read_that_breaks_is_told_too(claimed):
    read = claimed(kind="scan", queue="light")

    def breaks(_read):
        raise RecursionError("too deep")

    answering.answer_light(read, {"scan": breaks})
    assert now(read).problem["code"] == "broken"


@pytest.mark.parametrize(
    "gone",
    [
        {"heartbeat_at": timezone.now() - timedelta(minutes=5)},
        {"condition": "down"},
        {"started_at": timezone.now() + timedelta(hours=1)},
        {"name": "interactive@elsewhere"},
    ],
    ids=["silent", "stopped", "begun anew", "unknown"],
)
def test_a_read_whose_worker_is_gone_is_given_out_once_more_and_then_fails(claimed, worker, gone):
    read = claimed()
    assert answering.take_back() == 0
    Worker.objects.update(**gone)
    assert answering.take_back() == 1
    assert (now(read).state, now(read).worker) == ("waiting", "")
    assert claim_read("interactive", WORKER) == read
    assert answering.take_back() == 1
    assert (now(read).state, now(read).problem["status"], now(read).problem["code"]) == ("failed", 503, "engine_lost")
    assert answering.take_back() == 0


def test_a_read_past_its_limit_is_given_out_again_though_its_worker_lives(claimed, worker, timing):
    timing(read_limit=30, read_margin=15, preview_limit=600)
    late = claimed(kind="deltatable")
    inspection = claimed(kind="inspect")
    scan = claimed(kind="scan", queue="light")
    Read.objects.update(started_at=timezone.now() - timedelta(seconds=50))
    Worker.objects.update(started_at=timezone.now() - timedelta(hours=2))
    assert answering.take_back() == 1
    assert [now(read).state for read in (late, inspection, scan)] == ["waiting", "running", "running"]


def test_nobody_joins_a_read_that_is_past_its_limit(olga, timing, no_wakes):
    timing(read_limit=30, read_margin=15)
    first = reads.ask(olga, "deltatable", "interactive", {"path": "/t"})
    Read.objects.update(state="running", started_at=timezone.now() - timedelta(seconds=20))
    assert reads.ask(olga, "deltatable", "interactive", {"path": "/t"}) == first
    Read.objects.update(started_at=timezone.now() - timedelta(seconds=50))
    assert reads.ask(olga, "deltatable", "interactive", {"path": "/t"}) != first


def test_a_worker_that_comes_back_changes_nothing_of_what_was_given_to_another(claimed, worker):
    mine = claimed()
    Worker.objects.update(condition="down")
    answering.take_back()
    answering.answer(mine, Engine(scripted.failure()))
    assert now(mine).state == "waiting"
    theirs = claim_read("interactive", "interactive@there")
    assert theirs is not None
    answering.answer(mine, Engine({"from": "mine"}))
    answering.answer(theirs, Engine({"from": "theirs"}))
    assert now(mine).answer == {"from": "theirs"}
