"""What one person, or somebody who hasn't signed in, asks for at once doesn't keep the others from the console."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.console import loading, running
from tests.console.running import Up

pytestmark = [pytest.mark.servers, pytest.mark.xdist_group("up")]

WAITING = 40
WAIT_S = 30  # forty of them held every thread for longer than anybody below waits
PATIENCE_S = 25.0


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


def ordinary(up: Up, token: str) -> None:
    """Health, a page and an answer of the API."""
    for path, wanted in (("/health/live", 200), ("/health/ready", 200), ("/sign-in/", 200), ("/api/v1/tables", 200)):
        seconds, status = loading.timed(lambda path=path: loading.ask(up, token, "GET", path))  # type: ignore[misc]
        print(f"{path}: {status} after {seconds:.2f} s")
        assert status == wanted
        assert seconds < PATIENCE_S


def test_forty_who_wait_stop_nobody(up: Up, viewer: str, other: str) -> None:
    table = loading.answer(up, viewer, "GET", "/tables?limit=1")["results"][0]["id"]
    path = f"/api/v1/tables/{table}/rows?wait={WAIT_S}"

    def wait() -> int:
        return loading.ask(up, viewer, "POST", path, {"limit": 1})[0]

    with loading.under([wait] * WAITING) as load:
        ordinary(up, other)
        assert loading.ask(up, other, "POST", path.replace(str(WAIT_S), "1"), {"limit": 1})[0] == 202
    assert set(load.statuses) == {202}
    assert load.faults == []


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HTTP/1.1\r\nHost: h", b"POST /sign-in/ HTTP/1.1\r\nContent-Length: 99\r\n\r\nuser"]
)
def test_a_hundred_and_fifty_half_open_connections_stop_nobody(up: Up, other: str, sent: bytes) -> None:
    with loading.half_open(up, sent, 150):
        ordinary(up, other)
