"""How far the first story has come: what has happened to its table, read from jobs."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from console.accounts.models import Person
from jobs.domain.states import ENDED, State
from jobs.models import Job
from tables.models import Root, Table
from tables.rules.sample_lake import STORY_DIRECTORY

IN_VAIN = sorted(state.value for state in ENDED - {State.SUCCEEDED})


class Progress:
    """What has happened to the story's table: its jobs by what they do, the newest that counts of each."""

    def __init__(self, root: Root) -> None:
        self.path = f"{root.uri}/{STORY_DIRECTORY}"
        self.table = Table.objects.filter(path=self.path, hidden_at=None).first()
        self.table_id = self.table.pk if self.table else None
        self.converting = self._newest("convert")
        self.is_delta = self.table is not None and self.table.version is not None
        self.asked = self._newest("delete")
        self.undoing = self._newest("restore", self.asked)

    def _jobs(self, command: str) -> QuerySet[Job]:
        """Those that are open or have changed the table, newest first; a preview may be large, and the story shows none."""
        jobs = Job.objects.filter(table=self.table_id, command=command).defer("preview").select_related("requested_by")
        return jobs.exclude(state__in=IN_VAIN).exclude(state=State.SUCCEEDED, version=None)

    def _newest(self, command: str, after: Job | None = None) -> Job | None:
        if self.table is None:
            return None
        jobs = self._jobs(command)
        return (jobs.filter(requested_at__gt=after.requested_at) if after else jobs).first()

    @property
    def author(self) -> Person | None:
        """Who asked for the change that is decided on next, or was last."""
        if self.asked is None:
            return None
        return (self.undoing or self.asked).requested_by

    @property
    def approved(self) -> bool:
        return self.asked is not None and self.asked.state not in (State.PREVIEWING, State.AWAITING_APPROVAL)

    @property
    def removed(self) -> bool:
        return self.asked is not None and self.asked.state == State.SUCCEEDED

    @property
    def undone(self) -> bool:
        """Whether a restore has ever followed a delete: a later delete doesn't begin the story again."""
        if self.asked is None:
            return False
        deleted, restored = (self._jobs(command).filter(state=State.SUCCEEDED) for command in ("delete", "restore"))
        return restored.filter(Exists(deleted.filter(requested_at__lt=OuterRef("requested_at")))).exists()
