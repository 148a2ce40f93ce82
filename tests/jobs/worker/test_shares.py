"""One person, or one table, never holds all places of a worker; whoever asks next has one (reads and previews alike)."""

import uuid
from contextlib import ExitStack
from functools import partial

import pytest

from console.base.errors import Problem
from jobs.domain.states import State
from jobs.models import Read
from jobs.reads import queue
from jobs.worker.claims import claim_preview, claim_read
from jobs.worker.host import asker_of_preview, asker_of_read
from jobs.worker.shares import ShareHolder, Shares
from tests import factories

WORKER = "interactive@here"
ME = uuid.UUID(int=1)


def next_read(shares):
    return shares.place(partial(claim_read, "interactive", WORKER), asker_of_read)


def next_preview(shares):
    return shares.place(partial(claim_preview, factories.holder()), asker_of_preview)


@pytest.fixture
def places():
    """A worker with four places, and what takes its next read until the end of the test."""
    with ExitStack() as stack:
        shares = Shares(4)
        yield lambda: stack.enter_context(next_read(shares))


@pytest.mark.django_db
def test_one_person_leaves_a_place_for_others(olga, places):
    for number in range(5):
        factories.read(olga, question={"path": f"/{number}"})
    assert [places() is not None for _ in range(4)] == [True, True, True, False]
    theirs = factories.read(factories.person_with(None))
    assert places() == theirs


@pytest.mark.django_db
def test_one_table_leaves_a_place_for_others_whoever_asks(places):
    for _ in range(5):
        factories.read(factories.person_with(None), question={"path": "/lake/slow"})
    assert [places() is not None for _ in range(4)] == [True, True, True, False]
    other = factories.read(factories.person_with(None), question={"path": "/lake/quick"})
    nowhere = factories.read(factories.person_with(None), kind="metastore", question={"database": "shop"})
    assert {places(), places()} == {other, nowhere}


@pytest.mark.django_db
def test_previews_count_with_reads(olga, lake):
    shares = Shares(3)
    for name in ("a", "b"):
        factories.job_on(factories.table_in(lake, name), olga, state=State.PREVIEWING)
    factories.read(olga, question={"path": "/lake/c"})
    with next_preview(shares) as first:
        with next_read(shares) as read, next_preview(shares) as refused:
            assert (first is None, read is None, refused) == (False, False, None)
        with next_preview(shares) as second:
            assert second is not None


def mine(shares):
    """Takes a place for the same person each time, as long as that one isn't full."""
    return shares.place(lambda full: None if ME in full.people else "read", lambda _: ShareHolder(ME, "/t"))


def test_a_place_is_free_again_at_its_end_even_after_a_failure():
    shares = Shares(2)
    with mine(shares) as first, mine(shares) as second:
        assert (first, second) == ("read", None)
    with pytest.raises(RuntimeError), mine(shares):
        raise RuntimeError
    with mine(shares) as again:
        assert again == "read"


def test_the_only_place_is_for_everybody():
    with mine(Shares(1)) as claimed:
        assert claimed == "read"


@pytest.mark.django_db
def test_a_table_has_so_many_open_questions_and_no_more(no_wakes):
    people = [factories.person_with(None) for _ in range(3)]
    for number in range(queue.IN_FLIGHT_OF_TABLE):
        queue.ask(people[number % 2], "rows", "interactive", {"path": "/lake/slow", "limit": number})
    with pytest.raises(Problem, match=r"24 questions about /lake/slow") as refused:
        queue.ask(people[2], "rows", "interactive", {"path": "/lake/slow", "limit": 500})
    assert (refused.value.status, refused.value.code) == (429, "too_many_reads")
    assert queue.ask(people[2], "rows", "interactive", {"path": "/lake/quick"}).state == "waiting"
    Read.objects.filter(question__limit=3).update(state="answered")
    assert queue.ask(people[2], "rows", "interactive", {"path": "/lake/slow", "limit": 500}).state == "waiting"
