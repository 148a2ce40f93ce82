"""What a restored instance can't know, and what it does about that: one transaction, on record before anything runs again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from console.accounts import notices
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.text.counted import counted
from console.management.backup.archive import Manifest
from console.management.backup.snapshot import STREAMS
from jobs.domain.states import ENDED, IN_REVIEW, Cause, State
from jobs.lifecycle.transitions import move
from jobs.models import Attempt, Job, Stream, StreamRound, Worker
from jobs.schedules import stopping
from jobs.streams import file_listing, rounds
from jobs.streams.definition import with_checkpoint
from jobs.streams.faults import CHECKPOINT_OLDER
from tables.models import Table
from tables.sync import log_access

WHO = "command line"
LISTED = 50  # tables in the event
RESTORED = "Levee was restored from a backup."
ELSEWHERE = "before the restore"  # no host's name: what ran there is proven neither alive nor dead
ENDED_JOB = (
    "Levee was restored from a backup. This job may have run after the backup was made, so Levee doesn’t run it:"
    " look at the table’s history, then request it again."
)
OLDER_CHECKPOINT = (
    "The table has batches of this query that its checkpoint, restored from a backup, doesn’t know: Delta would take new rows"
    " for those batches and skip them. Reset the checkpoint to go on."
)

UNCOMPARED_CHECKPOINT = (
    "The table couldn’t be read when the checkpoint was restored from a backup, so Levee can’t tell whether the table has batches of this"
    " query that the checkpoint doesn’t know: Delta would take new rows for those batches and skip them. Reset the checkpoint to go on."
)


@dataclass(frozen=True)
class Moved:
    """A table whose log isn't where the backup has it. `head` None: there is no log now, or it can't be read."""

    name: str
    known: int
    head: int | None


@dataclass
class Aftermath:
    """What was found and done. `findings`: what differs in the restored audit, in words, where the restore was told to accept that."""

    tables: list[Moved] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    jobs: int = 0
    stopped: int = 0
    paused: int = 0  # schedules
    older: list[str] = field(default_factory=list)  # streams that need a reset
    uncompared: list[str] = field(default_factory=list)  # those of them whose table can't be read


def settle(manifest: Manifest, home: Path, findings: list[str] | None = None) -> Aftermath:
    """Records the restore, ends what was open, and stops the streams; all or nothing.

    `findings` are what differs in the restored audit. The manifest's end of the chain must have been verified.
    """
    actor, found = Actor.system(WHO), Aftermath(tables=list(_moved()), findings=findings or [])
    with transaction.atomic():
        event = record(
            actor, Action.INSTANCE_RESTORE, ObjectKind.INSTANCE, str(home), str(home),
            reason=f"Restored from a backup of {manifest.made_at}.", after=_facts(manifest, found),
        )  # fmt: skip
        notices.tell(actor, event, _sentence(manifest, found.tables))
        Session.objects.all().delete()
        _forget_workers()
        _move_checkpoints(Path(manifest.home), home)
        _stop_streams(actor, found)
        found.paused = stopping.pause_all(actor, RESTORED)
        _end_jobs(actor, found)
        for table in Table.objects.filter(name__in=[each.name for each in found.tables]):
            log_access.sync_soon(table.pk)
    return found


def _moved() -> Iterator[Moved]:
    tables = Table.objects.filter(format=Table.Format.DELTA, hidden_at=None, version__isnull=False)
    for name, path, version in tables.order_by("name").values_list("name", "path", "version").iterator():
        head = log_access.head_version(path, version)
        if version is not None and head != version:
            yield Moved(name, version, head)


def _forget_workers() -> None:
    """What the backup says of processes is never a reason to end one: beside a trial restore, the living instance may own them.

    Another boot would count as the proof of their death, so that a job whose commit is still to come could end as if it had none.
    """
    Worker.objects.all().delete()
    Attempt.objects.filter(Q(ended_at=None) | ~Q(job__state__in=ENDED)).update(host=ELSEWHERE)


def _facts(manifest: Manifest, found: Aftermath) -> dict[str, Any]:
    listed = [{"table": each.name, "known": each.known, "head": each.head} for each in found.tables[:LISTED]]
    return {
        "made_at": manifest.made_at,
        "sequence": manifest.sequence,
        "levee": manifest.levee,
        "home": manifest.home,
        "tables_differ": len(found.tables),
        "tables": listed,
        "audit_differs": found.findings[:LISTED],
    }


def _sentence(manifest: Manifest, tables: list[Moved]) -> str:
    newer = sum(each.head is not None and each.head > each.known for each in tables)
    return (
        f"restored this instance from a backup of {manifest.made_at[:16].replace('T', ' ')} UTC; what people and jobs did after it"
        f" isn’t in Levee’s record. {counted(newer, 'table has', 'tables have')} newer commits. Open jobs were cancelled,"
        " streams stopped, sessions ended."
        " People, roles, tokens, passwords and rules are those of the backup: what was revoked since, revoke again."
    )


def _move_checkpoints(before: Path, home: Path) -> None:
    """A definition names its checkpoint; in another home, Levee's own place is another one. An approval of it stands."""
    if before == home:
        return
    for stream in Stream.objects.filter(checkpoint__startswith=f"{before}/{STREAMS}/"):
        place = str(home / STREAMS / Path(stream.checkpoint).name)
        definition, digest = with_checkpoint(stream.definition, place)
        approved = digest if stream.approved_sha256 == stream.definition_sha256 else stream.approved_sha256
        Stream.objects.filter(pk=stream.pk).update(
            checkpoint=place, definition=definition, definition_sha256=digest, approved_sha256=approved
        )


def _stop_streams(actor: Actor, found: Aftermath) -> None:
    for stream in Stream.objects.filter(removed_at=None).select_related("table").order_by("name"):
        if stream.state in {Stream.State.RUNNING, Stream.State.STOPPING}:
            rounds.stop_now(actor, stream, RESTORED)
            found.stopped += 1
        if (reason := _why_reset(stream)) is not None:
            error = {"code": CHECKPOINT_OLDER, "message": reason}
            record(
                actor, Action.STREAM_FAIL, ObjectKind.STREAM, stream.pk, stream.name,
                reason=reason, table=stream.table_id,
            )  # fmt: skip
            Stream.objects.filter(pk=stream.pk).update(
                state=Stream.State.FAILED, state_at=Now(), state_text=reason, error=error, next_round_at=None
            )
            found.older.append(stream.name)
            if reason == UNCOMPARED_CHECKPOINT:
                found.uncompared.append(stream.name)


def _why_reset(stream: Stream) -> str | None:
    """Why the checkpoint can't be used: the table has a batch of the query whose plan it lacks, or can't be read to tell.

    Run again, such a batch could hold other rows.
    """
    query = file_listing.query_id(stream.checkpoint) or stream.query_id
    if query is None:
        return None
    table = log_access.sync(stream.table_id)
    if table.sync_error or table.missing_since is not None:
        return UNCOMPARED_CHECKPOINT
    transactions = table.log_state.get("transactions") or []
    committed = max((each["version"] for each in transactions if each["app_id"] == query), default=-1)
    return OLDER_CHECKPOINT if committed > _last_planned(Path(stream.checkpoint.removeprefix("file:"))) else None


def _last_planned(checkpoint: Path) -> int:
    """The newest batch in the checkpoint's log of offsets; -1 without one."""
    try:
        return max((int(file.name) for file in (checkpoint / "offsets").iterdir() if file.name.isdigit()), default=-1)
    except OSError:
        return -1


def _end_jobs(actor: Actor, found: Aftermath) -> None:
    """Ends what waited, and has the dispatcher end what ran: it looks for their commits, and runs none of them again.

    A waiting job counts as claimed: it may have run after the backup, so the dispatcher looks for its commit as well.
    """
    for job in Job.objects.exclude(state__in=ENDED).order_by("requested_at"):
        state = State(job.state)
        record(
            actor, Action.JOB_CANCEL, ObjectKind.JOB, job.pk, str(job), reason=ENDED_JOB, job=job.pk, digest=job.digest
        )
        if state in IN_REVIEW:
            move(job, State.CANCELLED, Cause.CANCELLER, WHO, text=ENDED_JOB, claimed_at=Now())
            StreamRound.objects.filter(job=job, booked_at=None).update(booked_at=Now())
        elif state is not State.CANCELLING:
            move(job, State.CANCELLING, Cause.CANCELLER, WHO, text=ENDED_JOB, cancel_requested_at=Now())
        found.jobs += 1
