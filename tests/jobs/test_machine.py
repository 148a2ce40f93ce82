"""Jobs against a small pure model: whatever order people, workers, deaths and dispatchers come in, the two agree."""

import os
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.db.models.functions import Now
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from jobs.dispatcher import reconcile as rounds
from jobs.domain.results import Result
from jobs.domain.states import MAX_ATTEMPTS, Cause, State
from jobs.lifecycle import endings
from jobs.lifecycle.transitions import Fenced, move, release, renew
from jobs.models import Attempt, Job, TableLease
from jobs.worker.claims import claim_run
from tests import factories

TABLES = 2
PLACE = Path("/nowhere")
EXAMPLES = 300 if os.environ.get("LEVEE_SOAK_SIZE") == "full" else 20  # of up to 50 steps
steps = 0


@dataclass
class Run:
    """One claim: the process that holds it lives until it is killed, and may commit while it lives."""

    job: str
    token: int
    alive: bool = True
    over: bool = False


@dataclass
class Known:
    """What the model knows of a job."""

    table: int
    order: int
    state: State = State.QUEUED
    attempt: int = 0
    version: int | None = None
    lapsed: bool = False
    cancel_asked: bool = False
    run: Run | None = None


@dataclass
class Model:
    jobs: dict[str, Known] = field(default_factory=dict)
    commits: dict[str, int] = field(default_factory=dict)
    served: dict[int, int] = field(default_factory=dict)
    clock: int = 0

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    def leased(self) -> set[int]:
        held = {State.RUNNING, State.CANCELLING, State.RECONCILING}
        return {j.table for j in self.jobs.values() if j.state in held}

    def next(self) -> str | None:
        """First come first served, a table just served standing behind what was queued before that."""
        free = [pk for pk, j in self.jobs.items() if j.state is State.QUEUED and j.table not in self.leased()]
        return min(free, key=lambda pk: self._place(self.jobs[pk]), default=None)

    def _place(self, job: Known) -> int:
        return max(job.order, self.served.get(job.table, -1))


class Jobs(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.savepoint = transaction.atomic()
        self.savepoint.__enter__()
        self.model = Model()
        self.runs: list[Run] = []
        self.who = factories.appointed()
        self.tables = [factories.table_in(self.lake(), f"t{n}") for n in range(TABLES)]

    @staticmethod
    def lake():
        from tables.models import Root

        return Root.objects.first() or factories.root_at(PLACE)

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.savepoint.__exit__(None, None, None)

    # --- people ---------------------------------------------------------------------------------------------------

    @rule(table=st.integers(0, TABLES - 1))
    def request(self, table):
        count()
        job = factories.job_on(self.tables[table], self.who)
        self.model.jobs[str(job.pk)] = Known(table, self.model.tick())

    @precondition(lambda self: self.model.jobs)
    @rule(data=st.data())
    def cancel(self, data):
        count()
        pk = data.draw(st.sampled_from(list(self.model.jobs)))
        known = self.model.jobs[pk]
        target = State.CANCELLED if known.state is State.QUEUED else State.CANCELLING
        possible = known.state in {State.QUEUED, State.RUNNING, State.RECONCILING}
        asked: dict[str, Any] = {"cancel_requested_at": Now()} if target is State.CANCELLING else {}
        assert self.tried(lambda: move(Job(pk=pk), target, Cause.CANCELLER, "olga", **asked)) == possible
        if possible:
            known.state, known.cancel_asked = target, target is State.CANCELLING

    # --- workers --------------------------------------------------------------------------------------------------

    @rule()
    def claim(self):
        count()
        expected = self.model.next()
        claim = claim_run(factories.holder())
        assert (str(claim.job.pk) if claim else None) == expected
        if claim and expected:
            known = self.model.jobs[expected]
            known.state, known.attempt, known.lapsed = State.RUNNING, known.attempt + 1, False
            self.model.served[known.table] = self.model.tick()
            known.run = Run(expected, claim.token)
            self.runs.append(known.run)
            assert claim.number == known.attempt

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def commit(self, data):
        """A JVM that lives commits, whether its claim is still good or not; txnAppId lets a job commit once."""
        count()
        run = data.draw(st.sampled_from(self.runs))
        if run.alive and not run.over and run.job not in self.model.commits:
            self.model.commits[run.job] = len(self.model.commits)

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def finish(self, data):
        """A worker records what it knows; it is heard only while the claim is its own."""
        count()
        run = data.draw(st.sampled_from(self.runs))
        if not run.alive or run.over:
            return
        known = self.model.jobs[run.job]
        version = self.model.commits.get(run.job)
        good = known.run is run and known.state in {State.RUNNING, State.CANCELLING}
        changes: dict[str, Any]
        if version is not None:
            target, changes = State.SUCCEEDED, {"result": {}, "version": version}
        elif known.state is State.CANCELLING:
            target, changes = State.CANCELLED, {}
        else:
            target, changes = State.FAILED, {"error": {"code": "x", "message": "x"}}
        heard = self.tried(lambda: move(Job(pk=run.job), target, Cause.WORKER, "w", token=run.token, **changes))
        assert heard == good
        run.over = True
        if good:
            known.state, known.version, known.run = target, version, None

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def give_back(self, data):
        """A planned stop, of a run that hasn't committed."""
        count()
        run = data.draw(st.sampled_from(self.runs))
        if not run.alive or run.over or run.job in self.model.commits:
            return
        known = self.model.jobs[run.job]
        good = known.run is run and known.state is State.RUNNING
        assert self.tried(lambda: release(Job(pk=run.job), Cause.WORKER, "w", "stop", token=run.token)) == good
        run.over = True
        if good:
            known.state, known.attempt, known.run = State.QUEUED, known.attempt - 1, None

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def beat(self, data):
        count()
        run = data.draw(st.sampled_from(self.runs))
        if not run.alive or run.over:
            return
        known = self.model.jobs[run.job]
        good = known.run is run and known.state in {State.RUNNING, State.CANCELLING}
        assert (renew(Job(pk=run.job), run.token, 30) is not None) == good
        if good:
            known.lapsed = False

    # --- faults ---------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.runs)
    @rule(data=st.data(), kills=st.booleans())
    def lose(self, data, kills):
        """A worker dies or freezes, and its lease lapses."""
        count()
        run = data.draw(st.sampled_from(self.runs))
        job = run.job
        known = self.model.jobs[job]
        if kills:
            run.alive = False
        if known.run is run and known.state in {State.RUNNING, State.CANCELLING}:
            Job.objects.filter(pk=job).update(lease_until=Now() - timedelta(seconds=1))
            known.lapsed = True

    @rule(dispatchers=st.integers(1, 3))
    def reconcile(self, dispatchers):
        count()
        for _ in range(dispatchers):
            rounds.reconcile()
        for known in self.model.jobs.values():
            lost = known.state is State.RECONCILING or (
                known.lapsed and known.state in {State.RUNNING, State.CANCELLING}
            )
            if lost:
                self.decided(known)

    def decided(self, known: Known) -> None:
        assert known.run is not None
        known.run.alive = False  # made dead before the history was read
        version = self.model.commits.get(known.run.job)
        if version is not None:
            known.state, known.version = State.SUCCEEDED, version
        elif known.cancel_asked:
            known.state = State.CANCELLED
        elif known.attempt >= MAX_ATTEMPTS:
            known.state = State.FAILED
        else:
            known.state = State.QUEUED
        known.run, known.lapsed = None, False

    def tried(self, act) -> bool:
        try:
            with transaction.atomic():
                act()
        except Fenced:
            return False
        return True

    # --- what always holds ----------------------------------------------------------------------------------------

    @invariant()
    def rows_and_model_agree(self):
        rows = Job.objects.values_list("pk", "state", "attempt", "version")
        found = {str(pk): (State(state), attempt, version) for pk, state, attempt, version in rows}
        assert found == {pk: (j.state, j.attempt, j.version) for pk, j in self.model.jobs.items()}

    @invariant()
    def one_writer_per_table(self):
        held = [self.model.jobs[str(pk)].table for pk in TableLease.objects.values_list("job", flat=True)]
        assert sorted(held) == sorted(self.model.leased())

    @invariant()
    def an_end_says_what_the_table_says(self):
        for pk, known in self.model.jobs.items():
            if known.state is State.SUCCEEDED:
                assert known.version == self.model.commits[pk]
            elif known.state in {State.FAILED, State.CANCELLED}:
                assert pk not in self.model.commits

    @invariant()
    def ended_jobs_hold_no_attempt(self):
        ended = [pk for pk, j in self.model.jobs.items() if j.run is None]
        assert not Attempt.objects.filter(job_id__in=ended, ended_at=None).exists()


def count() -> None:
    global steps
    steps += 1


@pytest.mark.django_db
def test_jobs_do_what_the_model_says(tmp_path, monkeypatch, no_wakes):
    global PLACE
    PLACE = tmp_path / "lake"
    PLACE.mkdir()
    machines: list[Jobs] = []
    real = Jobs.__init__

    def remembered(self) -> None:
        real(self)
        machines[:] = [self]

    def committed(job):
        version = machines[0].model.commits.get(str(job.pk))
        return None if version is None else Result(version=version, operation="WRITE")

    def dead(attempt):
        """Makes the process dead, as the real one does: it commits nothing from here on."""
        for run in machines[0].runs:
            if run.job == str(attempt.job_id):
                run.alive = False
        return True

    monkeypatch.setattr(Jobs, "__init__", remembered)
    monkeypatch.setattr(endings, "committed", committed)
    monkeypatch.setattr(rounds, "proven_dead", dead)
    quick = settings(
        max_examples=EXAMPLES,
        stateful_step_count=50,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Jobs, settings=quick)
    assert steps >= EXAMPLES * 33, steps
