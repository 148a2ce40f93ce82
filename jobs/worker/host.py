"""One worker process: its row, its heartbeat, its engine, and the loop that claims until nothing is left."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Protocol

from django.db import InterfaceError, OperationalError, connection
from django.db.models.functions import Now

from console.base import schema_version
from console.base.logs import log
from console.base.processes import ProcessId, boot_id, start_ticks
from console.base.timeouts import timing
from console.base.version import VERSION
from jobs.domain.engine import Engine
from jobs.domain.errors import EngineFailed, EngineLost
from jobs.lifecycle.log_context import about_job
from jobs.models import Read, Worker
from jobs.worker import read_executor, shares, stragglers
from jobs.worker.claims import Claim, ClaimHolder, claim_preview, claim_read, claim_run
from jobs.worker.execution import Execution, work


class EngineHost(Protocol):
    """Starts and ends an engine: for Spark, a JVM of its own."""

    waiting: str  # what `start` waits for before it can return, in one line; "" if for nothing

    def start(self) -> Engine:
        """Starts and warms the engine; returns it when it is ready. Raises EngineFailed."""

    def identity(self) -> ProcessId | None:
        """The engine's process; None before it starts."""

    def end_hard(self) -> None:
        """Kills the engine's process group and waits until it is gone."""

    def stop(self) -> None:
        """Shuts the engine down gracefully."""

    def memory_bytes(self) -> int | None:
        """The memory of the engine's process; None when unknown."""


class WorkerProcess:
    """This process as a worker of one kind. Made once per process, before the first task. `places` is how much it works on at once."""

    def __init__(self, name: str, kind: str, host: EngineHost | None, places: int = 1) -> None:
        self.name, self.kind, self.host, self.places = name, kind, host, places
        self._shares = shares.Shares(places)
        self.stopping = threading.Event()
        self.draining = threading.Event()
        self._ready = threading.Event()
        self._failed: str = ""
        self._saying = threading.Lock()  # one thread's word at a time, and none after "down"
        self._is_down = False
        self._engine: Engine | None = None
        self._doing: dict[int, str] = {}
        self._answered = time.monotonic()  # when the engine last answered

    # --- life -----------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Starts two threads and returns at once: the heartbeat, which first writes the worker's row, and the engine's start."""
        threading.Thread(target=self._beat_for_ever, name="heartbeat", daemon=True).start()
        if self.host is None:
            self._ready.set()
        else:
            threading.Thread(target=self._start_engine, args=(self.host,), name="engine-start", daemon=True).start()

    def stop(self) -> None:
        """Begins a planned stop: the worker claims nothing more, cancels what runs and gives it back."""
        self.stopping.set()

    def _write_row(self) -> None:
        Worker.objects.update_or_create(
            name=self.name,
            defaults={
                "kind": self.kind,
                "host": socket.gethostname(),
                "boot_id": boot_id(),
                "pid": os.getpid(),
                "start_ticks": start_ticks(os.getpid()) or 0,
                "jvm_pid": None,
                "jvm_start_ticks": None,
                "jvm_memory_bytes": None,
                "condition": Worker.Condition.STARTING if self.host else Worker.Condition.READY,
                "text": "",
                "version": VERSION,
                "started_at": Now(),
                "heartbeat_at": Now(),
                "restart_requested_at": None,
            },
        )

    def _start_engine(self, host: EngineHost) -> None:
        try:
            self._engine = host.start()
        except (EngineFailed, OSError) as failed:  # OSError: its record or its settings can't be written
            # A worker without its engine is useless: it ends, and its supervisor starts another.
            why = failed.failure.message if isinstance(failed, EngineFailed) else str(failed)
            log.error("engine_did_not_start", worker=self.name, error=why)
            self._failed = why[:500]
            self._try_to_say_condition()
            self.end_process()
        else:
            self._answered = time.monotonic()
            threading.Thread(target=self._ask_engine_for_ever, name="engine-probe", daemon=True).start()
        self._ready.set()
        self._try_to_say_condition()
        connection.close()

    def _ask_engine_for_ever(self) -> None:
        """Probes the engine in its own thread: a hung JVM never lets the call return, which the heartbeat notices by the clock."""
        while not self.stopping.is_set():
            with suppress(EngineFailed):  # the run or read on it gets the same error
                self.engine().answers()
                self._answered = time.monotonic()
            self.stopping.wait(timing().heartbeat)

    def end_process(self) -> None:
        """Kills the engine, then this process; the supervisor starts another."""
        if self.host is not None:
            self.host.end_hard()
        os.kill(os.getpid(), signal.SIGKILL)

    # --- heartbeat ------------------------------------------------------------------------------------------------

    def _beat_for_ever(self) -> None:
        written = False
        while not self.stopping.is_set():
            try:
                if not written:
                    self._write_row()
                    schema_version.report(self.name)
                written = True
                self._say_condition()
                self._heed_requests()
            except (OperationalError, InterfaceError) as error:
                log.warning("heartbeat_database_down", worker=self.name, error=str(error).split("\n")[0])
                connection.close()
            self._end_without_engine()
            self._end_with_hung_engine()
            self.stopping.wait(timing().heartbeat if written and self._ready.is_set() else min(1, timing().heartbeat))
        self._say_down()

    def _end_without_engine(self) -> None:
        """Ends this process if its JVM died while idle: a job claimed now would only lose an attempt."""
        identity = self.host.identity() if self.host and self._ready.is_set() else None
        if identity and start_ticks(identity.pid) != identity.start_ticks and not self._doing:
            log.warning("engine_gone", worker=self.name)
            self.end_process()

    def _end_with_hung_engine(self) -> None:
        """Ends this process if its JVM lives but doesn't answer, idle or busy. The dispatcher reconciles its job as after any loss."""
        silence = time.monotonic() - self._answered
        if self.host and self._ready.is_set() and silence > timing().hung:
            log.error("engine_hung", worker=self.name, seconds=round(silence))
            self.end_process()

    def _try_to_say_condition(self) -> None:
        """Best effort; the next heartbeat retries."""
        try:
            self._say_condition()
        except (OperationalError, InterfaceError) as error:
            log.warning("condition_not_said", worker=self.name, error=str(error).split("\n")[0])
            connection.close()

    def _say_condition(self) -> None:
        with self._saying:
            if not self._is_down:
                self._write_condition()

    def _write_condition(self) -> None:
        identity = self.host.identity() if self.host else None
        Worker.objects.filter(name=self.name, pid=os.getpid()).update(
            condition=self._condition(),
            text=("; ".join(self._doing.values()) or self._failed or (self.host.waiting if self.host else ""))[:500],
            heartbeat_at=Now(),
            jvm_pid=identity.pid if identity else None,
            jvm_start_ticks=identity.start_ticks if identity else None,
            jvm_memory_bytes=self.host.memory_bytes() if self.host else None,
        )

    def _condition(self) -> str:
        if self.draining.is_set():
            return Worker.Condition.DRAINING
        return Worker.Condition.READY if self._ready.is_set() and not self._failed else Worker.Condition.STARTING

    def _heed_requests(self) -> None:
        row = Worker.objects.filter(name=self.name, pid=os.getpid()).first()
        if row is None:
            return
        (self.draining.set if row.drain_requested_at else self.draining.clear)()
        if row.restart_requested_at and not self._doing:
            log.info("restart_requested", worker=self.name)
            self.end_process()

    def _say_down(self) -> None:
        try:
            with self._saying:
                self._is_down = True
                Worker.objects.filter(name=self.name, pid=os.getpid()).update(
                    condition=Worker.Condition.DOWN, text="stopped"
                )
        except (OperationalError, InterfaceError) as error:
            log.warning("stop_not_recorded", worker=self.name, error=str(error).split("\n")[0])
        connection.close()

    # --- work -----------------------------------------------------------------------------------------------------

    def engine(self) -> Engine:
        """Waits until the engine is ready and returns it."""
        self._ready.wait()
        if self._engine is None:
            raise RuntimeError(f"{self.name} has no engine")
        return self._engine

    def holder(self) -> ClaimHolder:
        """This process's identity, for claims."""
        identity = self.host.identity() if self.host else None
        return ClaimHolder(
            worker=self.name,
            host=socket.gethostname(),
            boot_id=boot_id(),
            pid=os.getpid(),
            start_ticks=start_ticks(os.getpid()) or 0,
            jvm_pid=identity.pid if identity else None,
            jvm_start_ticks=identity.start_ticks if identity else None,
        )

    def drain_queue(self) -> None:
        """Claims and works until no row is left. Every wake-up calls it; a duplicate finds nothing to do."""
        steps = _STEPS[self.kind]
        while not self._ready.wait(1):  # a start may wait for as long as a cluster is away
            if self.stopping.is_set():
                return
        while not (self.stopping.is_set() or self.draining.is_set()):
            self._end_without_engine()
            if not any(step(self) for step in steps):
                return

    def run_one(self) -> bool:
        """Runs the next job of its kind's queue; False if there is none."""
        return self._work(claim_run(self.holder(), self.kind))

    def preview_one(self) -> bool:
        """Makes the next job's preview; False if none is needed."""
        with self._shares.place(partial(claim_preview, self.holder()), asker_of_preview) as claim:
            return self._work(claim)

    def _work(self, claim: Claim | None) -> bool:
        if claim is None:
            return False
        with about_job(claim.job.pk, claim.attempt_id), self._doing_now(f"{claim.kind} {claim.job}"):
            execution = Execution(claim, self.engine(), self.stopping, self._end_engine)
            try:
                work(execution)
            except EngineLost:
                self.end_process()
            if not stragglers.they_end(execution.engine, execution.marks.tag):
                self.end_process()
        return True

    def read_one(self) -> bool:
        """Answers the next read that needs Spark; False if none waits."""
        with self._shares.place(partial(claim_read, Worker.Kind.INTERACTIVE, self.name), asker_of_read) as read:
            return read is not None and self._answer(read)

    def _answer(self, read: Read) -> bool:
        with self._doing_now(f"read {read.kind}"):
            try:
                read_executor.answer(read, self.engine(), self.end_process)
            except EngineLost:
                self.end_process()
        return True

    def light_one(self) -> bool:
        """Answers the next read that needs no Spark, or syncs the next table that is due."""
        from jobs.worker import light_work

        return light_work.one(self.name)

    def _doing_now(self, text: str) -> _Doing:
        return _Doing(self, text)

    def _end_engine(self) -> None:
        if self.host is not None:
            self.host.end_hard()

    def note_doing(self, text: str | None) -> None:
        """Notes the calling thread's current work for the workers page; None when it is done."""
        if text is None:
            self._doing.pop(threading.get_ident(), None)
        else:
            self._doing[threading.get_ident()] = text
        self._try_to_say_condition()


def asker_of_preview(claim: Claim) -> shares.ShareHolder:
    return shares.ShareHolder(claim.job.requested_by_id, claim.job.location)


def asker_of_read(read: Read) -> shares.ShareHolder:
    return shares.ShareHolder(read.person_id, read.question.get("path"))


class _Doing:
    def __init__(self, worker: WorkerProcess, text: str) -> None:
        self.worker, self.text = worker, text

    def __enter__(self) -> None:
        self.worker.note_doing(self.text)

    def __exit__(self, *_: object) -> None:
        self.worker.note_doing(None)


_STEPS: dict[str, tuple[Callable[[WorkerProcess], bool], ...]] = {
    Worker.Kind.SPARK: (WorkerProcess.run_one,),
    Worker.Kind.STREAMS: (WorkerProcess.run_one,),
    Worker.Kind.INTERACTIVE: (WorkerProcess.read_one, WorkerProcess.preview_one),
    Worker.Kind.LIGHT: (WorkerProcess.light_one,),
}
