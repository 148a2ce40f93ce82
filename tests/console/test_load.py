"""What one person, or somebody who hasn't signed in, asks for at once doesn't keep the others from the console."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Iterator

import pytest

from tests.console import loading, running
from tests.console.running import Up

pytestmark = [pytest.mark.servers, pytest.mark.xdist_group("up")]

WAITING = 40
WAIT_S = 30


@pytest.fixture(scope="module")
def up() -> Iterator[Up]:
    """One without Spark: a read is never answered there, so that who waits for it waits."""
    with (
        running.new_home() as home,
        running.running(home, running.free_port(), LEVEE_UP_WITHOUT="spark,interactive") as made,
    ):
        yield made


@pytest.fixture(scope="module")
def viewer(up: Up) -> str:
    return loading.person(up, "vera", "viewer")


@pytest.fixture(scope="module")
def other(up: Up) -> str:
    return loading.person(up, "otto", "viewer")


def ordinary(up: Up, token: str, gone: Callable[[], int]) -> None:
    """Health, a page and an answer of the API, each while none of those who hold on is gone.

    There's a second try, since one's time may come just then.
    """
    for path, wanted in (("/health/live", 200), ("/health/ready", 200), ("/sign-in/", 200), ("/api/v1/tables", 200)):
        assert any(_is_answered_meanwhile(up, token, path, wanted, gone) for _ in range(2)), path


def _is_answered_meanwhile(up: Up, token: str, path: str, wanted: int, gone: Callable[[], int]) -> bool:
    before = gone()
    seconds, status = loading.timed(lambda: loading.ask(up, token, "GET", path))
    print(f"{path}: {status} after {seconds:.2f} s")
    assert status == wanted
    return gone() == before


def _ended(connections: list[socket.socket]) -> int:
    """How many of them the server has closed."""
    return len(select.select(connections, [], [], 0)[0])


def test_forty_who_wait_stop_nobody(up: Up, viewer: str, other: str) -> None:
    table = loading.answer(up, viewer, "GET", "/tables?limit=1")["results"][0]["id"]
    path = f"/api/v1/tables/{table}/rows?wait={WAIT_S}"

    waited: list[float] = []  # by those who had to; others are told at once that too many wait

    def wait() -> int:
        seconds, status = loading.timed(lambda: loading.ask(up, viewer, "POST", path, {"limit": 1}))
        waited.extend([seconds] if seconds > WAIT_S / 2 else [])
        return status

    with loading.under([wait] * WAITING) as load:
        ordinary(up, other, lambda: len(waited))
        assert loading.ask(up, other, "POST", path.replace(str(WAIT_S), "1"), {"limit": 1})[0] == 202
    assert set(load.statuses) == {202}
    assert load.faults == []


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HTTP/1.1\r\nHost: h", b"POST /sign-in/ HTTP/1.1\r\nContent-Length: 99\r\n\r\nuser"]
)
def test_a_hundred_and_fifty_half_open_connections_stop_nobody(up: Up, other: str, sent: bytes) -> None:
    with loading.half_open(up, sent, 150) as held:
        ordinary(up, other, lambda: _ended(held))
