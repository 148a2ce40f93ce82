"""The processes of a Spark standalone cluster, run from the pip package: one master, and workers that start executors."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from console.supervisor import programs, tools
from console.supervisor.errors import StartRefused

MASTER, WORKER = "spark-master", "spark-worker"
DAEMONS = (MASTER, WORKER)
CLASSES = {MASTER: "org.apache.spark.deploy.master.Master", WORKER: "org.apache.spark.deploy.worker.Worker"}
MASTER_PORT, MASTER_PAGE, WORKER_PAGE = 7077, 8080, 8081
# What every process of the cluster must agree on with Levee's own; it holds no secret.
PROPERTIES = Path(__file__).resolve().parent.parent / "containers" / "spark-daemons.conf"
HEAP = "256m"
SIZE = re.compile(r"[1-9][0-9]*[mg]")


@dataclass(frozen=True)
class Daemon:
    """One process of the cluster. It is reached as `host`; its page has no password and is on 127.0.0.1 alone.

    `port` is of the protocol (0: any free one); `master` is what a worker joins. `cores` and `memory` are what a worker offers,
    which may be more than its machine has: they bound executors, and take nothing by themselves.
    """

    part: str
    host: str
    port: int
    page: int
    directory: Path
    master: str | None = None
    cores: int = 2
    memory: str = "2g"


def command(daemon: Daemon) -> list[str]:
    """The command line. Raises StartRefused for what Spark would refuse, or if Spark isn't installed."""
    words = [str(spark_home() / "bin" / "spark-class"), CLASSES[daemon.part], "--host", daemon.host]
    words += ["--port", str(daemon.port), "--webui-port", str(daemon.page), "--properties-file", str(PROPERTIES)]
    if daemon.part == MASTER:
        return words
    if daemon.master is None or not daemon.master.startswith("spark://"):
        raise StartRefused("LEVEE_SPARK_MASTER: a Spark worker needs the address of its master, spark://HOST:PORT")
    if daemon.cores < 1 or not SIZE.fullmatch(daemon.memory):
        raise StartRefused(
            f"a Spark worker offers at least one core and memory such as 2g, not {daemon.cores} and {daemon.memory!r}"
        )
    offered = ["--cores", str(daemon.cores), "--memory", daemon.memory]
    return [*words, *offered, "--work-dir", str(daemon.directory), daemon.master]


def environment(daemon: Daemon, java_home: Path, secret: str) -> dict[str, str]:
    """What a daemon finds in its environment, and no more: executors inherit it, and Levee's settings are none of their business."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TZ") if name in os.environ}
    return {
        **kept,
        "JAVA_HOME": str(java_home),
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",  # of the page; the protocol is at --host
        "SPARK_LOCAL_DIRS": str(daemon.directory),
        "SPARK_DAEMON_MEMORY": HEAP,
        "SPARK_NO_DAEMONIZE": "1",
        "HOME": str(daemon.directory),
        "_SPARK_AUTH_SECRET": secret,  # Spark's own name; a file of properties would lie on the disk
    }


def spark_home() -> Path:
    """Where the pip package lies. Raises StartRefused without it."""
    found = importlib.util.find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        raise StartRefused("Spark isn't installed here: run `make setup`")
    return Path(next(iter(found.submodule_search_locations)))


def page_answers(page: int, patience: float = 2) -> bool:
    """Whether the daemon's page answers, which it does once the process works."""
    return programs.page_answers(page, patience, "/json/")


def become(daemon: Daemon, secret: str | None, start_watchdog: Callable[[], None] = lambda: None) -> None:
    """Doesn't return: this process becomes the daemon. Raises StartRefused, with nothing started."""
    if secret is None:
        raise StartRefused("LEVEE_SPARK_SECRET: is missing; without it any program could run code on the cluster")
    tools.check_jars()  # of the executors: their class path is the drivers'
    words, found = command(daemon), environment(daemon, tools.java_home(), secret)
    daemon.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    start_watchdog()
    os.chdir(daemon.directory)
    os.execve(words[0], words, found)  # nosec B606  # noqa: S606 (a list of ours, no shell)
