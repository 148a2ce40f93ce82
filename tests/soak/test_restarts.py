"""Levee is started, robbed of programs, killed and stopped over and over on one home; nothing may be lost or left.

`make soak` plays 60 rounds with the Spark workers, about an hour; the tests play one of each kind without them. The rounds
are drawn from LEVEE_SOAK_SEED (printed), so that a failure can be played again.
"""

import http
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.base.processes import start_ticks
from tests.console import running
from tests.console.running import Up
from tests.patience import wait_for

pytestmark = [pytest.mark.servers, pytest.mark.timeout(0)]

FULL = os.environ.get("LEVEE_SOAK_SIZE") == "full"
ROUNDS = 60 if FULL else 3
WITHOUT = "" if FULL else "spark,interactive"
QUIET_S = 75.0
VICTIMS = ("web", "light", "dispatcher", "redis", "postgres", *(("spark", "interactive") if FULL else ()))
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


@pytest.fixture
def home() -> Iterator[Path]:
    with running.new_home() as path:
        yield path


def test_nothing_is_lost_or_left_in_many_lives(home):
    seed = int(os.environ.get("LEVEE_SOAK_SEED", random.randrange(1 << 32) if FULL else 1))
    print(f"LEVEE_SOAK_SEED={seed}: {ROUNDS} rounds")
    chance, port = random.Random(seed), running.free_port()
    secret: str | None = None
    left: dict[int, int | None] = {}
    for number in range(ROUNDS):
        victim, ending = chance.choice(VICTIMS), ENDINGS[number % len(ENDINGS)]
        print(f"round {number + 1}: kill {victim}, end with {ending.name}", flush=True)
        with running.running(home, port, "--no-sample", LEVEE_UP_WITHOUT=WITHOUT) as up:
            assert [pid for pid, ticks in left.items() if start_ticks(pid) == ticks] == []
            first_time = any(line.startswith("first sign-in") for line in up.printed)
            assert first_time is (secret is None), "the admin of the first start is gone"
            secret = unchanged(home, secret)
            survives_the_loss_of(up, victim)
            left = {pid: ticks for pid in running.processes_of(home) if (ticks := start_ticks(pid)) is not None}
            up.stop(ending)
        if ending != signal.SIGKILL:
            assert running.processes_of(home) == {}


def unchanged(home: Path, secret: str | None) -> str:
    """The home's key, the same in every life."""
    now = (home / "secret_key").read_text()
    assert secret in (None, now)
    return now


def survives_the_loss_of(up: Up, victim: str) -> None:
    """The program is started anew, and everything is ready again."""
    wait_for(lambda: all_ready(up), "everything is ready", QUIET_S, up.health)
    pid = up.pids()[victim]
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: up.pids().get(victim, pid) != pid, f"{victim} is started again", QUIET_S, up.pids)
    wait_for(lambda: all_ready(up), "everything is ready again", QUIET_S, up.health)


def all_ready(up: Up) -> bool:
    """False as well while the web itself is the victim and refuses connections."""
    try:
        status, parts = up.health()
    except OSError:
        return False
    without = {*WITHOUT.split(","), "disk"}  # of which the machine may have little
    return status == http.HTTPStatus.OK and all(
        part["state"] == "ready" for name, part in parts.items() if name not in without
    )
