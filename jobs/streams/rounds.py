"""Opens a stream's rounds when they are due, each as a job."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack, suppress
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from console.accounts.models import Person
from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem
from console.base.logs import log
from jobs.commands.base import Prepared
from jobs.commands.stream_round.rules import COMPLETE, Definition, consequences_of
from jobs.commands.stream_round.rules import StreamRound as Round
from jobs.domain.policy import TableClass
from jobs.domain.states import CLAIMED, ENDED, IN_REVIEW, Cause, State
from jobs.lifecycle.transitions import Fenced, move
from jobs.models import Edit, Job, Stream, StreamRound
from jobs.policy import evaluate, protection
from jobs.requests import asking
from jobs.requests.asking import IdempotencyKey
from jobs.streams import lag
from jobs.streams.looks import NoAnswer, NoPlace
from jobs.streams.queries import may_run
from tables.models import Root
from tables.rules.locations import LocationError, innermost

WHO = "dispatcher"
MOST = 200  # streams or rounds in one look
LOOK_AGAIN = timedelta(seconds=30)  # at the earliest after so long a source that doesn't answer is looked at again
SILENT = "The source isn’t responding. Levee keeps retrying; no round starts until it does."
FAULT = (
    "Levee met an error when it measured the source. It keeps retrying; no round starts until it can."
    " The dispatcher’s log has the error."
)
UNSEEN = "Levee waits for too many other sources that don’t answer, so it didn’t measure this one and opened a round."
UNASKED = timedelta(minutes=10)  # at the latest after so long a round looks, whatever the count of what waits says


def open_round(stream: Stream) -> StreamRound | None:
    """The stream's round that has not been booked; a stream has one at most."""
    return StreamRound.objects.select_related("job", "job__table").filter(stream=stream, booked_at=None).first()


def is_running(stream: Stream) -> bool:
    """Whether a worker has a round of the stream."""
    opened = open_round(stream)
    return opened is not None and opened.job.state in CLAIMED


def open_next(
    actor: Actor, stream: Stream, *, reset: bool = False, reason: str = "", key: IdempotencyKey | None = None
) -> Job:
    """Opens the stream's next round for `stream.run_by`: queued, or waiting for approvals. In the caller's transaction.

    The caller holds the stream's row. Raises Problem 403 `forbidden` if that person may no longer run it.
    """
    require_runner(stream)
    number, preview = stream.rounds + 1, preview_of(stream, reset=reset)
    command = Round(
        stream=str(stream.pk),
        name=stream.name,
        definition=stream.definition,
        query_id=stream.query_id,
        table_id=preview["table_id"],
        reset=reset,
        replaces=preview["replaces"],
        number=number,
    )
    prepared = Prepared(command, stream.table.path, lambda: stream.table, preview)
    text = reason or f"Round {number:,} of {stream.name}: {stream.reason}"
    job = asking.enter_measured(actor, stream.run_by, prepared, text[: asking.REASON_LENGTH], key)  # type: ignore[arg-type]
    StreamRound.objects.create(stream=stream, job=job, number=number, revision=stream.revision, reset=reset)
    _keep_others_from_approving(stream, job)
    earlier = StreamRound.objects.filter(stream=stream, number__lt=number, number__gte=number - 2).values("job")
    Job.objects.filter(pk__in=earlier, folded=False, state__in=ENDED).update(folded=True)
    Stream.objects.filter(pk=stream.pk).update(rounds=number, next_round_at=None)
    return job


def _keep_others_from_approving(stream: Stream, job: Job) -> None:
    """Who has written a part of the definition is as one who has edited the request: they don't approve it."""
    if job.state != State.AWAITING_APPROVAL:
        return
    change = {"definition_sha256": stream.definition_sha256}
    others = [person for person in stream.edited_by if person != str(stream.run_by_id)]
    Edit.objects.bulk_create(Edit(job=job, person_id=who, revision=1, before={}, after=change) for who in others)


def require_runner(stream: Stream) -> None:
    """Checks that the person for whom the stream runs may still run it. Raises Problem 403 `forbidden`; 409 `protected` if a rule
    protects its table from streams."""
    person = stream.run_by
    reads_source = person is not None and _may_read(person, stream)
    if person is None or not person.is_active or not may_run(person, stream) or not reads_source:
        name = person.name if person else "nobody"
        text = f"The stream runs for {name}, who may no longer run it. An operator of its table must start it."
        raise Problem(403, "forbidden", text)
    protecting = protection.over(Round.kind, stream.table.path, person.pk)
    if protecting is not None:
        raise protection.problem_of(protecting, "The stream doesn’t run.")


def _may_read(person: Person, stream: Stream) -> bool:
    """Whether the person may still read the rows of the source."""
    reads, table = person.scopes(Permission.TABLE_ROWS), stream.source_table
    if table is not None:
        return reads.covers_table(table.root_id, table.pk)
    try:
        root = innermost(str(stream.definition["source"]["path"]), Root.objects.all())
    except LocationError:
        return False
    return root is not None and reads.covers_root(root.pk)


def preview_of(stream: Stream, *, reset: bool) -> dict[str, Any]:
    """What the round would do, as people approve it: the definition, and what follows from it."""
    definition = Definition.from_json(stream.definition)
    replaces = replaces_rows(stream, definition)
    needs = reset or (replaces and not is_approved(stream))
    return {
        "class": (TableClass.WHOLE_TABLE if needs else TableClass.ORDINARY).value,
        "stream": str(stream.pk),
        "table_id": _target_id(stream, replaces),
        "definition": stream.definition,
        "definition_sha256": stream.definition_sha256,
        "replaces": replaces,
        "reset": reset,
        "approved_by_job": str(stream.approved_by_job_id) if replaces and not needs else None,
        "consequences": consequences_of(definition, reset=reset, replaces=replaces),
    }


def _target_id(stream: Stream, replaces: bool) -> str | None:
    """Delta's id of the table that the round must find: the one that it wrote into, that it made, or whose rows it is to replace."""
    if stream.target_table_id:
        return stream.target_table_id
    known = stream.table.table_id
    return known if known and (replaces or known == stream.made_table_id) else None


def replaces_rows(stream: Stream, definition: Definition) -> bool:
    """Whether each batch removes every row of a table that the stream didn't create (rule 6 of approvals)."""
    destructive = definition.output_mode == COMPLETE or definition.overwrites_schema
    return destructive and stream.table.is_delta and stream.table.table_id != stream.made_table_id


def is_approved(stream: Stream) -> bool:
    """Whether the definition's approval stands: given to this very definition, and by as many people as the rules ask for now."""
    job = stream.approved_by_job
    if job is None or stream.approved_sha256 != stream.definition_sha256:
        return False
    preview = job.preview or {}
    if preview.get("table_id") != stream.table.table_id:  # another table lies there now: nobody approved its end
        return False
    return evaluate.approvals(job) >= evaluate.policy_of(job, preview).required_approvals


def due() -> list[Any]:
    """The running streams whose next round is due, longest due first; MOST at most."""
    streams = Stream.objects.filter(state=Stream.State.RUNNING, next_round_at__lte=Now())
    return list(streams.order_by("next_round_at").values_list("pk", flat=True)[:MOST])


def look_ahead(ids: Iterable[Any]) -> None:
    """Begins to measure the streams whose rounds are due, all at once, as `open_if_due` then does one by one."""
    waits = StreamRound.objects.filter(stream=OuterRef("pk"), booked_at=None)
    due_now = Stream.objects.filter(~Exists(waits), pk__in=list(ids), interval_seconds__isnull=False)
    lag.begin(due_now.select_related("source_table"))


def open_if_due(pk: Any) -> bool:
    """Opens the stream's round if it is due and something waits in its source. Returns whether.

    While the source doesn't answer no round is opened: the worker of all streams would hang on it. Nor is one while measuring fails:
    the error is raised, after the stream's row says so and when it is looked at again.
    """
    seen = _due(pk).first()
    if seen is None or open_round(seen) is not None:
        return False
    with ExitStack() as on_error:
        on_error.callback(_look_later, seen, FAULT)
        works = seen.interval_seconds is None or _has_work(seen)  # before the lock: storage may be slow
        on_error.pop_all()
    if works is None:
        return False
    with transaction.atomic():
        stream = _due(pk).select_for_update(of=("self",), skip_locked=True).first()
        if stream is None or open_round(stream) is not None:
            return False
        if not works:
            Stream.objects.filter(pk=pk).update(next_round_at=timezone.now() + interval_of(stream))
            return False
        try:
            open_next(Actor.system(WHO), stream)
        except Problem as problem:
            if problem.code not in ("forbidden", protection.CODE):
                raise
            stop_now(Actor.system(WHO), stream, problem.detail)
            return False
    return True


def _due(pk: Any) -> QuerySet[Stream]:
    """The stream if its next round is due."""
    related = ("table", "source_table", "run_by", "approved_by_job", "approved_by_job__table")
    return Stream.objects.select_related(*related).filter(pk=pk, state=Stream.State.RUNNING, next_round_at__lte=Now())


def _has_work(stream: Stream) -> bool | None:
    """Whether files or versions wait, or it can't be told, or nothing has looked for long; None while the source doesn't answer."""
    text = ""
    try:
        measured = lag.measured(stream)
    except NoPlace:
        measured, text = None, UNSEEN
    except NoAnswer:
        if stream.lag_text != SILENT:
            log.warning("source_silent", stream=str(stream.pk), name=stream.name)
        _look_later(stream, SILENT)
        return None
    _tell_lag(stream, measured, text)
    last = stream.round_set.order_by("-id").values_list("opened_at", flat=True).first()
    return (
        measured is None
        or not measured.exact
        or measured.waiting > 0
        or last is None
        or timezone.now() - last > UNASKED
    )


def measure_again(pk: Any) -> None:
    """The lag after a round, as it is now; what the row says stays while the source doesn't answer."""
    stream = Stream.objects.select_related("source_table").get(pk=pk)
    with suppress(NoAnswer, NoPlace):
        _tell_lag(stream, lag.measured(stream))


def _tell_lag(stream: Stream, measured: lag.Lag | None, text: str = "") -> None:
    Stream.objects.filter(pk=stream.pk).update(
        lag=measured.as_json() if measured else None, lag_at=Now(), lag_text=text
    )
    lag.note(stream, measured)


def _look_later(stream: Stream, text: str) -> None:
    """Says why the source wasn't measured, and has it looked at again after an interval."""
    _tell_lag(stream, None, text)
    again = timezone.now() + max(interval_of(stream), LOOK_AGAIN)
    _due(stream.pk).update(next_round_at=again)


def interval_of(stream: Stream) -> timedelta:
    """The time from one round's start to the next; zero for a stream without an interval."""
    return timedelta(seconds=stream.interval_seconds or 0)


def stop_now(actor: Actor, stream: Stream, text: str) -> None:
    """Stops the stream, whatever its round does: Levee itself has found that it can't go on. In the caller's transaction."""
    record(
        actor, Action.STREAM_STOP, ObjectKind.STREAM, stream.pk, stream.name, reason=text, table=stream.table_id
    )  # fmt: skip
    Stream.objects.filter(pk=stream.pk).update(
        state=Stream.State.STOPPED, state_at=Now(), state_text=text, next_round_at=None
    )


def end_waiting(actor: Actor, stream: Stream, text: str) -> None:
    """Cancels the stream's round if no worker has it yet."""
    opened = open_round(stream)
    if opened is None or opened.job.state not in IN_REVIEW:
        return
    try:
        move(opened.job, State.CANCELLED, Cause.CANCELLER, actor.name, text=text)
    except Fenced:
        return  # a worker has just claimed it
    if not opened.job.attempt:
        StreamRound.objects.filter(pk=opened.pk).update(booked_at=Now())  # it did nothing that could be booked
    if stream.state == Stream.State.RUNNING:
        Stream.objects.filter(pk=stream.pk).update(next_round_at=Now())
