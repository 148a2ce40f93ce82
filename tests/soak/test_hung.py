"""Parts are stopped in the middle of their work, one after the other: each is named, ended and replaced, by whoever is there to.

`make soak` stops each part, Spark's workers and their JVMs too, at the times that an instance really has; the tests stop three
with short ones.
"""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console.base.processes import group_members, start_ticks
from tests.console import running
from tests.console.running import Up
from tests.patience import stretch, wait_for

pytestmark = [pytest.mark.servers, pytest.mark.timeout(0), pytest.mark.xdist_group("up")]

FULL = os.environ.get("LEVEE_SOAK_SIZE") == "full"
WITHOUT = "" if FULL else "spark,interactive"
PARTS = ["light", "postgres", "web", *(["redis", "dispatcher", "interactive", "spark", "jvm"] if FULL else [])]
PROMISED_S = 90.0
REPLACED_S = 22.5
READY_S = 75.0


@pytest.fixture(scope="module")
def up() -> Iterator[Up]:
    settings = {} if FULL else {"LEVEE_TIMING": json.dumps({"heartbeat": 1, "hung": 16 * stretch()})}
    with (
        running.new_home() as home,
        running.running(home, running.free_port(), "--no-sample", LEVEE_UP_WITHOUT=WITHOUT, **settings) as instance,
    ):
        yield instance


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_hangs_is_named_and_replaced(up, part):
    name = {"postgres": "database", "jvm": "spark"}.get(part, part)
    program = "spark" if part == "jvm" else part
    wait_for(lambda: all_ready(up), "everything is ready", READY_S, lambda: recorded(up.home))
    before, others = recorded(up.home)[program]["restarts"], restarts(up.home, program)
    victims = [jvm_of(up.home)] if part == "jvm" else group_members(up.pids()[program])
    stopped = time.monotonic()
    for pid in victims:
        os.kill(pid, signal.SIGSTOP)
    if part not in ("web", "jvm"):
        wait_for(lambda: health_of(up, name) == "hung", f"{name} is called hung", REPLACED_S, lambda: recorded(up.home))
    wait_for(lambda: all(start_ticks(pid) is None for pid in victims), "what hung is gone", REPLACED_S)
    if part != "jvm":  # the worker starts another one by itself
        wait_for(lambda: recorded(up.home)[program]["restarts"] > before, f"{program} is started again", REPLACED_S)
        assert recorded(up.home)[program]["last_exit"].startswith("hung: no sign of life")
        wait_for(
            lambda: program in up.pids() and up.pids()[program] not in victims,
            f"{program} is recorded anew",
            REPLACED_S,
        )
    print(f"{part}: replaced after {time.monotonic() - stopped:.0f} s", flush=True)
    if FULL:
        assert time.monotonic() - stopped < PROMISED_S
    wait_for(lambda: all_ready(up), "everything is ready again", READY_S, lambda: recorded(up.home))
    assert restarts(up.home, program) == others, "what hung was one part alone"
    print(f"{part}: everything ready after {time.monotonic() - stopped:.0f} s", flush=True)


def recorded(home: Path) -> dict[str, dict[str, Any]]:
    """What the supervisor has written of its programs."""
    found: dict[str, dict[str, Any]] = json.loads((home / "state" / "processes.json").read_text())
    return found


def restarts(home: Path, without: str) -> dict[str, object]:
    """How often each other program was started anew."""
    return {name: program["restarts"] for name, program in recorded(home).items() if name != without}


def jvm_of(home: Path) -> int:
    (file,) = (home / "state" / "jvm").glob("spark*.json")
    return int(json.loads(file.read_text())["pid"])


def health_of(up: Up, name: str) -> str | None:
    """None without an answer: one that was asked for before the silence was noticed may wait for the database that hangs."""
    try:
        return str(up.health(quiet_s=0.25)[1][name]["state"])
    except OSError:
        return None


def all_ready(up: Up) -> bool:
    try:
        parts = up.health()[1]
    except OSError:
        return False
    without = {*WITHOUT.split(","), "disk"}
    return all(part["state"] == "ready" for name, part in parts.items() if name not in without)
