"""What a person answers before a job is ended: what follows from a cancellation, a rejection, a withdrawal."""

from __future__ import annotations

from django.urls import reverse

from console.accounts.models import Person
from console.base.questions import Question, QuestionText
from jobs.commands.registry import title_of
from jobs.domain.states import WAITS, State
from jobs.models import Job

AGAIN = ("Way back", "none: the job stays ended. The same can be requested again, and then needs its approvals again")
_UNTOUCHED = ("Table", "nothing was committed, and nothing will be")


def of_cancel(job: Job) -> Question:
    """Before a job is cancelled."""
    waits = job.state in WAITS or job.state == State.PREVIEWING
    running = (
        "Table",
        "the run stops as soon as it can; a commit that it has made by then stays, and the job’s page says so",
    )
    return _question(job, "Cancel", "Cancel the job", [_UNTOUCHED if waits else running, AGAIN])


def of_rejection(job: Job, person: Person) -> Question:
    """Before a person rejects a request: one rejection ends it, and it is signed."""
    signed = ("Signed", f"as {person.name}, in the request’s timeline and in the audit")
    request = ("Request", f"ended for all, by this one rejection; {job.requested_by.name} sees it with your comment")
    text = QuestionText("comment", "Comment (optional)", f"Shown to {job.requested_by.name}.")
    return _question(job, "Reject", f"Reject as {person.name}", [signed, request, _UNTOUCHED, AGAIN], text)


def of_withdrawal(job: Job) -> Question:
    """Before the requester withdraws a request."""
    decisions = ("Approvals", "those that it has end with it")
    return _question(job, "Withdraw", "Withdraw the request", [_UNTOUCHED, decisions, AGAIN])


def _question(
    job: Job, act: str, button: str, follows: list[tuple[str, str]], text: QuestionText | None = None
) -> Question:
    title = title_of(job)
    return Question(
        act=f"{act}: {title}",
        button=button,
        follows=[*follows[:-1], ("Reason", job.reason), follows[-1]],
        back=reverse("jobs:detail", args=[job.pk]),
        back_text=title,
        text=text,
    )
