"""A vacuum as people leave it who asked for it and approved of it, with the worker's plan. Needs no JVM."""

from __future__ import annotations

from console.accounts.roles import Role
from console.audit.actor import Actor
from jobs.approvals import decisions
from jobs.commands.vacuum.log.preview import with_measure
from jobs.commands.vacuum.rules import Vacuum
from jobs.commands.vacuum.spark.measure import measured
from jobs.commands.vacuum.spark.plan import PlanOrder, planned
from jobs.domain.states import Cause, State
from jobs.lifecycle.cancelling import digest_of
from jobs.lifecycle.transitions import move
from jobs.models import Job
from jobs.policy.evaluate import policy_of
from jobs.requests import asking
from jobs.targets.subject import subject_of
from jobs.worker.spark_engine import Silent
from tables.models import Table
from tables.sync import log_access
from tests import factories
from tests.jobs.commands.vacuum.aged import now_ms


def approved_vacuum(actor: Actor, at: Table, hours: int) -> Job:
    """A queued vacuum that keeps so many hours, fewer than a week."""
    log_access.sync(at.pk)
    job = asking.request(actor, Vacuum(str(at.pk), hours), "a test asks").job
    command, subject = Vacuum(str(at.pk), hours, path=at.path), subject_of(at.pk)
    order = PlanOrder(at.path, hours, False, now_ms(), subject.version)
    job.preview = with_measure(subject, command, measured(planned(order, Silent()), order))
    job.policy, job.base_version = policy_of(job, job.preview).as_json(), subject.version
    job.digest = digest_of(job)
    values = {"preview": job.preview, "policy": job.policy, "base_version": job.base_version, "digest": job.digest}
    move(job, State.AWAITING_APPROVAL, Cause.WORKER, "interactive", **values)
    for name in ("anna", "arno"):
        decisions.approve(Actor.acting_for(factories.appointed(name, Role.APPROVER)), job, job.digest)
    return job
