"""A read always comes to an end: answered, refused, or given out again when its worker is gone."""

from datetime import timedelta

import pytest
from django.utils import timezone

from console.base.errors import Problem
from jobs.domain.errors import CommandRefused, EngineCancelled, EngineLost, Refusal
from jobs.models import Read, Worker
from jobs.reads import queue
from jobs.worker import read_executor
from jobs.worker.claims import claim_read
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
    return factories.WorkerFactory(name=WORKER, kind="interactive", started_at=timezone.now() - timedelta(hours=1))


@pytest.fixture
def claimed(olga):
    """Claims a new read as the worker does."""

    def claim(**values):
        read = factories.read(olga, **values)
        claimed = claim_read(read.queue, WORKER)
        assert claimed == read
        return claimed

    return claim


def never() -> None:
    raise AssertionError("nothing ends the engine here")


def now(read):
    return Read.objects.get(pk=read.pk)


def test_a_place_below_no_root_is_not_read(claimed):
    read = claimed(question={"path": "/elsewhere/orders"})
    read_executor.answer(read, Engine({"rows": []}), never)
    assert (now(read).state, now(read).problem["code"]) == (Read.State.FAILED, "outside_roots")


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
    read_executor.answer(read, Engine(trouble), never)
    found = now(read)
    assert (found.state, found.problem["status"], found.problem["code"]) == ("failed", status, code)


def test_a_table_may_say_what_no_store_of_json_takes(claimed):
    """A comment, a default or a column's metadata may hold a NUL; the whole answer was refused for it."""
    read = claimed(kind="deltatable")
    read_executor.answer(
        read, Engine({"a\x00": ["\ud800", {"x": float("nan")}, (float("-inf"), 1.5, None, 2**70)]}), never
    )
    assert now(read).answer == {"a␀": ["?", {"x": "NaN"}, ["-Infinity", 1.5, None, 2**70]]}


def test_a_problem_may_say_it_too(claimed):
    read = claimed()
    read_executor.answer(read, Engine(CommandRefused(Refusal("not_delta", "no table at a\x00b"))), never)
    assert now(read).problem["detail"] == "no table at a␀b"


def test_what_to_do_about_a_refusal_is_told_once(claimed):
    read = claimed()
    read_executor.answer(read, Engine(CommandRefused(Refusal("odd", "It is odd.", remedy="Mend it."))), never)
    problem, shown = queue.problem_of(now(read)), queue.as_error(now(read))
    assert problem is not None
    assert problem.detail == "It is odd. Mend it."
    assert shown is not None
    assert (shown["message"], shown["what_to_do"]) == ("It is odd.", "Mend it.")


def test_a_lost_engine_ends_the_worker_and_the_read_is_asked_again_once(claimed):
    read = claimed()
    with pytest.raises(EngineLost):
        read_executor.answer(read, Engine(scripted.lost()), never)
    assert (now(read).state, now(read).worker) == ("waiting", "")
    again = claim_read("interactive", WORKER)
    assert again is not None
    with pytest.raises(EngineLost):
        read_executor.answer(again, Engine(scripted.lost()), never)
    assert now(read).problem["code"] == "engine_lost"


class Deaf(Engine):
    """Answers a cancel at once and works on, or doesn't even answer, until its process is ended."""

    def __init__(self, *, returns: bool) -> None:
        super().__init__(EngineCancelled("cancelled"))
        self.returns = returns

    def read(self, kind, question, marks, report):
        if self.returns:
            raise EngineCancelled("cancelled")
        self.wait_for_the_end(report)

    def busy(self, tag):
        return not self.ended_hard.is_set()


class Starving(Engine):
    """Of a cluster that gives nothing: its work begins only to be cancelled."""

    def __init__(self) -> None:
        super().__init__(EngineCancelled("cancelled"))
        self.executors = False

    def read(self, kind, question, marks, report):
        self.wait_for_cancel(report)


@pytest.mark.django_db(transaction=True)
def test_a_read_without_executors_ends_soon_and_says_so(claimed, timing, monkeypatch):
    timing(read_limit=3600, no_executors=0.1)
    monkeypatch.setattr(read_executor, "LOOK_S", 0.05)
    read = claimed(kind="rows")
    read_executor.answer(read, Starving(), never)
    problem = now(read).problem
    assert problem["code"] == "time_limit"
    assert problem["detail"].startswith(
        "The cluster has given Levee no executors for 0 s, so Spark can’t answer. Try again"
    )


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("returns", [True, False], ids=["its tasks go on", "it does not return"])
def test_a_read_that_does_not_listen_ends_its_engine_and_costs_the_others_nothing(claimed, timing, returns):
    timing(read_limit=0.05, listen=0.4)
    others, mine, engine = claimed(question={"path": "/other"}), claimed(kind="rows"), Deaf(returns=returns)
    if returns:
        read_executor.answer(mine, engine, engine.end_hard)
    else:
        with pytest.raises(EngineLost):
            read_executor.answer(mine, engine, engine.end_hard)
    assert engine.cancels
    assert engine.ended_hard.is_set()
    assert (now(mine).state, now(mine).problem["code"]) == ("failed", "time_limit")
    assert (now(others).state, now(others).problem) == ("waiting", None)


def test_a_read_that_fails_ends_nothing_once_its_tasks_have_ended(claimed, timing, monkeypatch):
    timing(listen=5)
    engine = Engine(scripted.failure())
    monkeypatch.setattr(engine, "busy", lambda tag: not engine.cancelled.is_set())
    read_executor.answer(claimed(), engine, never)
    assert len(engine.cancels) == 1


def test_a_person_asks_for_so_many_answers_at_once_and_no_more(olga, no_wakes):
    for number in range(queue.IN_FLIGHT):
        queue.ask(olga, "rows", "interactive", {"path": f"/{number}"})
    with pytest.raises(Problem, match="You have 12 questions") as refused:
        queue.ask(olga, "rows", "interactive", {"path": "/more"})
    assert (refused.value.status, refused.value.code) == (429, "too_many_reads")
    assert queue.ask(olga, "rows", "interactive", {"path": "/3"}).question == {"path": "/3"}  # asked already
    Read.objects.filter(question={"path": "/3"}).update(state="answered")
    assert queue.ask(olga, "rows", "interactive", {"path": "/more"}).state == "waiting"


def test_who_waits_for_many_answers_stands_behind_who_waits_for_none(claimed, olga):
    other = factories.person_with(None)
    for number in range(2):
        claimed(question={"path": f"/running/{number}"})
    factories.read(olga, question={"path": "/mine"})
    theirs = factories.read(other)
    assert claim_read("interactive", WORKER) == theirs


def test_a_light_read_that_breaks_is_told_too(claimed):
    read = claimed(kind="scan", queue="light")

    def breaks(_read):
        raise RecursionError("too deep")

    read_executor.answer_light(read, {"scan": breaks})
    assert now(read).problem["code"] == "broken"


@pytest.mark.parametrize(
    "gone",
    [
        lambda: {"heartbeat_at": timezone.now() - timedelta(minutes=5)},
        lambda: {"condition": "down"},
        lambda: {"started_at": timezone.now() + timedelta(minutes=1)},
        lambda: {"name": "interactive@elsewhere"},
    ],
    ids=["silent", "stopped", "begun anew", "unknown"],
)
def test_a_read_whose_worker_is_gone_is_given_out_once_more_and_then_fails(claimed, worker, gone):
    read = claimed()
    assert read_executor.take_back() == 0
    Worker.objects.update(**gone())
    assert read_executor.take_back() == 1
    assert (now(read).state, now(read).worker) == ("waiting", "")
    assert claim_read("interactive", WORKER) == read
    assert read_executor.take_back() == 1
    assert (now(read).state, now(read).problem["status"], now(read).problem["code"]) == ("failed", 503, "engine_lost")
    assert read_executor.take_back() == 0


def test_a_read_past_its_limit_is_given_out_again_though_its_worker_lives(claimed, worker, timing):
    timing(read_limit=30, read_margin=15, preview_limit=600)
    late = claimed(kind="deltatable")
    inspection = claimed(kind="inspect")
    scan = claimed(kind="scan", queue="light")
    Read.objects.update(started_at=timezone.now() - timedelta(seconds=50))
    Worker.objects.update(started_at=timezone.now() - timedelta(hours=2))
    assert read_executor.take_back() == 1
    assert [now(read).state for read in (late, inspection, scan)] == ["waiting", "running", "running"]


def test_nobody_joins_a_read_that_is_past_its_limit(olga, timing, no_wakes):
    timing(read_limit=30, read_margin=15)
    first = queue.ask(olga, "deltatable", "interactive", {"path": "/t"})
    Read.objects.update(state="running", started_at=timezone.now() - timedelta(seconds=20))
    assert queue.ask(olga, "deltatable", "interactive", {"path": "/t"}) == first
    Read.objects.update(started_at=timezone.now() - timedelta(seconds=50))
    assert queue.ask(olga, "deltatable", "interactive", {"path": "/t"}) != first


def test_a_worker_that_comes_back_changes_nothing_of_what_was_given_to_another(claimed, worker):
    mine = claimed()
    Worker.objects.update(condition="down")
    read_executor.take_back()
    read_executor.answer(mine, Engine(scripted.failure()), never)
    assert now(mine).state == "waiting"
    theirs = claim_read("interactive", "interactive@there")
    assert theirs is not None
    read_executor.answer(mine, Engine({"from": "mine"}), never)
    read_executor.answer(theirs, Engine({"from": "theirs"}), never)
    assert now(mine).answer == {"from": "theirs"}
