"""A round on shared pages: what its stream does, and the micro-batches that it ran. It is requested on its stream's page."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from jobs.models import Job, Read
from jobs.reads.stream_source import KIND, check_source
from jobs.web.parts import Answer, Parts


def _ask_again(job: Job) -> str:
    """The stream's page, which starts it."""
    return reverse("jobs:stream", args=[job.parameters["stream"]])


def _shown(read: Read) -> Any:
    return read.answer


PARTS = Parts(
    what="jobs/stream_round/what.html",
    result="jobs/stream_round/result.html",
    measured="jobs/stream_round/measured.html",
    ask_again=_ask_again,
    answers={KIND: Answer(_shown, check=check_source)},
)
