"""Starts and ends a worker's JVM with this instance's settings, and records its process in the home."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import get_args

from console.base.env import BASE_DIR, Env, SettingError
from console.base.logs import log
from console.base.processes import ProcessId, start_ticks
from jobs.domain.engine import Engine
from jobs.domain.errors import EngineFailed, EngineFailure
from jobs.engine.config import Kind, SettingRefused, cluster_of, overrides_of, spark_conf
from jobs.engine.metastore.connection import Metastore
from jobs.engine.processes import ProcessIdentity
from jobs.engine.runtime import Runtime
from jobs.lifecycle.fault_points import FaultPoint, reached
from jobs.models import Worker
from jobs.worker.executors import silence_of
from jobs.worker.memory import limit_bytes, machine_bytes
from jobs.worker.precedence import GivingWay, is_awaited
from jobs.worker.spark_engine import SparkEngine

TOOLS = BASE_DIR / ".tools"
MASTER_AGAIN_S, AFTER_REFUSAL_S = 5.0, 30.0
LOOK_S = 2.0
GAVE_UP = "All masters are unresponsive"
REFUSED = (
    "LEVEE_SPARK_MASTER: {master} answers, and refuses this worker: its secret isn't LEVEE_SPARK_SECRET, or it runs without "
    "spark.authenticate and spark.network.crypto.enabled; tried again every 30 s"
)


class SparkHost:
    """The JVM of the worker `name`. `kind` is spark, streams or interactive."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, re.sub(r"[^A-Za-z0-9_.-]", "_", name)
        self.env = Env.read()
        self.waiting = ""
        self._logged = ""  # what it waited for last
        self._log_began = 0
        self._runtime: Runtime | None = None
        self._ending = threading.Lock()

    def start(self) -> Engine:
        """Starts the JVM and returns the engine, warm unless it runs streams alone. Raises EngineFailed with the cause.

        While the master of a cluster is away or refuses this worker, it waits and says so in `waiting`: a restart wouldn't help.
        """
        try:
            conf = self._conf()
        except (SettingRefused, SettingError) as error:
            raise EngineFailed(EngineFailure(None, None, str(error))) from None
        master = conf["spark.master"]
        while True:
            self._await_master(master)
            self.waiting = ""  # from here on a JVM that hangs must be told from a wait
            try:
                with self._refusal_told(master):
                    engine = self._launched(conf)
            except EngineFailed as failed:
                if not self._was_refused(master):
                    raise
                log.warning("cluster_refused", worker=self.name, error=failed.failure.message.split("\n")[0])
                self.stop()
                self._wait(REFUSED.format(master=master), AFTER_REFUSAL_S)
            else:
                self.waiting = ""
                reached(FaultPoint.SPARK_STARTED)
                return engine

    def _launched(self, conf: dict[str, str]) -> Engine:
        log_file = self.env.home / "logs" / f"{self.name}.jvm.log"
        runtime = Runtime(conf, scratch=self._scratch(), log=log_file, on_launch=self._remember)
        self._log_began, self._runtime = runtime.log_position(), runtime
        engine = SparkEngine(runtime)
        # A stream's first round waits for its worker, and warms it up as well as any other command. On a cluster a warm-up would wait
        # for executors, which may not even see the directory that it works in.
        if self.kind == Worker.Kind.STREAMS or not conf["spark.master"].startswith("local"):
            engine.start()
        else:
            engine.warm_up(GivingWay(), partial(is_awaited, self.kind))
        return engine

    def _await_master(self, master: str) -> None:
        while (silence := silence_of(master)) is not None:
            self._wait(f"{silence}; tried again every {MASTER_AGAIN_S:.0f} s", MASTER_AGAIN_S)

    def _wait(self, why: str, seconds: float) -> None:
        if why != self._logged:
            log.warning("waiting_for_cluster", worker=self.name, reason=why)
        self.waiting = self._logged = why
        time.sleep(seconds)

    @contextmanager
    def _refusal_told(self, master: str) -> Iterator[None]:
        """Says soon that a master refuses: Spark itself tries for a minute before it gives up."""
        over = threading.Event()

        def look() -> None:
            while not over.wait(LOOK_S):
                if self._was_refused(master):
                    self.waiting = REFUSED.format(master=master)

        looker = threading.Thread(target=look, name="refusal", daemon=True)
        looker.start()
        try:
            yield
        finally:
            over.set()
            looker.join()

    def _was_refused(self, master: str) -> bool:
        """Whether Spark gave up on the masters that it could reach: it says so in its log alone.

        Of a list of masters those in waiting may be away, so that one failure says nothing.
        """
        lines = self._runtime.warnings_since(self._log_began, limit=500) if self._runtime else []
        failures = [
            re.compile(rf"Failed to connect to master {re.escape(address)}(?!\d)")
            for address in master.removeprefix("spark://").split(",")
        ]
        gave_up = any(GAVE_UP in line for line in lines)
        return gave_up or all(any(failure.search(line) for line in lines) for failure in failures)

    def _conf(self) -> dict[str, str]:
        jars = sorted((TOOLS / "jars").glob("*.jar"))
        if not jars:
            raise SettingError("jars", f"{TOOLS / 'jars'} holds none; run make setup")
        conf = spark_conf(
            _kind(self.kind),
            jars=jars,
            archive=TOOLS / "levee.jsa",
            cores=os.cpu_count() or 1,
            memory_bytes=machine_bytes(),
            memory_limit=limit_bytes(),
            scratch=self._scratch(),
            cluster=cluster_of(self.env),
            overrides=overrides_of(self.env),
        )
        return {**_metastore_conf(self.env), **conf}

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


def _metastore_conf(env: Env) -> dict[str, str]:
    return Metastore(env.metastore, env.metastore_password).conf() if env.metastore else {}


def _kind(name: str) -> Kind:
    kinds: tuple[Kind, ...] = get_args(Kind)
    return next(kind for kind in kinds if kind == name)


def _process_id(identity: ProcessIdentity) -> ProcessId:
    return ProcessId(pid=identity.pid, start_ticks=identity.start_ticks, boot_id=identity.boot_id, pgid=identity.pid)
