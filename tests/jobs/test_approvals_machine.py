"""Approvals against a small pure model: in whatever order people ask, decide, edit, come, go and change the rules, nothing runs that
the model would not let run, and nothing is decided that nobody may decide."""

import itertools
import os
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from console.accounts.models import Grant, Person
from console.audit.actor import Actor
from console.errors import Problem
from jobs import quorum, reviews
from jobs.claims import claim_run
from jobs.domain.commands import Delete
from jobs.domain.digest import sha256_of
from jobs.domain.states import Cause, State
from jobs.models import Decision, Edit, Job, PolicyRule, TableLease
from jobs.policies import policy_of
from jobs.services import digest_of
from jobs.transitions import Fenced, move
from tables.models import Table
from tests.jobs import making

pytestmark = pytest.mark.django_db(transaction=True)

STEPS = 20_000 if os.environ.get("LEVEE_SOAK_SIZE") == "full" else 2_000
NAMES = ["olga", "otto", "anna", "ben", "cora", "dora"]
numbers = itertools.count(1)
done = 0


@dataclass
class Who:
    """A person as the model knows them: active, since when they exist and hold the role, and by whom."""

    active: bool = True
    made_by: str | None = None
    made_at: int = 0
    approver: bool = False
    granted_by: str | None = None
    granted_at: int = 0


@dataclass
class Asked:
    """A request as the model knows it. `yes` is who approved the present digest."""

    by: str
    at: int
    required: int
    state: State = State.AWAITING_APPROVAL
    yes: set[str] = field(default_factory=set)


class Approvals(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.savepoint = transaction.atomic()
        self.savepoint.__enter__()
        self.clock = 0
        self.who: dict[str, Who] = {}
        self.jobs: dict[str, Asked] = {}
        self.rule_needs = 1
        PolicyRule.objects.filter(command="delete", enabled=True).update(required_approvals=1)
        self.root = making.root(Path("/nowhere"))
        for name in NAMES[:3]:
            self._make(name, None)
        self._give("anna", None)
        self._give("otto", None)

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.savepoint.__exit__(None, None, None)

    # --- people ---------------------------------------------------------------------------------------------------

    def _make(self, name: str, by: str | None) -> None:
        person = Person.objects.create(name=name, created_by=self._person(by), created_at=self._tick())
        Grant.objects.create(person=person, role="operator", scope="everything", granted_at=self._moment())
        self.who[name] = Who(made_by=by, made_at=self.clock)

    def _give(self, name: str, by: str | None) -> None:
        Grant.objects.create(
            person=self._person(name), role="approver", scope="everything",
            granted_by=self._person(by), granted_at=self._tick(),
        )  # fmt: skip
        known = self.who[name]
        known.approver, known.granted_by, known.granted_at = True, by, self.clock

    def _person(self, name: str | None) -> Any:
        return Person.objects.get(name=name) if name else None

    def _tick(self) -> Any:
        self.clock += 1
        return self._moment()

    def _moment(self) -> Any:
        """A time of the model's own: the database's stands still inside a transaction."""
        from datetime import UTC, datetime, timedelta

        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.clock)

    @precondition(lambda self: len(self.who) < len(NAMES))
    @rule(by=st.sampled_from(["olga", "otto", "anna", None]))
    def add_person(self, by):
        count()
        self._make(NAMES[len(self.who)], by)

    @precondition(lambda self: not all(known.approver for known in self.who.values()))
    @rule(data=st.data(), by=st.sampled_from(["olga", "otto", None]))
    def give_role(self, data, by):
        count()
        self._give(data.draw(st.sampled_from(sorted(n for n, known in self.who.items() if not known.approver))), by)

    @rule(
        data=st.data(),
        what=st.sampled_from(["role", "off", "on", "on", "rule"]),
        needs=st.sampled_from([0, 1, 1, 2, 2, 3]),
    )
    def upset(self, data, what, needs):
        """A role is taken away, a person kept out or let in again, a rule made stricter or milder."""
        count()
        name = data.draw(st.sampled_from(sorted(self.who)))
        if what == "role":
            Grant.objects.filter(person__name=name, role="approver").delete()
            self.who[name].approver = False
        elif what == "rule":
            PolicyRule.objects.filter(command="delete", enabled=True).update(required_approvals=needs)
            self.rule_needs = needs
        else:
            Person.objects.filter(name=name).update(is_active=what == "on")
            self.who[name].active = what == "on"

    # --- requests -------------------------------------------------------------------------------------------------

    @property
    def open(self) -> list[str]:
        waits = {State.AWAITING_APPROVAL, State.QUEUED}
        return [pk for pk, known in self.jobs.items() if known.state in waits]

    @precondition(lambda self: len(self.open) < 3)
    @rule(by=st.sampled_from(["olga", "olga", "otto"]))
    def ask(self, by):
        count()
        number = next(numbers)
        table = Table.objects.create(root=self.root, path=f"/nowhere/t{number}", name="t", format="delta")
        command = Delete(str(table.pk), f"id = {number}", table.path, {"node": "x"})
        # In the order in which they are asked for: a claim takes the lowest of those queued at one moment.
        made = making.job(table, self._person(by), command, State.PREVIEWING, id=uuid.UUID(int=number))
        Job.objects.filter(pk=made.pk).update(requested_at=self._tick())
        self.jobs[str(made.pk)] = Asked(by, self.clock, 0, State.PREVIEWING)
        self._previewed(str(made.pk))

    def _previewed(self, pk: str) -> None:
        """As a worker leaves it: measured, with the policy of now and a digest over all."""
        job = Job.objects.select_related("table").get(pk=pk)
        job.preview = {"class": "ordinary", "rows_matched": 1, "rows_total": 10}
        job.policy, known = policy_of(job, job.preview).as_json(), self.jobs[pk]
        known.required, known.yes = self.rule_needs, set()
        known.state = State.AWAITING_APPROVAL if self.rule_needs else State.QUEUED
        move(
            job, known.state, Cause.WORKER, "worker",
            preview=job.preview, policy=job.policy, digest=digest_of(job), queued_at=Now(),
        )  # fmt: skip

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def edit(self, data):
        """What `reviews.edit` does once its predicate has been read."""
        count()
        pk = data.draw(st.sampled_from(list(self.jobs)))
        job, known = Job.objects.get(pk=pk), self.jobs[pk]
        possible = known.state in {State.AWAITING_APPROVAL, State.QUEUED}
        parameters = job.parameters | {"predicate": f"id = {next(numbers)}"}
        try:
            with transaction.atomic():
                Edit.objects.create(job=job, person=job.requested_by, revision=job.revision, before={}, after={})
                job.decisions.filter(voided_at=None).update(voided_at=Now())
                move(
                    job, State.PREVIEWING, Cause.REQUESTER, known.by,
                    parameters=parameters, parameters_sha256=sha256_of(parameters), revision=job.revision + 1, digest=None,
                )  # fmt: skip
        except Fenced:
            assert not possible
            return
        assert possible
        self._previewed(pk)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def approve(self, data):
        count()
        self._decide(data.draw(st.sampled_from(self.open)), data.draw(st.sampled_from(sorted(self.who))), False, False)

    @precondition(lambda self: self.jobs)
    @rule(data=st.data(), stale=st.booleans(), no=st.booleans())
    def decide(self, data, stale, no):
        """On any job, ended ones as well."""
        count()
        pk, name = data.draw(st.sampled_from(list(self.jobs))), data.draw(st.sampled_from(sorted(self.who)))
        self._decide(pk, name, stale, no)

    def _decide(self, pk: str, name: str, stale: bool, no: bool) -> None:
        job, known, person = Job.objects.select_related("table").get(pk=pk), self.jobs[pk], self._person(name)
        decide = reviews.reject if no else reviews.approve
        states = reviews.REJECTABLE if no else reviews.DECIDABLE
        already = Decision.objects.filter(job=job, person=person, digest=job.digest).exists()
        may = self.who[name].active and self.who[name].approver and name != known.by
        possible = may and not stale and not already and known.state in states
        try:
            decide(Actor.acting_for(person), job, "0" * 64 if stale else job.digest or "")
        except Problem:
            assert not possible
            return
        assert possible
        if no:
            known.state = State.REJECTED
            return
        known.yes.add(name)
        if self._counted(known) >= max(known.required, self.rule_needs):
            known.state = State.QUEUED

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def force(self, data):
        """A decision and a state written past the services: the database alone must refuse them."""
        count()
        pk, name = data.draw(st.sampled_from(list(self.jobs))), data.draw(st.sampled_from(sorted(self.who)))
        job, known = Job.objects.get(pk=pk), self.jobs[pk]
        if name == known.by:
            with pytest.raises(IntegrityError), transaction.atomic():
                Decision.objects.create(job=job, person=self._person(name), decision="approve", digest=job.digest or "")
        if known.state is State.AWAITING_APPROVAL and self._counted(known) < known.required:
            with pytest.raises(IntegrityError), transaction.atomic():
                Job.objects.filter(pk=pk).update(state="queued")

    # --- workers --------------------------------------------------------------------------------------------------

    @rule()
    def claim(self):
        count()
        claim = claim_run(making.holder())
        for known in self.jobs.values():  # the claim looks at every one that it could take until one may run
            if known.state is State.QUEUED and known.required <= self._counted(known) < self.rule_needs:
                known.state = self._seen(known)
        if claim is None:
            return
        known = self.jobs[str(claim.job.pk)]
        assert self._counted(known) >= max(known.required, self.rule_needs)
        known.state = State.RUNNING
        TableLease.objects.filter(job=claim.job).delete()

    def _seen(self, known: Asked) -> State:
        pk = next(pk for pk, job in self.jobs.items() if job is known)
        return State(Job.objects.get(pk=pk).state)

    @rule()
    def send_back(self):
        count()
        quorum.send_back()
        for known in self.jobs.values():
            if known.state is State.QUEUED and self._counted(known) < known.required:
                known.state = State.AWAITING_APPROVAL

    def _counted(self, known: Asked) -> int:
        return sum(self._counts(known, name) for name in known.yes)

    def _counts(self, known: Asked, name: str) -> bool:
        who = self.who[name]
        straw = who.made_by == known.by and who.made_at > known.at
        raised = who.granted_by == known.by and who.granted_at > known.at
        return who.active and who.approver and name != known.by and not straw and not raised

    @invariant()
    def the_two_agree(self):
        for pk, known in self.jobs.items():
            assert Job.objects.values_list("state", flat=True).get(pk=pk) == known.state

    @invariant()
    def nobody_has_decided_on_their_own(self):
        from django.db.models import F

        assert not Decision.objects.filter(person=F("job__requested_by")).exists()


def count() -> None:
    global done
    done += 1


def test_nothing_runs_without_its_approvals(no_wakes):
    """As many steps as promised; each example is a fresh set of people and requests."""
    while done < STEPS:
        machine = settings(
            max_examples=20, stateful_step_count=100, deadline=None, database=None,
            phases=[Phase.generate], suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        run_state_machine_as_test(Approvals, settings=machine)
    assert done >= STEPS
