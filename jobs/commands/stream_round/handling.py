"""A round of a stream: `jobs.streams` opens it with its definition as preview, so no worker measures anything before it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.commands.base import Found, Handling, Measured, Prepared
from jobs.commands.stream_round.log import streamed_files
from jobs.commands.stream_round.rules import StreamRound
from jobs.domain.fences import Fence
from jobs.models import Job, Stream
from jobs.targets.stored_files import FilesRead
from jobs.targets.subject import Subject

BY_STREAM = "Start the stream or run it once: a round isn’t requested on its own."


class StreamRoundHandling(Handling[StreamRound]):
    """The definition is in the digest, and the run checks target, source and checkpoint against it."""

    not_undone = (
        "A round is a part of its stream: a restore would leave the checkpoint beyond the rows that it removes."
    )
    fence = Fence.BATCH

    def fence_of(self, job: Job) -> Fence:
        """A reset commits nothing: it moves the checkpoint away, and whoever does so later moves the next one."""
        return Fence.NONE if job.parameters["reset"] else self.fence

    def asked(self, command: StreamRound) -> Mapping[str, Any]:
        return {"stream": command.stream, "number": command.number}

    def prepare(self, actor: Actor, command: StreamRound, seen: Subject | None) -> Prepared:
        """Raises Problem 400: rounds are opened by their stream."""
        raise Problem(400, "invalid", BY_STREAM)

    def files_read(self, job: Job) -> FilesRead | None:
        """Those of a source table: rows behind a file's end by the log would never reach the target."""
        if job.parameters["reset"]:
            return None
        stream = Stream.objects.filter(pk=job.parameters["stream"]).first()
        return None if stream is None else streamed_files(stream)

    def preview(self, job: Job, measured: Measured) -> Found:
        """What it was opened with: a round is previewed again after an edit only, which it has none of."""
        return Found(job.preview or {}, job.base_version)
