"""The jobs behind a table's commits, for the catalog's pages (`tables.ports`)."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import BigIntegerField, Exists, F, Func, JSONField, OuterRef, Q
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, JSONObject
from django.urls import reverse

from console.accounts.models import Person
from jobs.commands.registry import several_kinds, title_of
from jobs.domain.delta import protocols
from jobs.domain.policy import ANY
from jobs.domain.states import OPEN
from jobs.models import Decision, Job, PolicyRule, Read, Stream, StreamRound, Worker
from jobs.policy import protection
from jobs.reads import queue
from jobs.streams.queries import matching, source_of
from jobs.streams.queries import visible_to as visible_streams
from jobs.targets.access import visible_to
from jobs.targets.engines import readers_of
from jobs.targets.running_streams import running_at
from jobs.web import parts
from jobs.web.jobs.queries import titled
from jobs.web.schedules.offer import NEW_SCHEDULE
from tables import ports
from tables.history.queries import STREAMING
from tables.models import Commit, Root, Table


class KnownJobs:
    """Answers `tables.ports.JobsPort`."""

    def of_commits(self, person: Person, commits: Sequence[Commit]) -> Mapping[int, ports.NamedJob]:
        """By version, in two queries, without jobs that the person may not see."""
        named = visible_to(person).filter(pk__in={commit.job for commit in commits})
        named = titled(named).select_related("requested_by", "table")
        visible = named.annotate(is_round=Exists(StreamRound.objects.filter(job=OuterRef("pk"))))
        jobs = {job.pk: job for job in visible.only(*_FIELDS)}
        approvals = _approvals(list(jobs))
        return {
            commit.version: _described(job, commit, approvals[job.pk], is_round=job.is_round)
            for commit in commits
            if commit.job is not None and (job := jobs.get(commit.job)) is not None
        }

    def asked_by(self, name: str) -> Q:
        """The condition on commits that a job of the person made: a mark alone doesn't count."""
        own = Job.objects.filter(pk=OuterRef("job"), table=OuterRef("table"), requested_by__name__iexact=name)
        made = Q(Exists(own.filter(version=OuterRef("version"))))
        # A stream's round commits each of its batches and has the version of one.
        rounds = own.filter(
            Q(base_version=None) | Q(base_version__lt=OuterRef("version")),
            stream_round__isnull=False,
            version__isnull=False,
        )
        # So does a run that makes several commits: it has the version of its last, and its result lists the others.
        several = own.annotate(start=_START).filter(
            Q(start=OuterRef("version")) | Q(result__details__commits__contains=_AS_LISTED)
        )
        # A run whose commit was found after its end has no result: then those before its last count.
        unlisted = own.filter(
            Q(base_version=None) | Q(base_version__lt=OuterRef("version")),
            command__in=several_kinds(),
            version__gt=OuterRef("version"),
            result__isnull=True,
        )
        named = made | Q(Exists(several)) | Q(Exists(unlisted))
        return Q(job__isnull=False) & (named | Q(operation=STREAMING) & Q(Exists(rounds)))

    def open_on(self, person: Person, table: Table) -> Sequence[ports.Request]:
        """One query; MOST_OPEN at most, newest first."""
        jobs = visible_to(person).filter(table=table, state__in=OPEN).select_related("table", "requested_by")
        return [_request(job) for job in titled(jobs)[:MOST_OPEN]]

    def acts_on(self, person: Person, table: Table, most: int) -> Sequence[ports.JobRun]:
        """One query."""
        jobs = visible_to(person).filter(table=table, folded=False).select_related("table", "requested_by", "undoes")
        newest = titled(jobs).defer("undoes__preview").order_by("-requested_at", "-id")[:most]
        return [_act(job) for job in reversed(newest)]

    def streams_of(self, person: Person, table: Table) -> Sequence[ports.StreamLine]:
        """One query; MOST_STREAMS at most."""
        streams = visible_streams(person).filter(Q(table=table) | Q(source_table=table)).order_by("name")
        return [_flow(stream, table) for stream in streams[:MOST_STREAMS]]

    def streams_at(self, person: Person, paths: Sequence[str]) -> Mapping[str, str]:
        """One query. A stream that the person may not see has no name here."""
        return running_at(person, paths)

    def protected(self, person: Person, paths: Sequence[str]) -> Mapping[str, Sequence[ports.ProtectionText]]:
        """One query."""
        return {
            place: [_protecting(each) for each in found] for place, found in protection.at(paths, person.pk).items()
        }

    def streams_named(self, person: Person, text: str) -> Sequence[ports.StreamLine]:
        """One query; MOST_STREAMS at most."""
        streams = matching(visible_streams(person), text).order_by("name")
        return [_flow(stream) for stream in streams[:MOST_STREAMS]]

    def offers(self) -> Sequence[ports.Offer]:
        """Each command's own, and a schedule of one."""
        return [*parts.offers(), NEW_SCHEDULE]

    def engines_of(self, protocol: Mapping[str, Any]) -> Sequence[ports.ReaderEngine]:
        """Those of `jobs.domain.delta.readers`."""
        lists = [protocol[name] for name in ("reader_features", "writer_features")]
        reader, writer = (None if names is None else tuple(names) for names in lists)
        asked = protocols.DeltaProtocol(protocol["min_reader_version"], protocol["min_writer_version"], reader, writer)
        return [ports.ReaderEngine(**answer) for answer in readers_of(asked)]

    def under_way(self, table: Table) -> bool:
        """Whether a job of the table has not ended."""
        return Job.objects.filter(table=table, state__in=OPEN).exists()

    def uses_of(self, root: Root) -> ports.Uses:
        """Three counts. A stream counts while it runs: by its target, its source table, or the directory that it reads."""
        source = Q(definition__source__path=root.uri) | Q(definition__source__path__startswith=f"{root.uri}/")
        streams = Stream.objects.filter(Q(table__root=root) | Q(source_table__root=root) | source)
        return ports.Uses(
            jobs=Job.objects.filter(table__root=root, state__in=OPEN).count(),
            streams=streams.filter(state__in=[Stream.State.RUNNING, Stream.State.STOPPING]).count(),
            rules=PolicyRule.objects.filter(root=root, enabled=True, removed_at=None).count(),
        )

    def ask_sync(self, person: Person, table: Table) -> uuid.UUID | None:
        """Never joins an earlier question, which may have read the log before this one."""
        if not queue.is_ready(Worker.Kind.LIGHT):
            return None
        return queue.ask(person, "sync", Worker.Kind.LIGHT, {"table": str(table.pk)}, table, joins=False).pk

    def await_sync(self, asked: uuid.UUID, patience: float, seconds: float) -> bool | None:
        """Withdraws the read if no worker begins it within `patience` seconds."""
        read = queue.until_answered(Read.objects.get(pk=asked), patience)
        if read.state == Read.State.WAITING and queue.withdraw(read):
            return None
        read = queue.until_answered(read, seconds - patience)
        if problem := queue.problem_of(read):
            raise problem
        return read.state == Read.State.ANSWERED


# What `domain.results.versions_in` reads, as conditions on a row: the first version, and the list with the commit's own in it.
_START = Cast(KT("result__details__start_version"), BigIntegerField())
_AS_LISTED = Func(JSONObject(version=OuterRef("version")), function="jsonb_build_array", output_field=JSONField())
MOST_OPEN = 5
MOST_STREAMS = 20
_FIELDS = (
    "id", "table_id", "table__name", "command", "parameters", "base_version", "version", "result", "requested_by__name",
    "requested_at", "reason",
)  # fmt: skip


def _protecting(found: protection.Protection) -> ports.ProtectionText:
    kind = None if found.command == ANY else found.command
    return ports.ProtectionText(found.text, reverse("policies:detail", args=[found.rule]), kind)


def _flow(stream: Stream, table: Table | None = None) -> ports.StreamLine:
    return ports.StreamLine(
        url=reverse("jobs:stream", args=[stream.pk]),
        name=stream.name,
        source=source_of(stream),
        target=stream.table.name,
        state=stream.state,
        query_id=stream.query_id or "",
        writes=table is None or stream.table_id == table.pk,
    )


def _act(job: Job) -> ports.JobRun:
    return ports.JobRun(
        id=job.pk,
        url=reverse("jobs:detail", args=[job.pk]),
        title=title_of(job),
        reason=job.reason,
        asked_by=job.requested_by.name,
        asked_at=job.requested_at,
        began_at=job.claimed_at,
        ended_at=job.finished_at,
        state=job.state,
        version=job.version,
        undoes=job.undoes_id,
        undoes_version=job.undoes.version if job.undoes else None,
    )


def _request(job: Job) -> ports.Request:
    url = reverse("jobs:detail", args=[job.pk])
    return ports.Request(url, title_of(job), job.reason, job.state, job.requested_by.name, job.requested_at)


def _approvals(jobs: list[uuid.UUID]) -> dict[uuid.UUID, list[ports.Approval]]:
    """The approvals that are valid for each job's current digest, oldest first."""
    decisions = Decision.objects.filter(
        job__in=jobs, decision=Decision.Kind.APPROVE, digest=F("job__digest"), voided_at=None
    )
    approvals: dict[uuid.UUID, list[ports.Approval]] = defaultdict(list)
    for job, by, at, comment in decisions.values_list("job_id", "person__name", "decided_at", "comment"):
        approvals[job].append(ports.Approval(by, at, comment))
    return approvals


def _described(job: Job, commit: Commit, approvals: Sequence[ports.Approval], *, is_round: bool) -> ports.NamedJob:
    return ports.NamedJob(
        id=job.pk,
        url=reverse("jobs:detail", args=[job.pk]),
        title=title_of(job),
        asked_by=job.requested_by.name,
        asked_at=job.requested_at,
        reason=job.reason,
        approvals=tuple(approvals),
        made_it=_made(job, commit, is_round),
    )


def _made(job: Job, commit: Commit, is_round: bool) -> bool:
    """As `asked_by` has it. A commit that copies a round's mark has the verdict “forged”, which pages heed."""
    if job.table_id != commit.table_id:
        return False
    of_round = is_round and job.version is not None and commit.operation == STREAMING
    return commit.version in job.versions or (
        of_round and commit.version > (-1 if job.base_version is None else job.base_version)
    )
