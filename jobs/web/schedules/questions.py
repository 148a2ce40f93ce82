"""What a person answers before a schedule is removed or rejected."""

from __future__ import annotations

from django.urls import reverse

from console.accounts.models import Person
from console.base.questions import Question, QuestionText
from jobs.models import Schedule
from jobs.web.schedules.lines import title_of

REASON = QuestionText("reason", "Reason", "Recorded in the audit log.", is_required=True)


def of_removal(schedule: Schedule) -> Question:
    """Before it is taken from the lists."""
    follows = [
        ("Runs", f"no more start of: {title_of(schedule)}"),
        ("Waiting run", "ended, if one waits; a run that has begun goes on"),
        ("Jobs and audit", "stay"),
        ("Way back", "none: you can’t undo this. A paused schedule starts nothing; pause it if you may need it again"),
    ]
    return _question(schedule, f"Remove the schedule {schedule.name}", "Remove the schedule", follows, REASON)


def of_rejection(schedule: Schedule, person: Person) -> Question:
    """Before a person rejects its definition: one rejection stops it, and it is signed."""
    author = schedule.created_by.name
    follows = [
        ("Signed", f"as {person.name}, on the schedule’s page and in the audit"),
        ("Schedule", f"stops, by this one rejection; {author} sees it with your comment"),
        ("Way back", "the definition has to be changed, and approved again"),
    ]
    text = QuestionText("comment", "Comment (optional)", f"Shown to {author}.")
    return _question(schedule, f"Reject the schedule {schedule.name}", f"Reject as {person.name}", follows, text)


def _question(
    schedule: Schedule, act: str, button: str, follows: list[tuple[str, str]], text: QuestionText
) -> Question:
    back = reverse("jobs:schedule", args=[schedule.pk])
    return Question(act=act, button=button, follows=follows, back=back, back_text=schedule.name, text=text)
