"""Pages of schedules: the list, one schedule with its approvals and runs, the form that defines it, and its buttons."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from console.accounts.admins import who_gives_roles
from console.accounts.lists import in_order, listing_of
from console.accounts.models import Person
from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from console.accounts.sign_in.drafts import entered, entered_or_linked
from console.accounts.sign_in.step_up import Purpose, confirm_url, is_recent, require_recent
from console.audit.actor import Actor
from console.base import zones
from console.base.errors import Problem
from console.base.pagination import pager
from console.base.questions import ask, is_answered
from jobs.domain.policy import Policy, TableClass
from jobs.models import Schedule
from jobs.requests.asking import check_reason
from jobs.schedules import acts, approvals, definition, queries, times
from jobs.schedules.places import SchedulePlace, may, place_of
from jobs.schedules.queries import schedule_for
from jobs.targets.access import table_to_change
from jobs.web.approvals.forms import DecisionForm, require_valid
from jobs.web.kinds import SCHEDULES
from jobs.web.schedules import lines, questions, standing
from jobs.web.schedules.forms import ChoiceForm, ScheduleForm, definition_of, kinds
from tables.catalog.listing import roots_of, visible_to

# Refusals that a person can mend on the page where they asked.
SAID_ON_THE_PAGE = {400, 403, 409, 422}


@requires(Permission.TABLE_READ)
@require_GET
def schedules(request: HttpRequest) -> HttpResponse:
    """Every schedule on a table that you may see, by name; of one state if you ask for it."""
    person = person_of(request)
    arranged = listing_of(person, SCHEDULES, request.GET)
    state = request.GET.get("state", "")
    state = state if state in Schedule.State.values else ""
    order = arranged.order_asked(request.GET, "name")
    found = lines.listed(person, arranged.rows, request.GET.get("cursor", ""), state, lines.ORDERS[order])
    context = {
        "states": lines.states(state),
        "is_narrowed": bool(state),
        "listing": arranged,
        "rows": lines.rows_of(found.rows),
        "page": pager(in_order(request.GET, order), found, "Next", previous_text="Previous"),
        "counted": lines.by_state(person),
        "may_create": person.may(Permission.JOB_REQUEST),
    }
    return render(request, "jobs/schedules/list.html", context)


@requires(Permission.TABLE_READ)
@require_GET
def schedule(request: HttpRequest, schedule_id: uuid.UUID) -> HttpResponse:
    """One schedule: its state, what it runs and when, who approved it, its runs."""
    return _detail(request, schedule_for(person_of(request), schedule_id))


def _detail(request: HttpRequest, found: Schedule, problem: Problem | None = None) -> HttpResponse:
    person, here = person_of(request), reverse("jobs:schedule", args=[found.pk])
    upcoming, never = _next_runs(found.cron, found.time_zone)
    tally = queries.tally_of(person, found)
    context = {
        "schedule": found,
        "title": lines.title_of(found),
        "look": lines.LOOKS[found.state],
        "values": lines.values_of(found),
        "bounds": lines.bounds_of(found),
        "upcoming": upcoming,
        "never": never,
        **_place(person, place_of(found)),
        "tally": tally,
        "tally_text": lines.tally_text(tally),
        "runs": [standing.run_line(found, run) for run in queries.newest_runs(person, found)],
        "actions": standing.actions_of(person, found),
        "review": standing.review_of(person, found),
        "decision_form": DecisionForm(auto_id="decide-%s", initial={"digest": found.digest}),
        "confirm_url": None if is_recent(request) else confirm_url(here, Purpose.DECISION),
        "problem": problem,
    }
    return render(request, "jobs/schedules/schedule.html", context, status=problem.status if problem else 200)


def _place(person: Person, place: SchedulePlace) -> dict[str, Any]:
    """Where it runs; of many tables, how many of those that the person sees there are now."""
    if place.table is not None:
        return {"place": place}
    seen = place.tables()
    if not may(person, Permission.TABLE_READ, place):
        seen = seen.filter(pk__in=visible_to(person).values("pk"))
    return {"place": place, "tables_now": seen.count(), "tables_query": urlencode(place.on)}


# --- definition -------------------------------------------------------------------------------------------------------


@requires(Permission.JOB_REQUEST)
@require_http_methods(["GET", "POST"])
def schedule_new(request: HttpRequest) -> HttpResponse:
    """Which command, and where; then, with both named, the form of its definition. Posted, the schedule."""
    given = entered_or_linked(request)
    is_chosen = request.method == "POST" or "command" in given  # a table's page names the table alone
    person = person_of(request)
    roots = list(roots_of(person, Permission.JOB_REQUEST).order_by("name"))
    choice = ChoiceForm(person, roots, given if is_chosen else None, given.dict())
    if not choice.is_valid():
        status = 400 if choice.errors and request.method == "POST" else 200
        may_tag = person.scopes(Permission.JOB_REQUEST).everything
        return render(request, "jobs/schedules/choose.html", {"form": choice, "may_tag": may_tag}, status=status)
    if choice.place.table is not None:
        table_to_change(Actor.of(request), choice.place.table.pk)
    else:
        definition.require_operator_there(Actor.of(request), choice.place)
    kind = choice.cleaned_data["command"]
    initial = {"time_zone": zones.shown(), "window_minutes": 120, **request.GET.dict()}
    form = ScheduleForm(entered(request), choice.place, kind, initial)

    def save() -> Schedule:
        said = form.cleaned_data
        return acts.create(Actor.of(request), said["name"], said["reason"], form.wanted()).schedule

    return _form_page(request, form, save)


@requires(Permission.JOB_REQUEST)
@require_http_methods(["GET", "POST"])
def schedule_edit(request: HttpRequest, schedule_id: uuid.UUID) -> HttpResponse:
    """The same form with the schedule's definition; posted, the definition on the table as it is now, without approvals."""
    found = schedule_for(person_of(request), schedule_id)
    _require_may_run(request, found)
    acts.refuse_without_root(found)
    form = ScheduleForm(entered(request), place_of(found), found.command, definition_of(found))

    def save() -> Schedule:
        said = form.cleaned_data
        return acts.change(Actor.of(request), found, form.wanted(), name=said["name"], reason=said["reason"])

    return _form_page(request, form, save, found)


def _require_may_run(request: HttpRequest, found: Schedule) -> None:
    """Raises Problem 403."""
    if not queries.may_run(person_of(request), found):
        where = place_of(found).name
        text = f"You may see this schedule but not change it; that takes an operator of {where}. {who_gives_roles()}"
        raise Problem(403, "forbidden", text)


def _form_page(
    request: HttpRequest, form: ScheduleForm, save: Callable[[], Schedule], found: Schedule | None = None
) -> HttpResponse:
    """The schedule's page; or the form, with what was typed, what it would mean, and why it was refused."""
    asks = request.POST.get("do") == "save"
    if asks and form.is_valid():
        try:
            saved = save()
            if found is not None:
                messages.success(request, f"{saved.name} is changed. {lines.after_a_change(saved)}")
            return redirect("jobs:schedule", saved.pk)
        except Problem as problem:
            if problem.status not in SAID_ON_THE_PAGE:
                raise
            form.refused(problem)
    status = 400 if asks and form.errors else 200
    context = {
        "form": form,
        "schedule": found,
        **_place(person_of(request), form.place),
        "command": dict(kinds())[form.kind],
        "kind": form.kind,
    }
    return render(request, "jobs/schedules/form.html", context | _meaning(request, form, found), status=status)


def _meaning(request: HttpRequest, form: ScheduleForm, found: Schedule | None) -> dict[str, Any]:
    """When it would run, and the approvals that the rules ask for now."""
    said = form.data if form.is_bound else form.initial
    cron, zone = str(said.get("cron") or "").strip(), str(said.get("time_zone") or "").strip()
    upcoming, never = _next_runs(cron, zone) if cron else ([], "")
    authors = {person_of(request).pk, *(uuid.UUID(author) for author in (found.edited_by if found else ()))}
    needs = _needs(request, form, authors)
    candidates = approvals.candidates_of(authors, needs, form.place)
    return {"upcoming": upcoming, "never": never, "zone": zone, "needs": needs, "candidates": candidates}


def _next_runs(cron: str, zone: str) -> tuple[list[lines.Due], str]:
    """The next times, or why there is none."""
    try:
        return lines.next_runs(cron, zone), ""
    except times.NeverDue as error:
        return [], str(error)


def _needs(request: HttpRequest, form: ScheduleForm, authors: set[uuid.UUID]) -> Policy:
    """By the class that the command has on the table now; by an ordinary one until the form says enough."""
    table_class = TableClass.ORDINARY
    if form.is_bound and form.is_valid():
        try:
            table_class = definition.measured(Actor.of(request), form.wanted()).table_class
        except Problem as problem:
            if problem.status >= 500:
                raise
            form.refused(problem)
    return definition.policy_of(form.kind, sorted(authors), form.place, table_class)


# --- buttons ----------------------------------------------------------------------------------------------------------


@requires(Permission.JOB_REQUEST)
@require_POST
def schedule_pause(request: HttpRequest, schedule_id: uuid.UUID) -> HttpResponse:
    """Opens no further runs."""
    return _acted(request, schedule_id, acts.pause)


@requires(Permission.JOB_REQUEST)
@require_POST
def schedule_resume(request: HttpRequest, schedule_id: uuid.UUID) -> HttpResponse:
    """Opens runs again."""
    return _acted(request, schedule_id, acts.resume)


@requires(Permission.JOB_REQUEST)
@require_http_methods(["GET", "POST"])
def schedule_remove(request: HttpRequest, schedule_id: uuid.UUID) -> HttpResponse:
    """What a removal of the schedule means; answered with a reason, the removal from the lists."""
    found = schedule_for(person_of(request), schedule_id)
    _require_may_run(request, found)
    question = questions.of_removal(found)
    if not is_answered(request):
        return ask(request, question, entered=entered(request))
    reason = request.POST.get("reason", "")
    try:
        check_reason(reason)
        acts.remove(Actor.of(request), found, reason)
    except Problem as problem:
        if problem.status not in SAID_ON_THE_PAGE:
            raise
        return ask(request, question, problem)
    messages.success(request, f"{found.name} is removed. Its runs and the audit stay.")
    return redirect("jobs:schedules")


@requires(Permission.JOB_DECIDE, Permission.JOB_REQUEST)
@require_http_methods(["GET", "POST"])
def schedule_decide(request: HttpRequest, schedule_id: uuid.UUID) -> HttpResponse:
    """Approves the definition that the page showed, or rejects it, after a question."""
    found = schedule_for(person_of(request), schedule_id)
    if request.method == "GET":  # the address of the question, asked for again
        return redirect("jobs:schedule", found.pk)
    if request.POST.get("act") == "reject" and not is_answered(request):
        return ask(request, questions.of_rejection(found, person_of(request)))
    return _acted(request, schedule_id, lambda actor, found: _decide(request, actor, found))


def _decide(request: HttpRequest, actor: Actor, found: Schedule) -> None:
    said = require_valid(DecisionForm(request.POST))
    match request.POST.get("act"):
        case "approve":
            require_recent(request, Purpose.DECISION)
            approvals.approve(actor, found, said["digest"], said["comment"])
        case "reject":
            approvals.reject(actor, found, said["digest"], said["comment"])
        case _:
            raise Problem(400, "invalid", "This action isn’t possible here. Nothing was changed.")


def _acted(request: HttpRequest, schedule_id: uuid.UUID, act: Callable[[Actor, Schedule], object]) -> HttpResponse:
    """Back to the page after the act; the page with the refusal where there is one."""
    found = schedule_for(person_of(request), schedule_id)
    try:
        act(Actor.of(request), found)
    except Problem as problem:
        if problem.status not in SAID_ON_THE_PAGE or problem.code == "step_up_required":
            raise
        return _detail(request, schedule_for(person_of(request), schedule_id), problem)
    return redirect("jobs:schedule", schedule_id)
