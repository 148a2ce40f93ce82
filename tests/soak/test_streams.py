"""A stream is killed at random, over and over, while files arrive: no row is lost, none is doubled, by another reader than Spark. And
one worker keeps several streams at their interval.

`make soak` kills 50 times and keeps 10 streams at 30 s for an hour; the tests kill once and keep 3 at 10 s for three rounds. The kills
are drawn from LEVEE_SOAK_SEED (printed), so that a failure can be played again.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from console.base.processes import start_ticks
from tests.jobs.instance import Instance, opened
from tests.patience import wait_for

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.timeout(0)]

FULL = os.environ.get("LEVEE_SOAK_SIZE") == "full"
KILLS = 50 if FULL else 1
ROWS = 5  # of one file
STREAMS, INTERVAL_S, LASTS_S = (10, 30, 3_600) if FULL else (3, 10, 25)
QUIET_S = 150.0 if FULL else 60.0  # a round, with the start of its JVM
TIMING = {
    "lease": 5.0, "heartbeat": 1.0, "watch": 0.2, "reconcile": 0.5, "wake": 0.5, "cancel_grace": 4.0, "unproven": 3.0,
    "run_limit": 600.0, "preview_limit": 600.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def instance() -> Iterator[Instance]:
    folder = Path(tempfile.mkdtemp(prefix="levee-streams-"))
    try:
        with opened(folder, TIMING, engine="spark") as made:
            made.add_worker("streams")
            made.add_worker("light")  # reads the log of a target whose round's commit was found without its worker
            made.add_dispatcher()
            yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_a_stream_killed_at_random_loses_and_doubles_nothing(instance):
    seed = int(os.environ.get("LEVEE_SOAK_SEED") or (random.randrange(1 << 32) if FULL else 1))
    print(f"LEVEE_SOAK_SEED={seed}: {KILLS} kills")
    chance, landing, target = random.Random(seed), instance.lake / "landing", instance.lake / "clicks"
    landing.mkdir()
    written = drop(landing, 0, 4)
    made = instance.ask("stream", name="clicks", source=str(landing), target=str(target), interval="10s")
    for number in range(KILLS):
        wait_for(lambda: go_on(instance, made["stream"]) or running(instance), "a round runs", QUIET_S, instance.tail)
        written = drop(landing, written, chance.randint(1, 4))
        time.sleep(chance.uniform(0, 6))
        killed = kill_one(instance, chance)
        print(f"kill {number + 1}: {killed}", flush=True)
    wait_for(
        lambda: go_on(instance, made["stream"]) or ids(target) == list(range(written)),
        "all rows have arrived",
        QUIET_S,
        lambda: (told(target, written), story(instance)),
    )
    assert batches_are_the_logs(instance, target)


def test_one_worker_keeps_several_streams_at_their_interval(instance):
    places = [instance.lake / f"landing{number}" for number in range(STREAMS)]
    for number, landing in enumerate(places):
        landing.mkdir()
        drop(landing, 0, 1)
        asked = {"source": str(landing), "target": str(instance.lake / f"kept{number}"), "interval": f"{INTERVAL_S}s"}
        instance.ask("stream", name=f"kept{number}", **asked)
    wait_for(
        lambda: all(ids(instance.lake / f"kept{n}") for n in range(STREAMS)),
        "every stream has written its first rows",
        QUIET_S,
        instance.tail,
    )
    until, written, late = time.monotonic() + LASTS_S, ROWS, []
    while time.monotonic() < until:
        for landing in places:
            drop(landing, written, 1)
        written, dropped = written + ROWS, time.monotonic()
        waiting = list(range(STREAMS))
        wait_for(lambda: arrived(instance, written, waiting), "the new rows have arrived", QUIET_S, instance.tail)  # noqa: B023 (called before the loop goes on)
        late.append(time.monotonic() - dropped)
        time.sleep(max(0.0, dropped + INTERVAL_S - time.monotonic()))
    late.sort()
    told = f"all rows there after {late[len(late) // 2]:.1f} s (median), {late[-1]:.1f} s (longest)"
    print(f"{STREAMS} streams at {INTERVAL_S} s, a file for each {len(late)} times: {told}")
    assert not instance.rows("select name from jobs_stream where name like 'kept%%' and state <> 'running'")
    assert not FULL or late[len(late) // 2] <= INTERVAL_S


def arrived(instance: Instance, written: int, waiting: list[int]) -> bool:
    """Whether each of the streams has written every row; `waiting` are the numbers of those that hadn't when they were last read."""
    while waiting and ids(instance.lake / f"kept{waiting[0]}") == list(range(written)):
        waiting.pop(0)
    return not waiting


def drop(landing: Path, first: int, files: int) -> int:
    """Writes files of ROWS rows each, each whole at once; returns the next id."""
    for number in range(files):
        start = first + number * ROWS
        fresh = landing / f".{start}"
        fresh.write_text("".join(json.dumps({"id": start + n}) + "\n" for n in range(ROWS)))
        fresh.rename(landing / f"{start:08}.json")
    return first + files * ROWS


def running(instance: Instance) -> bool:
    """A round that a worker has, on a JVM that lives."""
    return bool(instance.rows("select 1 from jobs_job where state = 'running'"))


def kill_one(instance: Instance, chance: random.Random) -> str:
    """Kills the worker's process, its JVM or the dispatcher, without a word; whichever lives."""
    rows = instance.rows("select pid, start_ticks, jvm_pid, jvm_start_ticks from jobs_worker where kind = 'streams'")
    ((pid, ticks, jvm, jvm_ticks),) = rows
    victims = {"worker": (pid, ticks), "jvm": (jvm, jvm_ticks)}
    name = chance.choice(["worker", "jvm", "jvm", "dispatcher"])
    if name == "dispatcher":
        process = instance.parts["dispatcher"].process
        assert process is not None
        process.kill()
        return name
    victim, since = victims[name]
    if victim is not None and start_ticks(victim) == since:
        os.kill(victim, signal.SIGKILL)
        return name
    return f"{name}, dead already"


def go_on(instance: Instance, stream: str) -> bool:
    """Two deaths of one round are a failure that a person looks at: this one starts the stream again."""
    if instance.rows("select 1 from jobs_stream where state = 'failed'"):
        instance.ask("start_stream", stream=stream)
    return False


def ids(target: Path) -> list[int]:
    if not (target / "_delta_log" / f"{0:020d}.json").exists():
        return []
    return sorted(DeltaTable(str(target)).to_pyarrow_table().column("id").to_pylist())


def told(target: Path, written: int) -> str:
    found = ids(target)
    return f"{len(found)} rows, {len(set(found))} of them different, of {written}"


def story(instance: Instance) -> list[tuple[Any, ...]]:
    return instance.rows("select state, state_text, rounds, next_round_at::text from jobs_stream") + instance.rows(
        "select requested_at::text, state, version, attempt, error from jobs_job order by requested_at desc limit 5"
    )


def batches_are_the_logs(instance: Instance, target: Path) -> bool:
    """Every version that the stream committed is a batch in its rows, once."""
    wait_for(
        lambda: not instance.rows("select 1 from jobs_streamround where booked_at is null"),
        "every round is booked",
        QUIET_S,
        instance.tail,
    )
    versions = [
        version for (version,) in instance.rows("select version from jobs_streambatch where version is not null")
    ]
    history = DeltaTable(str(target)).history()
    committed = {entry["version"] for entry in history if entry["operation"] == "STREAMING UPDATE"}
    assert set(versions) == committed
    return True
