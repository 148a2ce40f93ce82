"""A streams' worker that was killed while no stream needs one."""

from __future__ import annotations

import os
import socket
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now

from console.base.processes import boot_id, start_ticks
from jobs.dispatcher.absent_workers import TEXT, mark_absent
from jobs.domain.states import State
from jobs.models import Worker
from jobs.web.workers import queries
from tests import factories

pytestmark = pytest.mark.django_db


def silent(**values: Any) -> Worker:
    """A row of this host whose process is gone: its pid is this test's, its start another's."""
    told = {"kind": "streams", "host": socket.gethostname(), "boot_id": boot_id(), "condition": "ready"}
    pids = {"pid": os.getpid(), "start_ticks": 1, "jvm_pid": None, "jvm_start_ticks": None}
    made = factories.WorkerFactory(name="streams@here", **{**told, **pids, **values})
    Worker.objects.update(heartbeat_at=Now() - timedelta(hours=1))
    return made


def state() -> str:
    return next(str(row["state"]) for row in queries.workers() if row["name"] == "streams@here")


@pytest.mark.parametrize("how", [{}, {"boot_id": "before", "start_ticks": 2}], ids=["killed", "restarted"])
def test_a_dead_one_is_down_and_not_lost(how):
    silent(**how)
    assert state() == "lost"
    assert mark_absent() == 1
    assert state() == "down"
    assert Worker.objects.get().text == TEXT
    assert mark_absent() == 0


@pytest.mark.parametrize(
    "how",
    [
        {"start_ticks": start_ticks(os.getpid())},
        {"jvm_pid": os.getpid(), "jvm_start_ticks": start_ticks(os.getpid())},
        {"host": "elsewhere"},
        {"boot_id": boot_id().split("/")[0] + "/another container"},
        {"kind": "spark"},
    ],
    ids=["it lives", "its JVM lives", "another host", "another container", "another kind"],
)
def test_what_is_not_proven_dead_stays_lost(how):
    silent(**how)
    assert mark_absent() == 0
    assert state() == "lost"


def test_one_that_a_round_waits_for_stays_lost(orders, olga):
    silent()
    factories.job_on(orders, olga, command="stream_round", state=State.QUEUED)
    assert mark_absent() == 0
    assert state() == "lost"
