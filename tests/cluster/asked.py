"""What tests on a cluster ask of the Levee that works there, and how its workers are set."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.standalone import Standalone
from tests.jobs.instance import Instance

TIMING = {
    **{"lease": 10.0, "heartbeat": 1.0, "watch": 0.2, "reconcile": 0.5, "wake": 0.5},
    **{"cancel_grace": 20.0, "unproven": 3.0, "no_executors": 3.0, "hung": 60.0},
}
LIMIT_S = 300.0  # of what takes 10 s on a machine that has nothing else to do


def settings(cluster: Standalone, **changed: str) -> dict[str, str]:
    return {
        "LEVEE_SPARK_MASTER": cluster.address,
        "LEVEE_SPARK_SECRET": cluster.secret,
        "LEVEE_SPARK_EXECUTOR_MEMORY": "512m",
        "LEVEE_SPARK_EXECUTOR_CORES": "1",
        "LEVEE_SPARK_CORES_MAX": "1",
        **changed,
    }


def append(instance: Instance, table: Path | str, **values: float) -> str:
    return str(instance.ask("append", path=str(table), **{"rows": 3} | values)["job"])


def ends(instance: Instance, job: str, state: str) -> dict:
    ended = instance.wait_state(job, limit=LIMIT_S)
    assert ended["state"] == state, (instance.error(job), instance.story(job))
    return ended
