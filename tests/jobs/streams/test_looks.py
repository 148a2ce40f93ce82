"""Looks at storage that may hang."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from multiprocessing.pool import AsyncResult

import pytest

from jobs.streams.looks import Looks, NoAnswer, NoPlace


@pytest.fixture
def share() -> Iterator[threading.Event]:
    """Set once the share answers again; at the end in any case, so that no thread stays."""
    answers = threading.Event()
    yield answers
    answers.set()


def test_an_answer_comes_from_the_look_that_has_begun():
    looks = Looks(2, 60)
    looks.begin("a", lambda: "first")
    assert looks.answer("a", lambda: "second") == "first"
    assert looks.answer("a", lambda: "second") == "second"


def test_what_a_look_raises_is_raised_where_its_answer_is_taken():
    def broken() -> None:
        raise ValueError("a fault")

    looks = Looks(1, 60)
    looks.begin("a", broken)
    with pytest.raises(ValueError, match="a fault"):
        looks.answer("a", broken)
    assert looks.answer("a", lambda: 1) == 1


def test_looks_that_hang_are_waited_for_together_and_once(share, monkeypatch):
    waits, wait = list[float](), AsyncResult.wait

    def noted(result: AsyncResult, seconds: float) -> None:
        waits.append(seconds)
        wait(result, seconds)

    monkeypatch.setattr(AsyncResult, "wait", noted)
    looks = Looks(4, 0.3)
    began = time.monotonic()
    for key in "abc":
        looks.begin(key, share.wait)
    for _ in range(2):
        for key in "abc":
            with pytest.raises(NoAnswer):
                looks.answer(key, share.wait)
        looks.forget()
    assert time.monotonic() - began >= 0.3
    assert len(waits) == 6
    assert sum(waits) < 0.6  # not the time that it took, which is a busy machine's as well
    looks.seconds = 60
    assert looks.answer("d", lambda: 1) == 1


def test_no_more_threads_hang_than_there_are_places(share):
    looks = Looks(2, 0.05)
    for key in "ab":
        looks.begin(key, share.wait)
    with pytest.raises(NoPlace):
        looks.answer("c", lambda: 1)
    share.set()
    looks._looks["a"].result.wait(60)
    looks._looks["b"].result.wait(60)
    assert looks.answer("a", lambda: 2) is True
    looks.seconds = 60
    assert looks.answer("c", lambda: 1) == 1


def test_an_answer_that_came_late_is_forgotten(share):
    looks = Looks(1, 0.05)
    with pytest.raises(NoAnswer):
        looks.answer("a", share.wait)
    share.set()
    looks._looks["a"].result.wait(60)
    looks.forget()
    looks.seconds = 60
    assert looks.answer("a", lambda: "new") == "new"
