"""Which commits of the catalog removed files that a vacuum deletes: a table's removals between two times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from django.db.models import Count, Max, QuerySet, Sum

from jobs.commands.vacuum.rules import HOUR_MS
from jobs.targets.subject import Subject
from tables.history.reachability import TableReach
from tables.models import Commit

MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Window:
    """The times of a vacuum, ms since 1970. What was removed before `cut` goes, if it was written before `asked`.

    One that lists the directory forgets removals from before `oldest`: a retention longer than the table's own keeps none of those files
    for having been removed late, but only for having been written late (Delta 4.4.0, VacuumCommand.gc). A lite one looks at what was
    removed before `asked`, however long ago.
    """

    now: int
    asked: int
    oldest: int
    vacuumed: int  # what earlier vacuums deleted before
    lite: bool = False

    @property
    def cut(self) -> int:
        return self._cut(self.asked)

    @property
    def is_certain(self) -> bool:
        """Whether all that was removed before the cut goes: else also when it was written decides, which the log doesn't tell."""
        return self.cut == self.asked

    def cut_after(self, hours: int) -> int:
        """The cut of a vacuum that keeps so many hours."""
        return self._cut(self.now - hours * HOUR_MS)

    def keeps_by(self, hours: int) -> bool:
        """Whether so many hours keep what was removed within them."""
        return self.cut_after(hours) == self.now - hours * HOUR_MS

    def certain(self) -> Window:
        """With the files alone that go whenever they were written."""
        return replace(self, oldest=min(self.asked, self.oldest))

    def _cut(self, asked: int) -> int:
        return asked if self.lite else max(asked, self.oldest)


def window_of(reach: TableReach, retention: timedelta, own: timedelta, *, lite: bool) -> Window:
    """The times of a vacuum that keeps `retention` of a table whose own is `own`, at the time of `reach`."""
    now = int(reach.now.timestamp() * 1000)
    until = reach.vacuumed_until
    vacuumed = 0 if until is None else int(until.timestamp() * 1000)
    return Window(now, now - retention // MILLISECOND, now - own // MILLISECOND, vacuumed, lite)


def removals(subject: Subject, window: Window, before: int) -> QuerySet[Commit]:
    """The commits up to the subject's version that removed files before this time which no vacuum has deleted yet."""
    table = subject.table
    return Commit.objects.filter(
        table=table, incarnation=table.incarnation, files_removed__gt=0, version__lte=subject.version,
        committed_at__gte=_at(window.vacuumed), committed_at__lt=_at(before),
    )  # fmt: skip


def newest_removal(subject: Subject, window: Window, until: int | None = None) -> int | None:
    """The newest of them before the cut, up to the version `until` if it is given."""
    found = removals(subject, window, window.cut)
    found = found if until is None else found.filter(version__lte=until)
    newest: int | None = found.aggregate(newest=Max("version"))["newest"]
    return newest


def removed_before(subject: Subject, window: Window, before: int) -> tuple[int, int | None]:
    """Their files and bytes; None if one of them doesn't tell its bytes."""
    wanted = {
        "files": Sum("files_removed"),
        "bytes": Sum("bytes_removed"),
        "known": Count("bytes_removed"),
        "all": Count("pk"),
    }
    total = removals(subject, window, before).aggregate(**wanted)
    return int(total["files"] or 0), int(total["bytes"] or 0) if total["known"] == total["all"] else None


def _at(ms: int) -> datetime:
    return datetime.fromtimestamp(max(0, ms) / 1000, UTC)
