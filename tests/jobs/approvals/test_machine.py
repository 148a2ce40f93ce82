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
from django.db.models import F
from django.db.models.functions import Now
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from console.accounts import services
from console.accounts.models import Grant, Person
from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.approvals import decisions
from jobs.commands.delete.rules import Delete
from jobs.dispatcher import lost_quorum
from jobs.domain.digest import sha256_of
from jobs.domain.states import WAITS, Cause, State
from jobs.lifecycle.cancelling import digest_of
from jobs.lifecycle.transitions import Fenced, move
from jobs.models import Decision, Edit, Job, PolicyRule, TableLease
from jobs.policy import changes
from jobs.policy import services as policy_services
from jobs.policy.evaluate import policy_of
from jobs.worker.claims import claim_run
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)

STEPS = 20_000 if os.environ.get("LEVEE_SOAK_SIZE") == "full" else 1_000
NAMES = ["olga", "otto", "anna", "ben", "cora", "dora"]
numbers = itertools.count(1)
done = 0


NOBODY = "nobody has"


@dataclass
class Who:
    """A person as the model knows them: active, who has ever added them or made them an admin, and who made them an approver."""

    above: set[str] = field(default_factory=set)
    active: bool = True
    approver: bool = False
    granted_by: str | None = None
    ruler: str | None = NOBODY  # who made them an admin of everything; None: the machine


@dataclass
class Asked:
    """A request as the model knows it. `yes` is who approved the present digest."""

    by: str
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
        self.rule = PolicyRule.objects.get(command="delete", enabled=True)
        self.wish: tuple[str, int] | None = None  # who asked to lower the rule to what
        self.lowered: list[tuple[set[str], int]] = []  # by whom, from what, lately
        self.root = factories.root_at(Path("/nowhere"))
        for name in NAMES[:3]:
            self._make(name, None)
        self._give("anna", None)
        self._give("otto", None)

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.savepoint.__exit__(None, None, None)

    # --- people ---------------------------------------------------------------------------------------------------

    def _make(self, name: str, by: str | None) -> None:
        person = factories.PersonFactory(name=name, created_by=self._person(by))
        factories.GrantFactory(person=person, role="operator")
        self.who[name] = Who({by} if by else set())

    def _give(self, name: str, by: str | None) -> None:
        giver = self._person(by)
        factories.GrantFactory(person=self._person(name), role="approver", granted_by=giver)
        self.who[name].approver, self.who[name].granted_by = True, by

    def _person(self, name: str | None) -> Any:
        return Person.objects.get(name=name) if name else None

    def _tick(self) -> Any:
        """A time of the model's own: the database's stands still inside a transaction."""
        from datetime import UTC, datetime, timedelta

        self.clock += 1
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.clock)

    @precondition(lambda self: len(self.who) < len(NAMES))
    @rule(data=st.data())
    def add_person(self, data):
        count()
        self._make(NAMES[len(self.who)], self._somebody(data))

    def _somebody(self, data) -> str | None:
        """Anybody, or a command on the machine."""
        name: str | None = data.draw(st.sampled_from([None, *sorted(self.who)]))
        return name

    @rule(data=st.data(), stays=st.booleans())
    def make_admin(self, data, stays):
        """That somebody was an admin once, and by whom, is never forgotten."""
        count()
        name, by = data.draw(st.sampled_from(sorted(self.who))), self._somebody(data)
        place = factories.RootFactory()
        given = factories.GrantFactory(person=self._person(name), role="admin", root=place, granted_by=self._person(by))
        self.who[name].above |= {by} if by else set()
        if not stays:
            Grant.objects.filter(pk=given.pk).delete()

    @rule(data=st.data())
    def vouch(self, data):
        """A command on the machine: whoever appointed this person until now counts no more."""
        count()
        name = data.draw(st.sampled_from(sorted(self.who)))
        services.vouch(Actor.system("machine"), self._person(name))
        known = self.who[name]
        known.above, known.granted_by = set(), None
        known.ruler = NOBODY if known.ruler is NOBODY else None

    @precondition(lambda self: not all(known.approver for known in self.who.values()))
    @rule(data=st.data())
    def give_role(self, data):
        count()
        name = data.draw(st.sampled_from(sorted(n for n, known in self.who.items() if not known.approver)))
        self._give(name, self._somebody(data))

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
            policy_services.change(Actor.system("machine"), self.rule, required_approvals=needs)
            self._ruled(needs)
        else:
            Person.objects.filter(name=name).update(is_active=what == "on")
            self.who[name].active = what == "on"

    def _ruled(self, needs: int) -> None:
        if needs != self.rule_needs:
            self.rule_needs, self.wish = needs, None

    @rule(data=st.data(), needs=st.sampled_from([0, 1, 1, 2, 2, 3]))
    def change_rule(self, data, needs):
        """An admin changes the rule: stricter at once; milder when somebody else has confirmed it."""
        count()
        name = data.draw(st.sampled_from(sorted(self.who)))
        try:
            policy_services.change(Actor.acting_for(self._person(name)), self.rule, required_approvals=needs)
        except Problem:
            assert not self._rules(name)
            return
        assert self._rules(name)
        if needs < self.rule_needs:
            self.wish = (name, needs)
        self._ruled(max(needs, self.rule_needs))

    @rule(data=st.data())
    def confirm_rule(self, data):
        count()
        name = data.draw(st.sampled_from([*sorted(self.who), "the machine"]))
        change = changes.waiting_of(self.rule)
        assert (change is None) == (self.wish is None)
        if change is None or self.wish is None:
            return
        asker, needs = self.wish
        actor = Actor.system("machine") if name == "the machine" else Actor.acting_for(self._person(name))
        try:
            policy_services.confirm(actor, self.rule, change.pk)
        except Problem:
            assert not self._may_confirm(name, asker)
            return
        assert self._may_confirm(name, asker)
        self.lowered.append(({asker, name} & set(self.who), self.rule_needs))
        self._ruled(needs)

    @rule(needs=st.sampled_from([0, 1, 2]))
    def force_rule(self, needs):
        """A rule that is lowered past the services."""
        count()
        if needs < self.rule_needs:
            with pytest.raises(IntegrityError), transaction.atomic():
                PolicyRule.objects.filter(pk=self.rule.pk).update(required_approvals=needs, version=F("version") + 1)

    def _rules(self, name: str) -> bool:
        return self.who[name].active and self.who[name].ruler is not NOBODY

    def _may_confirm(self, name: str, asker: str) -> bool:
        if name == "the machine":
            return True
        if not self._rules(name) or not self._independent(name, asker):
            return False
        giver = self.who[name].ruler
        return giver is None or self._independent(giver, asker)

    @precondition(lambda self: any(known.ruler is NOBODY for known in self.who.values()))
    @rule(data=st.data())
    def make_ruler(self, data):
        """An admin of everything."""
        count()
        name = data.draw(st.sampled_from(sorted(n for n, known in self.who.items() if known.ruler is NOBODY)))
        by = self._somebody(data)
        person = self._person(name)
        factories.GrantFactory(person=person, role="admin", granted_by=self._person(by))
        self.who[name].ruler = by
        self.who[name].above |= {by} if by else set()

    def _needs(self, by: str) -> int:
        """What the rule asks of somebody's request: one they have lowered lately holds for them as it was."""
        lines = [needs for people, needs in self.lowered if any(not self._independent(by, p) for p in people)]
        return max([self.rule_needs, *lines])

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
        table = factories.TableFactory(root=self.root, path=f"/nowhere/t{number}", name="t")
        command = Delete(str(table.pk), f"id = {number}", table.path, {"node": "x"})
        # In the order in which they are asked for: a claim takes the lowest of those queued at one moment.
        made = factories.job_on(table, self._person(by), command, State.PREVIEWING, id=uuid.UUID(int=number))
        Job.objects.filter(pk=made.pk).update(requested_at=self._tick())
        self.jobs[str(made.pk)] = Asked(by, 0, State.PREVIEWING)
        self._previewed(str(made.pk))

    def _previewed(self, pk: str) -> None:
        """As a worker leaves it: measured, with the policy of now and a digest over all."""
        job = Job.objects.select_related("table").get(pk=pk)
        job.preview = {"class": "ordinary", "rows_matched": 1, "rows_total": 10}
        job.policy, known = policy_of(job, job.preview).as_json(), self.jobs[pk]
        known.required, known.yes = self._needs(known.by), set()
        known.state = State.AWAITING_APPROVAL if known.required else State.QUEUED
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
        decide = decisions.reject if no else decisions.approve
        states = WAITS if no else decisions.DECIDABLE
        counts = no or self._counts(known, name)
        already = Decision.objects.filter(job=job, person=person, digest=job.digest).exists()
        may = self.who[name].active and self.who[name].approver and name != known.by
        possible = may and counts and not stale and not already and known.state in states
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
        if self._counted(known) >= max(known.required, self._needs(known.by)):
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
        claim = claim_run(factories.holder())
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
        lost_quorum.send_back()
        for known in self.jobs.values():
            if known.state is State.QUEUED and self._counted(known) < known.required:
                known.state = State.AWAITING_APPROVAL

    def _counted(self, known: Asked) -> int:
        return sum(self._counts(known, name) for name in known.yes)

    def _counts(self, known: Asked, name: str) -> bool:
        who = self.who[name]
        if not who.active or not who.approver or not self._independent(name, known.by):
            return False
        return who.granted_by is None or self._independent(who.granted_by, known.by)

    def _independent(self, one: str, other: str) -> bool:
        return not self._line(one) & self._line(other)

    def _line(self, name: str) -> set[str]:
        """Somebody and everybody above them."""
        line, found = set(), [name]
        while found:
            line.add(found.pop())
            found = [above for member in line for above in self.who[member].above if above not in line]
        return line

    @invariant()
    def the_two_agree(self):
        rows = Job.objects.filter(pk__in=self.jobs).values_list("pk", "state")
        assert {str(pk): state for pk, state in rows} == {pk: known.state for pk, known in self.jobs.items()}

    @invariant()
    def nobody_has_decided_on_their_own(self):
        assert not Decision.objects.filter(person=F("job__requested_by")).exists()


def count() -> None:
    global done
    done += 1


def test_nothing_runs_without_its_approvals(no_wakes):
    """As many steps as promised; each example is a fresh set of people and requests."""
    while done < STEPS:
        machine = settings(
            max_examples=11, stateful_step_count=100, deadline=None, database=None,
            phases=[Phase.generate], suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        run_state_machine_as_test(Approvals, settings=machine)
    assert done >= STEPS
