"""Where a worker's JVM comes from: settings of this instance, the engine's runtime, and the JVM's record in the home."""

from __future__ import annotations

import json
import os
import re
import threading
from pathlib import Path

from console.env import BASE_DIR, Env, SettingError
from console.supervisor.pids import ProcessId, start_ticks
from jobs.domain.engine import Engine
from jobs.domain.errors import EngineFailed, EngineFailure
from jobs.engine.config import SettingRefused, spark_conf
from jobs.engine.processes import ProcessIdentity
from jobs.engine.runtime import Runtime
from jobs.engine.spark_engine import SparkEngine
from jobs.points import Point, reached

TOOLS = BASE_DIR / ".tools"


class SparkHost:
    """One JVM for one worker, by name. `kind` is spark or interactive."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, re.sub(r"[^A-Za-z0-9_.-]", "_", name)
        self.env = Env.read()
        self._runtime: Runtime | None = None
        self._ending = threading.Lock()

    def start(self) -> Engine:
        """A warm engine. Raises EngineFailed with what is wrong."""
        try:
            conf = self._conf()
        except (SettingRefused, SettingError) as error:
            raise EngineFailed(EngineFailure(None, None, str(error))) from None
        self._runtime = Runtime(
            conf, scratch=self._scratch(), log=self.env.home / "logs" / f"{self.name}.jvm.log", on_launch=self._remember
        )
        engine = SparkEngine(self._runtime)
        engine.warm_up()
        reached(Point.SPARK_STARTED)
        return engine

    def _conf(self) -> dict[str, str]:
        jars = sorted((TOOLS / "jars").glob("*.jar"))
        if not jars:
            raise SettingError("jars", f"{TOOLS / 'jars'} holds none; run make setup")
        return spark_conf(
            "spark" if self.kind == "spark" else "interactive",
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
        """The JVM's record, before its session exists: whoever comes after a crash can end it."""
        folder = self.env.home / "state" / "jvm"
        folder.mkdir(parents=True, exist_ok=True)
        fresh = folder / f".{self.name}.json"
        fresh.write_text(json.dumps(_process_id(identity).as_json()))
        fresh.replace(folder / f"{self.name}.json")

    def identity(self) -> ProcessId | None:
        """The JVM's process, once launched."""
        identity = self._runtime.identity() if self._runtime else None
        return _process_id(identity) if identity else None

    def end_hard(self) -> None:
        """Kills the JVM's process group and waits until it is gone."""
        with self._ending:
            if self._runtime is not None:
                self._runtime.kill()

    def stop(self) -> None:
        """Ends the JVM orderly."""
        if self._runtime is not None:
            self._runtime.stop()

    def memory_bytes(self) -> int | None:
        """Resident memory of the JVM."""
        if self._runtime is None or self._runtime.identity() is None:
            return None
        identity = self.identity()
        alive = identity is not None and start_ticks(identity.pid) == identity.start_ticks
        return self._runtime.memory_bytes() if alive else None


def _process_id(identity: ProcessIdentity) -> ProcessId:
    return ProcessId(pid=identity.pid, start_ticks=identity.start_ticks, boot_id=identity.boot_id, pgid=identity.pid)


def read_conf(path: Path) -> dict[str, str]:
    """A file of `key value` lines, as spark-defaults.conf has them. Raises SettingError naming the line."""
    found = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        parts = re.split(r"[\s=]+", text, maxsplit=1)
        if len(parts) != 2:
            raise SettingError("LEVEE_SPARK_CONF", f"line {number} of {path} has no value")
        found[parts[0]] = parts[1]
    return found
