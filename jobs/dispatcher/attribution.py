"""Attributes each commit to an approved job, to a job that needed no approval, or to an unknown writer."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Now
from django.utils import timezone

from console.audit.actions import Action, EventOutcome, ObjectKind
from console.audit.actor import Actor
from console.audit.integrity import restores
from console.audit.services import record
from console.base.logs import log
from console.base.timeouts import timing
from jobs.commands.registry import commits_several, contradicted
from jobs.dispatcher.reconcile import WHO
from jobs.dispatcher.turns import RoundTurns
from jobs.domain.comparison import in_words
from jobs.domain.results import Result
from jobs.domain.states import OPEN
from jobs.lifecycle.transitions import note
from jobs.models import Decision, Job, StreamBatch, StreamRound
from jobs.schedules.queries import approvers_of_run
from tables.history.destructive_effects import words_of
from tables.history.queries import STREAMING
from tables.models import Commit, Explanation

AT_ONCE = 500
Verdict = Explanation.Verdict


@dataclass(frozen=True, slots=True)
class Judgement:
    verdict: Explanation.Verdict
    why: str


class Explaining:
    """Judges the commits that wait for a verdict; audits each one without an approved job, once.

    Commits whose job may still claim them come after all others, and each group takes turns: however many name an open job, they
    hold up none that Levee can judge now.
    """

    def __init__(self) -> None:
        self._ready, self._open = RoundTurns[Explanation](), RoundTurns[Explanation]()

    def __call__(self) -> int:
        """One round. Returns how many commits it judged."""
        waiting = Explanation.objects.filter(verdict=Verdict.WAITING).select_related("table")
        if not waiting.exists():
            return 0  # usually: without a look at jobs
        waiting = waiting.annotate(may_come=_job_may_come())
        looked = judged = 0
        for turns, may_come in ((self._ready, False), (self._open, True)):
            for explanation in turns.take(waiting.filter(may_come=may_come), AT_ONCE - looked):
                looked += 1
                judged += _judge(explanation)
        return judged


explain_commits = Explaining()


def _job_may_come() -> Exists:
    """Whether the job that the commit names is open, or ended so recently that Levee may still find its commit."""
    late = Now() - timedelta(seconds=timing().late_commit)
    lately = Q(finished_at=None) | Q(finished_at__gt=late)
    jobs = Job.objects.filter(lately, pk=OuterRef("job"), table=OuterRef("table"), version=None)
    named = Commit.objects.filter(
        table=OuterRef("table"), incarnation=OuterRef("incarnation"), version=OuterRef("version")
    )
    return Exists(named.filter(Exists(jobs)))


def _judge(explanation: Explanation) -> bool:
    commit = Commit.objects.filter(
        table_id=explanation.table_id, incarnation=explanation.incarnation, version=explanation.version
    ).first()
    if commit is None:
        log.error("explained_commit_missing", table=str(explanation.table_id), version=explanation.version)
        return False
    judged = judgement(commit)
    if judged.verdict is Verdict.WAITING:
        return False
    with transaction.atomic():
        rows = Explanation.objects.filter(pk=explanation.pk, verdict=Verdict.WAITING)
        if not rows.update(verdict=judged.verdict, why=judged.why, judged_at=Now()):
            return False  # another dispatcher was first
        if judged.verdict in Explanation.UNEXPLAINED:
            _say(explanation, commit, judged)
        if judged.verdict is Verdict.CONTRADICTS and commit.job is not None:
            note(Job.objects.get(pk=commit.job), WHO, "note", judged.why, f"Committed as version {commit.version:,}.")
    return True


def judgement(commit: Commit) -> Judgement:
    """The verdict on a commit; WAITING while its job is open."""
    if commit.job is None:
        return Judgement(Verdict.NOBODY, "It names no job.")
    job = Job.objects.filter(pk=commit.job).first()
    if job is None:
        lost = restores.note_on(commit.committed_at)
        return Judgement(Verdict.FORGED, f"It names the job {commit.job}, which Levee doesn't have.{lost}")
    if job.table_id != commit.table_id:
        return Judgement(Verdict.FORGED, f"It names the job {job.pk}, which is about another table.")
    # Any writer can copy a job's id out of the log; the digest ties the commit to the request that people approved.
    if digest_in(commit.user_metadata) != job.digest:
        return Judgement(Verdict.FORGED, f"It names the job {job.pk} with a digest that isn't that job's.")
    if commit.version in job.versions or _is_of_a_batch(job, commit) or _is_of_several(job, commit):
        return _as_predicted(job, commit, _approved(job))
    if _is_booked_later(job):
        return Judgement(Verdict.WAITING, "")
    return _approved(job) if _is_of_a_round(job, commit) else _of_no_version(job, commit)


def _is_of_a_batch(job: Job, commit: Commit) -> bool:
    """Whether the commit is a micro-batch's: a stream's round commits each of its own."""
    return StreamBatch.objects.filter(job=job, version=commit.version).exists()


def _is_of_a_round(job: Job, commit: Commit) -> bool:
    """Whether the commit is a micro-batch's that no row tells of (any more): of a round that was found late, or long ago.

    As the check of the audit has it (`jobs.evidence.consistency`), and no later than Levee looks for a job's commits: a mark that
    another writer copied out of the log comes after that.
    """
    if commit.operation != STREAMING or job.version is None or job.finished_at is None or commit.committed_at is None:
        return False
    end = job.finished_at + timedelta(seconds=timing().late_commit)
    first = -1 if job.base_version is None else job.base_version
    return commit.version > first and commit.committed_at < end and StreamRound.objects.filter(job=job).exists()


def _is_of_several(job: Job, commit: Commit) -> bool:
    """Whether the commit is one of several of a run whose commit was found after its end, so that no result lists them.

    By the same limits as a round's.
    """
    if job.version is None or job.finished_at is None or commit.committed_at is None or job.result is not None:
        return False
    if not commits_several(job):
        return False
    end = job.finished_at + timedelta(seconds=timing().late_commit)
    return commit.version > (-1 if job.base_version is None else job.base_version) and commit.committed_at < end


def _is_booked_later(job: Job) -> bool:
    return StreamRound.objects.filter(job=job, booked_at=None).exists()


def _of_no_version(job: Job, commit: Commit) -> Judgement:
    """The verdict for a job without this version: WAITING while it may still get it; FORGED if it has another one, or can't get any."""
    late = timezone.now() - timedelta(seconds=timing().late_commit)
    may_come = job.version is None and job.claimed_at is not None
    if may_come and (job.state in OPEN or job.finished_at is None or job.finished_at > late):
        return Judgement(Verdict.WAITING, "")
    which = "has committed nothing" if job.version is None else f"has committed version {job.version:,}"
    lost = restores.note_on(commit.committed_at)
    return Judgement(Verdict.FORGED, f"It names the job {job.pk}, which {which}.{lost}")


def _as_predicted(job: Job, commit: Commit, judged: Judgement) -> Judgement:
    """The verdict of a commit whose job explains it, unless Delta recorded other numbers for the job than its preview said."""
    if commit.version != job.version or not job.result or judged.verdict not in (Verdict.APPROVED, Verdict.NEEDED_NONE):
        return judged
    wrong = contradicted(job, Result.from_json(job.result))
    if not wrong:
        return judged
    return Judgement(Verdict.CONTRADICTS, f"Its job’s preview said otherwise. {' '.join(map(in_words, wrong))}")


def _approved(job: Job) -> Judgement:
    required = int(job.policy.get("required_approvals") or 0)
    if standing := (job.preview or {}).get("approved_by_job"):
        return Judgement(Verdict.APPROVED, f"Its stream’s definition was approved with the job {standing}.")
    if not required:
        return Judgement(Verdict.NEEDED_NONE, "Its job needed no approval.")
    valid = Decision.objects.filter(job=job, digest=job.digest, decision=Decision.Kind.APPROVE, voided_at=None)
    people = set(valid.exclude(person=F("job__requested_by")).values_list("person", flat=True))
    count = len(people | approvers_of_run(job))
    if count < required:
        return Judgement(Verdict.UNAPPROVED, f"The job {job.pk} needed {required} approvals and has {count}.")
    return Judgement(Verdict.APPROVED, f"Its job was approved by {count}.")


def digest_in(user_metadata: str) -> str | None:
    """The digest in a commit's mark; None if it has none."""
    try:
        digest = json.loads(user_metadata).get("digest")
    except (ValueError, AttributeError):
        return None
    return digest if isinstance(digest, str) else None


def _say(explanation: Explanation, commit: Commit, judged: Judgement) -> None:
    who = (
        " ".join(filter(None, (commit.engine_info, commit.user_name and f"as {commit.user_name}")))
        or "an unnamed engine"
    )
    done = words_of(explanation.effects) or "names a job of Levee's"
    record(
        Actor.system(WHO), Action.COMMIT_UNEXPLAINED, ObjectKind.TABLE, explanation.table_id, explanation.table.name,
        outcome=EventOutcome.FAILED if judged.verdict in (Verdict.FORGED, Verdict.CONTRADICTS) else EventOutcome.ALLOWED,
        reason=f"Version {commit.version:,} {done}, by {who}. {judged.why}",
        after={"verdict": judged.verdict.value, "operation": commit.operation, "effects": explanation.effects},
        job=_job_of(commit), table_version=commit.version,
    )  # fmt: skip


def _job_of(commit: Commit) -> uuid.UUID | None:
    """The named job if it is about this table: another table's job has nothing to do with this commit."""
    if commit.job is None:
        return None
    return Job.objects.filter(pk=commit.job, table=commit.table_id).values_list("pk", flat=True).first()
