"""Starts and ends a worker's JVM with this instance's settings, and records its process in the home."""

from __future__ import annotations

import json
import os
import re
import threading
from pathlib import Path
from typing import get_args

from console.base.env import BASE_DIR, Env, SettingError
from console.supervisor.pids import ProcessId, start_ticks
from jobs.domain.engine import Engine
from jobs.domain.errors import EngineFailed, EngineFailure
from jobs.engine.config import Kind, SettingRefused, spark_conf
from jobs.engine.processes import ProcessIdentity
from jobs.engine.runtime import Runtime
from jobs.lifecycle.fault_points import Point, reached
from jobs.models import Worker
from jobs.worker.spark_engine import SparkEngine

TOOLS = BASE_DIR / ".tools"


class SparkHost:
    """The JVM of the worker `name`. `kind` is spark, streams or interactive."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, re.sub(r"[^A-Za-z0-9_.-]", "_", name)
        self.env = Env.read()
        self._runtime: Runtime | None = None
        self._ending = threading.Lock()

    def start(self) -> Engine:
        """Starts the JVM and returns the engine, warm unless it runs streams alone. Raises EngineFailed with the cause."""
        try:
            conf = self._conf()
        except (SettingRefused, SettingError) as error:
            raise EngineFailed(EngineFailure(None, None, str(error))) from None
        self._runtime = Runtime(
            conf, scratch=self._scratch(), log=self.env.home / "logs" / f"{self.name}.jvm.log", on_launch=self._remember
        )
        engine = SparkEngine(self._runtime)
        if (
            self.kind == Worker.Kind.STREAMS
        ):  # its first round waits for it, and warms it up as well as any other command
            engine.start()
        else:
            engine.warm_up()
        reached(Point.SPARK_STARTED)
        return engine

    def _conf(self) -> dict[str, str]:
        jars = sorted((TOOLS / "jars").glob("*.jar"))
        if not jars:
            raise SettingError("jars", f"{TOOLS / 'jars'} holds none; run make setup")
        return spark_conf(
            _kind(self.kind),
            jars=jars,
            archive=TOOLS / "levee.jsa",
            cores=os.cpu_count() or 1,
            memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            scratch=self._scratch(),
            master=self.env.spark_master,
            overrides=read_conf(self.env.spark_conf) if self.env.spark_conf else None,
        )

    def _scratch(self) -> Path:
        return self.env.home / "spark" / self.name

    def _remember(self, identity: ProcessIdentity) -> None:
        """Records the JVM's process before its session exists, so that the next start after a crash can kill it."""
        folder = self.env.home / "state" / "jvm"
        folder.mkdir(parents=True, exist_ok=True)
        fresh = folder / f".{self.name}.json"
        fresh.write_text(json.dumps(_process_id(identity).as_json()))
        fresh.replace(folder / f"{self.name}.json")

    def identity(self) -> ProcessId | None:
        """The JVM's process; None before it is launched."""
        identity = self._runtime.identity() if self._runtime else None
        return _process_id(identity) if identity else None

    def end_hard(self) -> None:
        """Kills the JVM's process group and waits until it is gone."""
        with self._ending:
            if self._runtime is not None:
                self._runtime.kill()

    def stop(self) -> None:
        """Shuts the JVM down gracefully."""
        if self._runtime is not None:
            self._runtime.stop()

    def memory_bytes(self) -> int | None:
        """The JVM's resident memory; None if it isn't running."""
        if self._runtime is None or self._runtime.identity() is None:
            return None
        identity = self.identity()
        alive = identity is not None and start_ticks(identity.pid) == identity.start_ticks
        return self._runtime.memory_bytes() if alive else None


def _kind(name: str) -> Kind:
    kinds: tuple[Kind, ...] = get_args(Kind)
    return next(kind for kind in kinds if kind == name)


def _process_id(identity: ProcessIdentity) -> ProcessId:
    return ProcessId(pid=identity.pid, start_ticks=identity.start_ticks, boot_id=identity.boot_id, pgid=identity.pid)


def read_conf(path: Path) -> dict[str, str]:
    """Reads a file of `key value` lines, in the format of spark-defaults.conf. Raises SettingError with the line's number."""
    conf = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        parts = re.split(r"[\s=]+", text, maxsplit=1)
        if len(parts) != 2:
            raise SettingError("LEVEE_SPARK_CONF", f"line {number} of {path} has no value")
        conf[parts[0]] = parts[1]
    return conf
