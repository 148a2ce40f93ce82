"""The form of a stream, new or changed: three steps on one page, of which one is shown, and what each button of it does.

All fields are in the page at every step, those of the others hidden: nothing is kept elsewhere, so that nothing can be lost, and a
form that comes back with faults shows each of them at its field. Going on asks the services what they would refuse so far; only the
last button makes anything.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from console.accounts.admins import who_gives_roles
from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from console.accounts.sign_in.drafts import BUTTON, entered
from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.commands.stream_round.rules import Definition
from jobs.models import Read, Stream
from jobs.reads.stream_source import ask_source
from jobs.streams import acts, rounds
from jobs.streams.definition import Looked, looked_at
from jobs.streams.queries import may_run, stream_for
from jobs.web.streams import columns, source_part
from jobs.web.streams.form_values import values_of
from jobs.web.streams.forms import STEPS, TITLES, StreamEditForm, StreamForm, fields_of

# Refusals that a person can mend on the page where they asked.
SAID_ON_THE_PAGE = {400, 403, 404, 409, 422, 429}
FIRST, *_, LAST = STEPS
SAVE, NEXT, READ, LOOK, TAKE = "save", "next", "read", "look", "take"
OPEN = "open:"  # and a field, and the directory chosen for it
DROP = "columns:drop:"  # and the number of a row
Done = Callable[[Stream], HttpResponse]


@dataclass(slots=True)
class _Sent:
    """A form that was sent, to be shown again: at `step`, with what the services say of it."""

    request: HttpRequest
    found: Stream | None
    data: QueryDict
    form: StreamForm
    step: str
    status: int = 200
    looked: Looked | None = None
    problem: Problem | None = None
    picker: source_part.Picker | None = None
    read: Read | None = None
    act: str = ""  # of the button that was pressed
    brings_columns: bool = True  # to the page: a poll that filled in none leaves them as they are typed


@requires(Permission.JOB_REQUEST)
@require_http_methods(["GET", "POST"])
def stream_new(request: HttpRequest) -> HttpResponse:
    """The form of a new stream; at its last button the stream, stopped."""
    return _answer(request, None, lambda made: redirect("jobs:stream", made.pk))


@requires(Permission.JOB_REQUEST)
@require_http_methods(["GET", "POST"])
def stream_edit(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """The same form with the stream's definition; at its last button the definition from its next round on."""
    found = stream_for(person_of(request), stream_id)
    require_may_run(request, found)

    def changed(stream: Stream) -> HttpResponse:
        now = Stream.objects.select_related("table", "approved_by_job").get(pk=stream.pk)
        messages.success(request, changed_text(now))
        return redirect("jobs:stream", stream.pk)

    return _answer(request, found, changed)


def require_may_run(request: HttpRequest, found: Stream) -> None:
    """Raises Problem 403."""
    if not may_run(person_of(request), found):
        text = f"You may see this stream but not change it; that takes an operator of its table. {who_gives_roles()}"
        raise Problem(403, "forbidden", text)


def changed_text(changed: Stream) -> str:
    """That it is changed, and what is left to do."""
    if rounds.replaces_rows(changed, Definition.from_json(changed.definition)) and not rounds.is_approved(changed):
        return f"{changed.name} is changed. Start it, or run it once: that round needs an approval first."
    if changed.state in {Stream.State.RUNNING, Stream.State.STOPPING}:
        return f"{changed.name} is changed. The change holds from its next round on."
    return f"{changed.name} is changed. It doesn’t run now: start it, or run it once."


def _answer(request: HttpRequest, found: Stream | None, done: Done) -> HttpResponse:
    initial = values_of(found.asked) | {"name": found.name, "reason": found.reason} if found else {}
    given = entered(request)
    if given is None:
        form = StreamEditForm(initial=initial) if found else StreamForm()
        return _page(_Sent(request, found, QueryDict(mutable=True), form, FIRST))
    data = given.copy()
    act = str(data.pop(BUTTON, [""])[-1])
    if act.startswith(DROP):
        # Before `read_in` leaves out empty rows, which the page has numbered.
        columns.drop(data, act.removeprefix(DROP))
    columns.read_in(data, str(initial.get("schema", "")))
    before = data.get("schema")
    problem = _changed(request, data, act)
    step = data.get("step", LAST)
    form = StreamEditForm(data, initial=initial) if found else StreamForm(data)
    sent = _Sent(request, found, data, form, step if step in STEPS else FIRST, problem=problem, act=act)
    _look_up(sent)
    sent.brings_columns = not request.htmx or data.get("schema") != before  # type: ignore[attr-defined]  # set by its middleware
    if request.method == "POST" and act in {SAVE, NEXT, ""}:
        return _judged(sent, saves=act != NEXT, done=done)
    form.keep_errors(())
    if problem is not None:
        form.refused(fields_of(problem))
        sent.status = problem.status
    return _page(sent)


# --- buttons that change what the form holds, and ask for nothing -------------------------------------------------------


def _changed(request: HttpRequest, data: QueryDict, act: str) -> Problem | None:
    """What a button does to the form's data before it is shown again; the refusal of a read."""
    verb, _, rest = act.partition(":")
    if verb not in {"browse", "open", LOOK}:
        data.pop(source_part.BROWSING, None)
    match verb:
        case "step" if rest in STEPS:
            data["step"] = rest
        case "browse":
            data[source_part.BROWSING] = rest
        case "open":
            field, _, path = rest.partition(":")
            source_part.choose(data, field, path)
        case "columns":
            _change_columns(data, rest)
        case "read":
            return _read(request, data)
    return None


def _look_up(sent: _Sent) -> None:
    """Looks up the directories and the read that the page shows, once, and fills in what they bring the form after this button."""
    request, data, act = sent.request, sent.data, sent.act
    actor, person = Actor.of(request), person_of(request)
    sent.read = source_part.read_of(actor, person, data)
    if act in {READ, LOOK, TAKE} and sent.problem is None:
        source_part.take_columns(sent.read, data, replaces=act == TAKE)
    if not (request.htmx and act == LOOK):  # type: ignore[attr-defined]  # a poll brings no directories
        sent.picker = source_part.picker_of(actor, person, data)
    if act.startswith(OPEN):
        source_part.take_format(sent.picker, data)


def _change_columns(data: QueryDict, act: str) -> None:
    if act == "text":
        data[columns.AS_TEXT] = "on"
    elif act == "list":
        data.pop(columns.AS_TEXT, None)
        data.pop(columns.NAME, None)
    elif act == "add":
        columns.put(data, [*columns.typed(data), ("", "")])


def _read(request: HttpRequest, data: QueryDict) -> Problem | None:
    """Has Spark look into the directory's files."""
    form = StreamForm(data)
    form.is_valid()  # whatever it says: only what the source's fields mean is asked for
    try:
        read = ask_source(Actor.of(request), form.asked()["source"])
    except Problem as problem:
        if problem.status not in SAID_ON_THE_PAGE:
            raise
        return problem
    data[source_part.READ], data["path"] = str(read.pk), read.question["path"]
    return None


# --- going on, and the last button --------------------------------------------------------------------------------------


def _judged(sent: _Sent, *, saves: bool, done: Done) -> HttpResponse:
    """The next step, or at the end what `done` answers; the form with all that is wrong with it where something is."""
    steps = list(STEPS)
    reached = steps if saves else steps[: steps.index(sent.step) + 1]
    unread = set(sent.form.errors)
    sent.looked = looked = _looked(sent, whole=len(reached) > 1)
    for fault in looked.faults:
        if isinstance(fault.error, Problem) and fault.error.status not in SAID_ON_THE_PAGE:
            raise fault.error
    sent.form.refused(fields_of(looked.faults))
    sent.form.keep_errors(name for step in reached for name in STEPS[step])
    if sent.form.errors:
        first = next((fault.error for fault in looked.faults), None)
        sent.problem = first if isinstance(first, Problem) else None
        sent.status = 400 if unread & set(sent.form.errors) or first is None else _status(first)
        return _page(sent)
    if saves:
        return _saved(sent, done)
    sent.step = steps[min(len(reached), len(steps) - 1)]
    return _page(sent)


def _status(error: Problem | Http404) -> int:
    return error.status if isinstance(error, Problem) else 404


def _looked(sent: _Sent, *, whole: bool) -> Looked:
    """What the services would refuse of what can be read; `whole` or the source alone."""
    actor, form, given = Actor.of(sent.request), sent.form, sent.form.cleaned_data
    if sent.found is not None and isinstance(form, StreamEditForm):
        return acts.looked_at_change(actor, sent.found, form.changes(), whole=whole)
    if not whole:
        return looked_at(actor, form.asked(), whole=False)
    return acts.looked_at_new(actor, given.get("name", ""), given.get("reason", ""), form.asked())


def _saved(sent: _Sent, done: Done) -> HttpResponse:
    """What `done` answers; or the form again, with what was typed and why it was refused."""
    actor, form, given = Actor.of(sent.request), sent.form, sent.form.cleaned_data
    try:
        if sent.found is not None and isinstance(form, StreamEditForm):
            return done(acts.change(actor, sent.found, form.changes()))
        return done(acts.create(actor, given["name"], given["reason"], form.asked()))
    except Http404:
        problem = Problem(404, "not_found", "A table that you named isn’t in the catalog, or you don’t have access.")
    except Problem as refused:
        if refused.status not in SAID_ON_THE_PAGE:
            raise
        problem = refused
    form.refused(fields_of(problem))
    sent.problem, sent.status = problem, problem.status
    return _page(sent)


# --- the page -----------------------------------------------------------------------------------------------------------


def _page(sent: _Sent) -> HttpResponse:
    form, data = sent.form, sent.data
    wrong = {step: sum(name in form.errors for name in names) for step, names in STEPS.items()}
    schema = str(form["schema"].value() or "")
    wanted = sent.looked.wanted if sent.looked and not form.errors else None
    context = {
        "form": form,
        "stream": sent.found,
        "problem": sent.problem,
        "step": sent.step,
        "steps": _marks(sent.step, wrong),
        "shown": {step for step in STEPS if step == sent.step or wrong[step]},
        "is_last": sent.step == LAST,
        "columns": columns.shown(data, schema),
        "types": columns.TYPES,
        "act": sent.act,
        "brings_columns": sent.brings_columns,
        "picker": sent.picker,
        "prediction": wanted.prediction.as_json() if wanted else None,
        "definition": wanted.definition.as_json() if wanted else None,
        **source_part.read_context(sent.read, data),
    }
    return render(sent.request, "jobs/streams/form/page.html", context, status=sent.status)


def _marks(current: str, wrong: Mapping[str, int]) -> list[dict[str, Any]]:
    """The steps as the page shows them, above the form."""
    names = list(STEPS)
    return [
        {
            "name": name,
            "number": number,
            "title": TITLES[name],
            "is_current": name == current,
            "is_previous": number == names.index(current),
            "wrong": wrong[name],
        }
        for number, name in enumerate(names, 1)
    ]
