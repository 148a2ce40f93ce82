"""What tests on a cluster ask of the Levee that works there, and how its workers are set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jobs.engine.config import Cluster
from tests import s3
from tests.cluster.standalone import Standalone
from tests.jobs.instance import Instance

TIMING = {
    **{"lease": 10.0, "heartbeat": 1.0, "watch": 0.2, "reconcile": 0.5, "wake": 0.5},
    **{"cancel_grace": 20.0, "unproven": 3.0, "no_executors": 3.0, "hung": 60.0},
}
QUIET_S = 75.0  # the start of a JVM and its executors, and a job on them


def settings(cluster: Standalone, **changed: str) -> dict[str, str]:
    return {**settings_on(cluster.asked()), **changed}


def settings_on(cluster: Cluster) -> dict[str, str]:
    """A worker's settings that ask so much of a cluster."""
    asked = {
        "LEVEE_SPARK_MASTER": cluster.master,
        "LEVEE_SPARK_SECRET": cluster.secret,
        "LEVEE_SPARK_EXECUTOR_MEMORY": cluster.executor_memory,
        "LEVEE_SPARK_EXECUTOR_CORES": cluster.executor_cores,
        "LEVEE_SPARK_CORES_MAX": cluster.cores_max,
    }
    return {name: str(value) for name, value in asked.items() if value is not None}


def append(instance: Instance, table: Path | str, **values: float) -> str:
    return str(instance.ask("append", path=str(table), **{"rows": 3} | values)["job"])


def ends(instance: Instance, job: str, state: str) -> dict:
    ended = instance.wait_state(job, quiet_s=QUIET_S)
    assert ended["state"] == state, (instance.error(job), instance.story(job))
    return ended


def progress(instance: Instance, job: str) -> dict[str, Any]:
    """The job's stage and tasks, as its page shows them."""
    ((found,),) = instance.rows("select progress from jobs_job where id = %s", job)
    return dict(found)


def orders(instance: Instance, store: s3.Store, name: str) -> str:
    """A table of two files in an object store, with the ids 0 to 9 and 10 to 19."""
    store.delta(name, rows=10)
    place = store.delta(name, rows=10, first=10, mode="append")
    instance.ask("stored_table", bucket=store.uri, path=place, storage=store.storage())
    return place


def ids(store: s3.Store, place: str) -> list[int]:
    return sorted(store.read(place).to_pyarrow_table()["id"].to_pylist())
