"""What docker-compose.yml and the Dockerfile promise of the containers, asked of the containers themselves."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.containers.podman import Failed, Podman, say

PROJECT = "levee"
PARTS = ("web", "light", "dispatcher", "interactive", "spark", "streams")
DRIVERS = ("interactive", "spark", "spark-2", "streams")
SPARK_WORKERS = ("spark-worker-1", "spark-worker-2")
OF_SPARK = ("spark-2", "spark-master", *SPARK_WORKERS)  # /health/ready knows kinds, and no daemons
SERVERS = ("postgres", "redis", "store")
SERVICES = (*SERVERS, *PARTS, *OF_SPARK)
RIGHTS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
STATUS = "cat /proc/[0-9]*/status 2>/dev/null; true"
EXECUTORS = """
import pathlib
for process in pathlib.Path("/proc").glob("[0-9]*"):
    words = (process / "cmdline").read_text().split(chr(0))
    if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in words:
        print(*(words[words.index(name) + 1] for name in ("--driver-url", "--hostname")))
"""
MASTER = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:8080/json/').read().decode())"
# Whatever Java or Spark there could be; nothing, if it is as promised.
HEAVY = (
    "find / -xdev ( -name java -o -name pyspark -o -name py4j -o -name *.jar -o -name delta_spark* ) -not -path /proc/*"
)

Run = Callable[..., str]


def safe(podman: Podman, run: Run) -> None:
    """No process of a service is root or has a capability, none may gain one, and none may write to its image."""
    for service in SERVICES:
        told = [line.split() for line in run(service, "sh", "-c", STATUS).splitlines()]
        users = {word for line in told if line[:1] in (["Uid:"], ["Gid:"]) for word in line[1:]}
        rights = {int(line[1], 16) for line in told if line and line[0].rstrip(":") in RIGHTS}
        gains = {line[1] for line in told if line[:1] == ["NoNewPrivs:"]}
        if not users or "0" in users or rights != {0} or gains != {"1"}:
            raise Failed(f"{service} has users {users}, rights {rights}, NoNewPrivs {gains}")
        described = json.loads(podman.run("inspect", f"{PROJECT}_{service}_1"))[0]
        mounts = [line.split() for line in run(service, "cat", "/proc/mounts").splitlines()]
        image = {option for mount in mounts if mount[1] == "/" for option in mount[3].split(",")}
        if "ro" not in image or not described["HostConfig"]["ReadonlyRootfs"]:
            raise Failed(f"{service} may write to its own image: {image}")
    for secret in (
        "LEVEE_DATABASE_ADMIN_URL",
        "LEVEE_DB_MIGRATE_PASSWORD",
        "LEVEE_DB_OWNER_PASSWORD",
        "LEVEE_STORE_SECRET",
    ):
        if secret in "".join(run(part, "env") for part in (*PARTS, *OF_SPARK)):
            raise Failed(f"a part other than prepare knows {secret}")
    say(
        f"no process of {len(SERVICES)} services is root, has a capability, may gain one, or writes to its image; only prepare may migrate"
    )


def web_is_lean(podman: Podman) -> None:
    """The web image has neither Java nor Spark; the other one has both, so that the question can be answered with yes."""

    def heavy(image: str) -> list[str]:
        return podman.run(
            "run", "--rm", "--user=0", "--entrypoint", "find", f"localhost/{image}", *HEAVY.split()[1:]
        ).split()

    if found := heavy("levee-web"):
        raise Failed(f"the web image has {found[:5]}")
    if not {"java", "pyspark"} <= {path.rsplit("/", 1)[-1] for path in heavy("levee-spark")}:
        raise Failed("the Spark image has no Java or no pyspark")
    sizes = {
        image: int(podman.run("image", "inspect", "-f", "{{.Size}}", f"localhost/{image}"))
        for image in ("levee-web", "levee-spark")
    }
    say(
        "the web image has no Java and no pyspark; "
        + ", ".join(f"{image} has {size / 1e9:.1f} GB" for image, size in sizes.items())
    )


def clustered(run: Run) -> None:
    """The work was the cluster's: its workers are known by their services' names, and executors on them reach drivers by theirs."""
    master = json.loads(run("spark-master", "python", "-c", MASTER))
    hosts = {worker["host"] for worker in master["workers"] if worker["state"] == "ALIVE"}
    if hosts != set(SPARK_WORKERS):
        raise Failed(f"the master's workers are {hosts}")
    drivers: set[str] = set()
    for worker in SPARK_WORKERS:
        for line in run(worker, "python", "-c", EXECUTORS).splitlines():
            driver, name = line.split()
            drivers.add(driver.partition("@")[2].partition(":")[0])
            if name != worker:
                raise Failed(f"an executor of {worker} calls itself {name}")
    if not drivers or drivers - set(DRIVERS):
        raise Failed(f"executors know the drivers {drivers}")
    say(
        f"the cluster's workers are {', '.join(sorted(hosts))}; their executors reach the drivers {', '.join(sorted(drivers))}"
    )
