"""Requests are counted by method, route and class of status, over all web processes."""

import contextlib
import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import Client

from console.metrics import slots
from console.metrics.requests import REGISTRY
from console.metrics.slots import MOST
from tests.clients import caller
from tests.small_disks import small_disk

PROJECT = Path(__file__).parents[3]


def value(name, **labels):
    return REGISTRY.get_sample_value(name, labels) or 0


def test_a_request_is_counted_and_timed_by_its_route():
    labels = {"method": "GET", "route": "/health/live", "status": "2xx"}
    before = value("levee_requests_total", **labels), value("levee_request_seconds_count", **labels)
    Client().get("/health/live?a=1")
    assert value("levee_requests_total", **labels) == before[0] + 1
    assert value("levee_request_seconds_count", **labels) == before[1] + 1


@pytest.mark.django_db
def test_ids_and_invented_addresses_and_methods_make_no_labels():
    client = caller("viewer").client
    for number in range(3):
        client.get(f"/api/v1/jobs/00000000-0000-0000-0000-00000000000{number}")
        client.get(f"/nowhere/{number}")
        client.generic(f"X{number}", "/health/live")
    labels = {tuple(sorted(s.labels.items())) for m in REGISTRY.collect() for s in m.samples}
    text = str(labels)
    assert "00000000" not in text
    assert "nowhere" not in text
    assert "X1" not in text
    assert value("levee_requests_total", method="GET", route="/api/v1/jobs/<uuid:job_id>", status="4xx") >= 3
    assert value("levee_requests_total", method="GET", route="none", status="4xx") >= 3
    assert value("levee_requests_total", method="other", route="/health/live", status="4xx") >= 3


@pytest.mark.django_db
def test_how_long_a_password_was_checked_is_not_told():
    labels = {"method": "POST", "route": "/sign-in/", "status": "2xx"}
    before = value("levee_requests_total", **labels)
    Client().post("/sign-in/", {"username": "eve", "password": "wrong"})
    assert value("levee_requests_total", **labels) == before + 1
    assert value("levee_request_seconds_count", **labels) == 0


# --- several processes --------------------------------------------------------------------------------------------

PROCESS = """
import pathlib, sys
from console.metrics import slots
print(slots.share(pathlib.Path(sys.argv[1])), flush=True)
from console.metrics.requests import COUNT, REGISTRY
from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector
for line in sys.stdin:
    if line.startswith("count"):
        COUNT.labels("GET", "/", "2xx").inc()
    registry = REGISTRY
    if slots.shared_directory():
        MultiProcessCollector(registry := CollectorRegistry(), slots.shared_directory())
    print(registry.get_sample_value("levee_requests_total", {"method": "GET", "route": "/", "status": "2xx"}), flush=True)
"""


class Process:
    """A process that counts, and says what a scrape of it would."""

    def __init__(self, state: Path) -> None:
        self.run = subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(state)], cwd=PROJECT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "DJANGO_SETTINGS_MODULE": "console.settings"},
        )  # fmt: skip
        assert self.run.stdin is not None
        assert self.run.stdout is not None
        self.input, self.output = self.run.stdin, self.run.stdout
        self.shares = self.output.readline().strip()

    def say(self, word: str) -> str:
        self.input.write(f"{word}\n")
        self.input.flush()
        return self.output.readline().strip()

    def kill(self) -> None:
        self.run.kill()
        self.run.wait()
        self.input.close()
        self.output.close()


@pytest.fixture
def start(tmp_path):
    made = []

    def begin(state=tmp_path):
        made.append(Process(state))
        return made[-1]

    yield begin
    for process in made:
        if process.run.poll() is None:
            process.kill()


def test_a_scrape_adds_up_all_processes_and_keeps_what_a_dead_one_counted(start, tmp_path):
    one, two = start(), start()
    assert (one.shares, two.shares) == ("True", "True")
    one.say("count")
    assert two.say("count") == "2.0"
    one.kill()
    again = start()
    assert again.say("look") == "2.0"
    assert again.say("count") == "3.0"
    assert two.say("look") == "3.0"
    assert len(list((tmp_path / "metrics").glob("counter_*.db"))) == 2


def test_the_first_process_of_a_start_begins_anew(start, tmp_path):
    one = start()
    assert one.say("count") == "1.0"
    one.kill()
    (tmp_path / "metrics" / "counter_5.db").write_bytes(b"torn")
    assert start().say("look") == "None"


def test_without_a_home_or_a_slot_a_process_counts_for_itself(start, tmp_path):
    alone = start(tmp_path / "nowhere")
    assert (alone.shares, alone.say("count")) == ("False", "1.0")
    assert not (tmp_path / "nowhere").exists()


def test_when_every_slot_is_taken_a_process_counts_for_itself(start, tmp_path):
    (tmp_path / "metrics").mkdir()
    with contextlib.ExitStack() as held:
        for slot in range(MOST):
            lock = held.enter_context(open(tmp_path / "metrics" / f"{slot}.slot", "w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        crowded = start()
        assert (crowded.shares, crowded.say("count")) == ("False", "1.0")
    assert start().shares == "True"


def test_a_full_disk_leaves_no_empty_file_that_would_break_every_scrape(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "old.db").write_bytes(b"counted before")
    monkeypatch.setattr(os, "posix_fallocate", full)
    for name in ("new.db", "old.db"):
        with pytest.raises(OSError, match="No space"):
            slots._reserve(tmp_path / name, 1)
    assert [file.name for file in tmp_path.iterdir()] == ["old.db"]


def test_on_a_full_disk_a_process_counts_for_itself_and_lives(start):
    with small_disk(2) as disk:
        crowded = start(disk)
        assert (crowded.shares, crowded.say("count")) == ("False", "1.0")
        crowded.kill()
