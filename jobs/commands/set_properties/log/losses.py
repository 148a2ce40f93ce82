"""History that shorter times give up, and what they ask of streams from then on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from django.utils import timezone

from console.base.text.counted import counted
from jobs.commands.set_properties.rules import Loss
from jobs.domain.consequences import Consequence, in_words, said
from jobs.targets.readers import read_by, still_to_read, written_by
from jobs.targets.subject import Subject
from tables.deltalog.rules.retention import deleted_file_retention, log_retention, transaction_retention
from tables.models import Commit
from tables.record.transactions import remembered

CLEANUP = "delta.enableExpiredLogCleanup"


def losses_of(subject: Subject, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Loss]:
    """History that shorter retentions give up."""
    now = timezone.now()
    if _cleans(after):
        old, new = log_retention(before) if _cleans(before) else None, log_retention(after)
        if (last := _newly_lost(subject, now, old, new)) is not None:
            text = (
                f"Versions up to {last:,} leave the log with its next cleanup, after a checkpoint: commits are kept {in_words(new)}. Nobody"
                " can bring them back."
            )
            yield Loss(text, still_to_read(subject, last))
    old_files, new_files = deleted_file_retention(before), deleted_file_retention(after)
    if (last := _newly_lost(subject, now, old_files, new_files)) is not None:
        text = (
            f"Versions up to {last:,} can’t be read or restored any more once this is set, and the next VACUUM may remove their files:"
            f" removed files are kept {in_words(new_files)}."
        )
        yield Loss(text, still_to_read(subject, last))
    yield from _forgotten(subject, before, after)


def _forgotten(subject: Subject, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Loss]:
    """Transactions of applications that Delta forgets: by them it knows what was written already."""
    span = transaction_retention(after)
    lost = {each.app_id for each in remembered(subject.snapshot, transaction_retention(before))}
    lost -= {each.app_id for each in remembered(subject.snapshot, span)}
    if span is None or not lost:
        return
    count = counted(len(lost), "application")
    text = f"Delta forgets the last batch of {count}, written more than {in_words(span)} ago: repeated, its rows are in the table twice."
    names = written_by(subject, lost)
    yield Loss(text, [f"Streams of these that write into this table: {', '.join(names)}."] if names else ())


def shorter_times(subject: Subject, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Consequence]:
    """What shorter times ask of streams from now on, whatever they give up today."""
    old = [deleted_file_retention(before), log_retention(before) if _cleans(before) else timedelta.max]
    new = [deleted_file_retention(after), log_retention(after) if _cleans(after) else timedelta.max]
    cut = [now for was, now in zip(old, new, strict=True) if now < was]
    if cut and (names := read_by(subject)):
        text = f"Streams that read this table, and then mustn’t stop for longer than {in_words(min(cut))}: {', '.join(names)}."
        yield said("streams", text)
    span, earlier = transaction_retention(after), transaction_retention(before)
    if span is not None and (earlier is None or span < earlier):
        names = written_by(subject)
        streams = f" Streams that write into it: {', '.join(names)}." if names else ""
        text = f"An application that repeats its last batch after more than {in_words(span)} writes its rows twice.{streams}"
        yield said("transactions", text)


def _cleans(properties: Mapping[str, str]) -> bool:
    return properties.get(CLEANUP, "true").lower() == "true"


def _newly_lost(subject: Subject, now: datetime, old: timedelta | None, new: timedelta) -> int | None:
    """The last version that the shorter time gives up and the longer one (None: for ever) kept; None if there is none."""
    if old is not None and new >= old:
        return None
    table = subject.table
    commits = Commit.objects.filter(
        table_id=table.pk, incarnation=table.incarnation, version__lt=subject.version, committed_at__lt=now - new
    )
    if old is not None:
        commits = commits.filter(committed_at__gte=now - old)
    return commits.order_by("-version").values_list("version", flat=True).first()
