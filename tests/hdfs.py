"""An HDFS of the tests' own: Hadoop's name node and data node in one JVM, by the cluster that Hadoop's own tests use.

Its superuser is `hdfs`; Levee comes as whoever runs the tests, with no rights but what it is given. It takes 6 seconds to start, so that
all its tests share one: they are of the lane "engine".
"""

from __future__ import annotations

import getpass
import json
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hdfs_native import Client

from console.base.processes import die_with_parent
from console.setup.jars import TEST_LIST, pinned, wrong
from console.setup.places import HERE
from console.setup.system import java
from tables.storage import patience
from tables.storage.hdfs import client as hdfs
from tables.storage.hdfs import name_nodes
from tables.storage.hdfs import probe as hdfs_probe
from tables.storage.patience import Patience
from tests.patience import limit

MAIN = "org.apache.hadoop.mapreduce.MiniHadoopClusterManager"
SUPERUSER = "hdfs"
START_S = 60
BRIEF = Patience(1, 1, 0)


@dataclass(frozen=True)
class Directory:
    """A directory of HDFS that is Levee's own, new and empty."""

    cluster: Cluster
    path: str

    @property
    def uri(self) -> str:
        return f"{self.cluster.uri}{self.path}"

    def put(self, name: str, body: bytes = b"x") -> None:
        """A file below it, which may be there already, in directories that are made."""
        self.cluster.put(f"{self.path}/{name}", body)

    def names(self, relative: str = "") -> list[str]:
        """What lies directly in a directory, in order."""
        place = f"{self.path}/{relative}".rstrip("/")
        return sorted(row.path.rpartition("/")[2] for row in self.cluster.client.list_status(place))

    def delta(self, name: str, local: Path, rows: int = 3, **options: Any) -> str:
        """Writes a Delta table on this machine, by another engine than Levee's, and copies it there; answers its place."""
        import pyarrow as pa  # here: all tests read this module
        from deltalake import write_deltalake

        table = pa.table({"id": list(range(rows)), "country": [("DE", "FR")[i % 2] for i in range(rows)]})
        write_deltalake(str(local), table, **options)
        for file in local.rglob("*"):
            if file.is_file():
                self.put(f"{name}/{file.relative_to(local)}", file.read_bytes())
        return f"{self.uri}/{name}"

    def allow(self, mode: int, name: str = "", owner: str = "") -> None:
        """Sets who may do what with something in it, and whose it is."""
        place = f"{self.path}/{name}".rstrip("/")
        self.cluster.client.set_permission(place, mode)
        self.cluster.client.set_owner(place, owner or None, None)

    def remove(self, name: str) -> None:
        self.cluster.client.delete(f"{self.path}/{name}", True)


@dataclass(frozen=True)
class Cluster:
    """`client` is the superuser's."""

    process: subprocess.Popen[bytes]
    port: int
    client: Client

    @property
    def uri(self) -> str:
        return f"hdfs://127.0.0.1:{self.port}"

    def put(self, path: str, body: bytes) -> None:
        parent = path.rpartition("/")[0]
        self._give(parent)
        self.client.delete(path)
        with self.client.create(path) as file:
            file.write(body)
        self.client.set_owner(path, getpass.getuser())

    def _give(self, directory: str) -> None:
        """Makes a directory, and those above it, Levee's."""
        parts = directory.split("/")
        for end in range(2, len(parts) + 1):
            place = "/".join(parts[:end])
            try:
                self.client.get_file_info(place)
            except FileNotFoundError:
                self.client.mkdirs(place)
                self.client.set_owner(place, getpass.getuser())

    def directory(self) -> Directory:
        made = Directory(self, f"/lake-{uuid.uuid4().hex[:12]}")
        self._give(made.path)
        return made

    @contextmanager
    def silent(self) -> Iterator[None]:
        """The name node takes connections inside, and answers none; it is waited for during a second."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(patience, "_now", BRIEF)
            patch.setattr(hdfs_probe, "BRIEF", BRIEF)
            self.process.send_signal(signal.SIGSTOP)
            try:
                yield
            finally:
                self.process.send_signal(signal.SIGCONT)
                name_nodes.ask_again(self.uri)


def _classpath() -> str:
    spark = next(HERE.venv.glob("lib/python3*/site-packages/pyspark/jars"))
    names = ("hadoop-client-*", "slf4j-api-*", "log4j-*", "jcl-over-slf4j-*", "jackson-*")
    theirs = [jar for name in names for jar in sorted(spark.glob(f"{name}.jar"))]
    return ":".join(map(str, [*(HERE.test_jars / jar.file for jar in pinned(TEST_LIST)), *theirs]))


def _started(place: Path) -> subprocess.Popen[bytes]:
    assert wrong(HERE.test_jars, pinned(TEST_LIST)) == [], "make setup fetches the tests' Hadoop"
    flags = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Dtest.build.data={place}/data"]
    asked = ["-format", "-nomr", "-datanodes", "1", "-nnport", "0", "-writeDetails", str(place / "details.json")]
    with (place / "log").open("wb") as log:
        return subprocess.Popen(
            [str(java.find()), *flags, "-cp", _classpath(), MAIN, *asked],
            cwd=place,
            env={**os.environ, hdfs.USER: SUPERUSER},
            stdout=log,
            stderr=subprocess.STDOUT,
            preexec_fn=die_with_parent(signal.SIGKILL),
        )


def _port(process: subprocess.Popen[bytes], place: Path) -> int:
    end = time.monotonic() + limit(START_S)
    details = place / "details.json"
    while not (details.is_file() and details.stat().st_size):
        assert process.poll() is None, (place / "log").read_text()[-3000:]
        assert time.monotonic() < end, "the name node doesn't start"
        time.sleep(0.05)
    return int(json.loads(details.read_text())["namenode_port"])


def _superuser(port: int) -> Client:
    """hdfs-native takes the user from the environment, once it is connected."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(hdfs.USER, SUPERUSER)
        client = Client(f"hdfs://127.0.0.1:{port}")
        client.get_file_info("/")
        return client


@pytest.fixture(scope="session")
def hdfs_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    place = tmp_path_factory.mktemp("hdfs")
    process = _started(place)
    try:
        port = _port(process, place)
        yield Cluster(process, port, _superuser(port))
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()


@pytest.fixture
def on_hdfs(hdfs_cluster: Cluster) -> Directory:
    """A directory of HDFS that is Levee's own."""
    return hdfs_cluster.directory()
