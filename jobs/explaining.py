"""Who stands behind a commit: by an approved job, by a job that needed no approval, or by nobody whom Levee knows."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from console.audit.actions import Action, ObjectKind, Outcome
from console.audit.actor import Actor
from console.audit.services import record
from jobs.domain.states import OPEN
from jobs.models import Decision, Job
from jobs.reconcile import WHO
from jobs.timing import timing
from tables.effects import words_of
from tables.models import Commit, Explanation

AT_ONCE = 500
Verdict = Explanation.Verdict


@dataclass(frozen=True, slots=True)
class Judgement:
    verdict: Explanation.Verdict
    why: str


def explain_commits() -> int:
    """Judges the commits that wait for it; each that nobody explains becomes an event, once. How many were judged."""
    waiting = Explanation.objects.filter(verdict=Verdict.WAITING).select_related("table").order_by("found_at", "pk")
    return sum(_judge(explanation) for explanation in waiting[:AT_ONCE])


def _judge(explanation: Explanation) -> bool:
    commit = Commit.objects.get(
        table_id=explanation.table_id, incarnation=explanation.incarnation, version=explanation.version
    )
    judged = judgement(commit)
    if judged.verdict is Verdict.WAITING:
        return False
    with transaction.atomic():
        rows = Explanation.objects.filter(pk=explanation.pk, verdict=Verdict.WAITING)
        if not rows.update(verdict=judged.verdict, why=judged.why, judged_at=Now()):
            return False  # another dispatcher was quicker
        if judged.verdict in Explanation.UNEXPLAINED:
            _say(explanation, commit, judged)
    return True


def judgement(commit: Commit) -> Judgement:
    """The verdict on a commit; WAITING while its job has not ended."""
    if commit.job is None:
        return Judgement(Verdict.NOBODY, "It names no job.")
    job = Job.objects.filter(pk=commit.job).first()
    if job is None:
        return Judgement(Verdict.FORGED, f"It names the job {commit.job}, which Levee doesn't have.")
    if job.table_id != commit.table_id:
        return Judgement(Verdict.FORGED, f"It names the job {job.pk}, which is about another table.")
    if digest_in(commit.user_metadata) != job.digest:
        return Judgement(Verdict.FORGED, f"It names the job {job.pk} with a digest that isn't that job's.")
    if job.version != commit.version:
        return _of_no_version(job)
    return _approved(job)


def _of_no_version(job: Job) -> Judgement:
    """The job has no version yet, and may still get this one; or it has another one, or can have none."""
    late = timezone.now() - timedelta(seconds=timing().late_commit)
    may_come = job.version is None and job.claimed_at is not None
    if may_come and (job.state in OPEN or job.finished_at is None or job.finished_at > late):
        return Judgement(Verdict.WAITING, "")
    which = "has committed nothing" if job.version is None else f"has committed version {job.version:,}"
    return Judgement(Verdict.FORGED, f"It names the job {job.pk}, which {which}.")


def _approved(job: Job) -> Judgement:
    required = int(job.policy.get("required_approvals") or 0)
    if not required:
        return Judgement(Verdict.NEEDED_NONE, "Its job needed no approval.")
    valid = Decision.objects.filter(job=job, digest=job.digest, decision=Decision.Kind.APPROVE, voided_at=None)
    count = valid.exclude(person=F("job__requested_by")).values("person").distinct().count()
    if count < required:
        return Judgement(Verdict.UNAPPROVED, f"The job {job.pk} needed {required} approvals and has {count}.")
    return Judgement(Verdict.APPROVED, f"Its job was approved by {count}.")


def digest_in(user_metadata: str) -> str | None:
    """The digest that a commit's mark carries; None when it carries none."""
    try:
        found = json.loads(user_metadata).get("digest")
    except (ValueError, AttributeError):
        return None
    return found if isinstance(found, str) else None


def _say(explanation: Explanation, commit: Commit, judged: Judgement) -> None:
    who = (
        " ".join(filter(None, (commit.engine_info, commit.user_name and f"as {commit.user_name}")))
        or "an unnamed engine"
    )
    done = words_of(explanation.effects) or "names a job of Levee's"
    record(
        Actor.system(WHO), Action.COMMIT_UNEXPLAINED, ObjectKind.TABLE, explanation.table_id, explanation.table.name,
        outcome=Outcome.FAILED if judged.verdict is Verdict.FORGED else Outcome.ALLOWED,
        reason=f"Version {commit.version:,} {done}, by {who}. {judged.why}",
        after={"verdict": judged.verdict.value, "operation": commit.operation, "effects": explanation.effects},
        job=_job_of(commit), table_version=commit.version,
    )  # fmt: skip


def _job_of(commit: Commit) -> uuid.UUID | None:
    """The job that is named, if there is one about this table: another's story is none of this commit."""
    if commit.job is None:
        return None
    return Job.objects.filter(pk=commit.job, table=commit.table_id).values_list("pk", flat=True).first()
