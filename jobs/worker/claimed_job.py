"""A claimed job, and how its worker records what becomes of it. The claim's token fences every write."""

from __future__ import annotations

import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django.db import InterfaceError, OperationalError, connection

from console.base.errors import Problem
from console.base.logs import log
from console.base.timeouts import timing
from jobs.commands.registry import command_from_json, handling_of
from jobs.domain.engine import Engine, Marks
from jobs.domain.measures import Measure, Restorable
from jobs.domain.states import Cause, State
from jobs.lifecycle.fault_points import FaultPoint, reached
from jobs.lifecycle.transitions import Fenced, move
from jobs.models import Attempt
from jobs.targets.stored_files import refuse_unlike
from jobs.worker.border import border
from jobs.worker.claims import Claim
from jobs.worker.run_log import RunReport
from jobs.worker.supervision import Watch
from tables.deltalog.read.data_files import Unlike
from tables.sync import file_checks, log_access


class ClaimedJob(ABC):
    """What a preview and a run share. `end_hard` kills the JVM and waits until it is gone."""

    def __init__(self, claim: Claim, engine: Engine, stop: threading.Event, end_hard: Callable[[], None]) -> None:
        self.claim, self.engine, self.stop, self.end_hard = claim, engine, stop, end_hard
        self.job = claim.job
        self.who = Attempt.objects.values_list("worker", flat=True).get(pk=claim.attempt_id)
        self.command = command_from_json(self.job.command, self.job.schema_version, self.job.parameters)
        self.marks = Marks(job=str(self.job.pk), attempt=claim.number, digest=self.job.digest, token=claim.token)
        self.handling = handling_of(self.job.command)
        self.report = RunReport()

    @abstractmethod
    def work(self) -> None:
        """Does what was claimed and records its true outcome, whatever happens. Raises EngineLost, Fenced."""

    def given_up(self, fenced: Fenced) -> None:
        """The claim is another's by now. Whatever goes wrong in saying so, this process goes on to its end."""
        log.warning("fenced", job=str(self.job.pk), text=str(fenced))
        with border("lost_claim_untold", {"job": str(self.job.pk)}, lambda _: None):
            self.tell_lost_claim()

    @abstractmethod
    def tell_lost_claim(self) -> None:
        """Says how an attempt ended whose claim was lost, where that matters."""

    @abstractmethod
    def broken(self, error: Exception) -> None:
        """Ends the job after an unexpected error in Levee, with the error and the table's state."""

    def _watch(self, limit: float) -> Watch:
        return Watch(self.claim, self.engine, self.report, self.marks.tag, limit, self.stop, self.end_hard, self.who)

    def _measured(self, version: int | None) -> Measure:
        measure = self.engine.preview(self.command, version, self.marks, self.report)
        if isinstance(measure, Restorable):
            self._tell_missing(measure.version, measure.missing_files)
        return measure

    def _look_at_files(self) -> None:
        """Looks in storage at the files that Spark will read, before it does. Raises CommandRefused."""
        read = self.handling.files_read(self.job)
        if read is not None:
            self.report.stage("looking at files")
            count = refuse_unlike(read, partial(self._tell_unlike, read.table or self.job.table_id))
            self.report.log(f"Storage has {count:,} {'file' if count == 1 else 'files'} as the log says.")

    def _tell_unlike(self, table: uuid.UUID, asked: int, found: Sequence[Unlike]) -> None:
        """The table's health says from now on what this job found of its files."""
        with border("file_check_lost", {"job": str(self.job.pk)}, self._without_catalog):
            file_checks.note_found(table, asked, found)

    def _tell_missing(self, version: int, paths: Sequence[str]) -> None:
        """The reach of the table that was to be read ends from now on where storage lacked a file of one of its versions."""
        table = self.job.parameters.get("table") or self.job.table_id
        with border("file_check_lost", {"job": str(self.job.pk)}, self._without_catalog):
            file_checks.note_missing(uuid.UUID(str(table)), version, paths)

    def _sync(self) -> None:
        """Syncs the catalog before the job becomes `succeeded`; if the sync fails, the job still records its true outcome."""
        self.report.stage("updating the catalog")
        with border("sync_lost", {"job": str(self.job.pk)}, self._without_catalog):
            log_access.sync(self.job.table_id)

    def _without_catalog(self, error: Exception) -> None:
        """Goes on without the sync: the commit is in the log either way."""
        if isinstance(error, OperationalError | InterfaceError):
            connection.close()

    def _end(self, target: State, **changes: Any) -> None:
        self._recorded(lambda: move(self.job, target, Cause.WORKER, self.who, token=self.claim.token, **changes))
        reached(FaultPoint.RESULT_WRITTEN)
        reached(FaultPoint.LOCK_RELEASED)

    def _recorded(self, write: Callable[[], object]) -> None:
        """Records the outcome. Retries with back-off while the database or the audit can't be written; never guesses."""
        wait, until = 0.1, time.monotonic() + timing().record_retry
        while True:
            try:
                write()
            except (OperationalError, InterfaceError, Problem) as error:
                if time.monotonic() > until:
                    raise
                log.warning("not_yet_recorded", job=str(self.job.pk), error=str(error).split("\n")[0])
                connection.close()
                time.sleep(wait)
                wait = min(wait * 2, 5)
            else:
                return
