"""The question before a destructive or one-way act: a page that says what follows, and whose answer alone acts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render

from console.base.errors import Problem

SURE = "sure"
_OWN = frozenset({SURE, "csrfmiddlewaretoken"})


@dataclass(frozen=True, slots=True)
class QuestionText:
    """What the person writes to the act: the field's name, label and hint."""

    name: str
    label: str
    hint: str = ""
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """An act as its page asks about it.

    `act` heads the page and names the act with its object (`Revoke ci`), `follows` are pairs of what is concerned and what becomes of it,
    `back` is the address and the name of the page that the person comes from. `fields` are sent with the answer, whatever was posted.
    """

    act: str
    follows: Sequence[tuple[str, str]]
    back: str
    back_text: str
    button: str = ""  # `act` if it is empty
    text: QuestionText | None = None
    takes_password: bool = False
    fields: Mapping[str, str] = field(default_factory=dict)


def is_answered(request: HttpRequest) -> bool:
    """Whether this is the answer of a question’s page."""
    return request.method == "POST" and request.POST.get(SURE) == "yes"


def ask(
    request: HttpRequest, question: Question, problem: Problem | None = None, entered: QueryDict | None = None
) -> HttpResponse:
    """The page of the question; it sends on what was posted. With a problem, what was refused, and what was typed.

    `entered` is what the person had typed on this page before a sign-in, if anything.
    """
    written = question.text.name if question.text else ""
    posted = [(name, value) for name in request.POST for value in request.POST.getlist(name)]
    left_out = {*_OWN, written, *question.fields}
    context = {
        "question": question,
        "sent_on": [*question.fields.items(), *((name, value) for name, value in posted if name not in left_out)],
        "written": (entered or request.POST).get(written, ""),
        "fault": (problem.fields or {}).get(written) if problem else None,
        "problem": problem,
    }
    return render(request, "questions/page.html", context, status=problem.status if problem else 200)
