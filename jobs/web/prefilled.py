"""What fills in a page that asks for a change: a link, or an ended job whose request is made again. It stays to be edited."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, QueryDict
from django.urls import reverse

from console.accounts.permissions import person_of
from console.accounts.sign_in.drafts import entered
from jobs.models import Job
from jobs.requests.asking import REASON_LENGTH
from jobs.targets.access import job_for

AGAIN, OPPOSITE = "again", "opposite"
Values = Mapping[str, str | Sequence[str]]


def reason_in(request: HttpRequest) -> str:
    """The reason that the address brings along, cut to what the field may hold."""
    return request.GET.get("reason", "")[:REASON_LENGTH]


def again_at(name: str, job: Job) -> str:
    """The address of a command's page that takes what the job asked for, and why, from the job: either can be too long for an address."""
    return f"{reverse(name, args=[_page_of(job)])}?{urlencode({AGAIN: job.pk})}"


def opposite_at(name: str, job: Job) -> str:
    """The address of a command's page that takes from the job what would take it back."""
    return f"{reverse(name, args=[_page_of(job)])}?{urlencode({OPPOSITE: job.pk})}"


def job_again(request: HttpRequest, kind: str, table_id: uuid.UUID | None, under: str = AGAIN) -> Job | None:
    """The job that the address names, by `again` or `opposite`.

    Raises Http404 for one that you may not see, or of another command or table's page.
    """
    named = request.GET.get(under) if request.method == "GET" else None
    if named is None:
        return None
    try:
        job = job_for(person_of(request), uuid.UUID(named))
    except ValueError:
        raise Http404 from None
    if job.command != kind or (table_id is not None and _page_of(job) != str(table_id)):
        raise Http404
    return job


def filled_in(request: HttpRequest, kind: str, table_id: uuid.UUID, values: Callable[[Job], Values]) -> QueryDict:
    """What was entered; before that what `values` gives of the job to make again, with its reason, or what a link brings along."""
    given = entered(request)
    if given is not None:
        return given
    job = job_again(request, kind, table_id)
    return request.GET if job is None else as_entered(job, values(job))


def as_entered(job: Job, values: Values) -> QueryDict:
    """The values as a form would send them, with the job's reason and whether it was rehearsed."""
    made = QueryDict(mutable=True)
    for name, value in {**values, "reason": job.reason, **({"rehearse": "on"} if job.rehearse else {})}.items():
        made.setlist(name, [value] if isinstance(value, str) else list(value))
    return made


def _page_of(job: Job) -> str:
    """The table whose page asks for such a job; a clone is asked for on its source's."""
    return str(job.parameters.get("table") or job.table_id)
