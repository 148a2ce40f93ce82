"""The page that converts a directory: its inspection, then the request."""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from console.accounts.models import Person
from console.accounts.permissions import Open, person_of, requires
from console.accounts.roles import Permission
from console.accounts.sign_in.drafts import entered
from console.audit.actions import Action
from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.commands.convert.rules import DECISIONS, Convert
from jobs.domain.partitions import TYPE_NAMES, parse_schema
from jobs.lifecycle.worker_states import worker_state
from jobs.models import Job, Read, Worker
from jobs.policy import protection
from jobs.policy.needs import needs_at
from jobs.reads import queue
from jobs.requests import asking
from jobs.targets import access, places
from jobs.targets.running_streams import running_at
from jobs.web.commands.convert.serializers import InspectionSerializer
from jobs.web.parts import Answer, Parts
from jobs.web.prefilled import AGAIN, as_entered, job_again, reason_in
from jobs.web.reads.row_views import gone
from tables.catalog.listing import roots_of, visible_to
from tables.models import Table
from tables.ports import Offer


@requires(Permission.TABLE_READ)
@require_http_methods(["GET", "POST"])
def convert(request: HttpRequest) -> HttpResponse:
    """Directory → inspection → request: the evidence first, then the decision."""
    if request.method == "POST":
        return _request_convert(request)
    path = request.GET.get("path", "").strip()
    if not path:
        return render(request, "jobs/convert/page.html", _start_context(person_of(request)))
    return _show_inspection(request, path)


def _start_context(person: Person) -> dict[str, Any]:
    candidates = visible_to(person).filter(format="parquet").order_by("name")[:50]
    return {"path": "", "roots": roots_of(person)[:20], "candidates": candidates}


def _show_inspection(request: HttpRequest, path: str, **extra: Any) -> HttpResponse:
    try:
        place = places.by_path(Actor.of(request), path, Action.CONVERSION_INSPECT)
    except Problem as problem:
        context = {**_start_context(person_of(request)), "path": path, "problem": problem}
        return render(request, "jobs/convert/page.html", context, status=problem.status)
    person = person_of(request)
    read = _latest(person, place.path)
    if read is None and not access.may_request_at(person, place):
        # Who only looks at a page has Spark read nothing: they ask for it by the page's button.
        return render(request, "jobs/convert/page.html", {"path": place.path, "read": {"state": "unasked"}})
    read = read or _ask(person, place.path)
    return render(request, "jobs/convert/page.html", {**_read_context(request, read, place), **extra})


def _latest(person: Person, path: str) -> Read | None:
    """The person's latest inspection of the directory, while it is kept."""
    latest = Read.objects.filter(person=person, kind="inspect", question={"path": path}).order_by("-asked_at").first()
    return None if latest is None or queue.is_over(latest) else latest


def _ask(person: Person, path: str) -> Read:
    return queue.ask(person, "inspect", Worker.Kind.INTERACTIVE, {"path": path})


def _read_context(request: HttpRequest, read: Read, place: places.Place) -> dict[str, Any]:
    state = {"waiting": "pending", "running": "pending"}.get(read.state, read.state)
    table_id = place.table.pk if place.table else None
    answer = read.answer or {}
    refusals = answer.get("refusals", [])
    given = _given(request, place)
    return {
        "decisions": _decisions(refusals, given),
        "decision_codes": list(DECISIONS),
        "stops": len([refusal for refusal in refusals if refusal["code"] not in DECISIONS]),
        "note_count": len(answer.get("notes", [])) + bool(answer.get("from_metadata_log")),
        "needs": needs_at(person_of(request), Convert.kind, place.root.pk, table_id, {}),
        "path": place.path,
        "read": {"state": state, "asked_at": read.asked_at, "error": queue.as_error(read)},
        "inspection": _with_choices(read.answer, given),
        "poll_url": _poll_url(request, read) if state == "pending" else None,
        "reason": given.get("reason", ""),
        "collect_stats": given.get("collect_stats") != "false",
        "spark_state": worker_state(Worker.Kind.INTERACTIVE),
        "partition_types": list(dict.fromkeys(TYPE_NAMES.values())),
        "hindered": _hindered(person_of(request), place.path),
        "may_request": access.may_request_at(person_of(request), place),
    }


def _hindered(person: Person, path: str) -> str:
    """Why the directory isn't converted now, whatever it holds: a running stream, or a rule that protects it; empty if it can be."""
    protecting = protection.over(Convert.kind, path, person.pk)
    return protecting.text if protecting else running_at(person, [path]).get(path, "")


def _given(request: HttpRequest, place: places.Place) -> QueryDict:
    """What was entered; before that what a job to make again had asked for, or the reason that a link brings along."""
    given = entered(request, reverse("jobs:convert"))
    if given is not None:
        return given
    job = job_again(request, Convert.kind, None)
    if job is None:
        return QueryDict(urlencode({"reason": reason_in(request)}))
    if job.table.path != place.path:
        raise Http404
    columns = parse_schema(job.parameters.get("partition_schema"))
    stats = "true" if job.parameters.get("collect_stats", True) else "false"
    chosen = {"column": [each.name for each in columns], "type": [each.type for each in columns]}
    return as_entered(job, {**chosen, "collect_stats": stats})


def _decisions(refusals: list[dict[str, Any]], given: QueryDict) -> list[dict[str, Any]]:
    """What the inspection asks the person to accept, each code once."""
    asked, ticked = {refusal["code"] for refusal in refusals}, given.getlist("accept")
    return [
        {"code": code, "what": what, "accepted": code in ticked} for code, what in DECISIONS.items() if code in asked
    ]


def _poll_url(request: HttpRequest, read: Read) -> str:
    """The part with the request's form comes by this address: what a link brought along goes with it."""
    address = reverse("jobs:inspection", args=[read.pk])
    along = {name: request.GET[name] for name in ("reason", AGAIN) if request.GET.get(name)}
    return f"{address}?{urlencode(along)}" if along else address


@requires(Open.SIGNED_IN)  # the place asks for the permission: who has lost it gets the part that stops polling
@require_GET
def inspection(request: HttpRequest, read_id: uuid.UUID) -> HttpResponse:
    """The part of the convert page that asks again until the inspection is there, as long as the asker may see the directory."""
    try:
        read = get_object_or_404(Read, pk=read_id, person=person_of(request), kind="inspect")
        place = places.by_path(Actor.of(request), read.question["path"], Action.CONVERSION_INSPECT)
    except (Http404, Problem):
        return gone(request, Http404())
    return render(request, "jobs/convert/_inspection.html", _read_context(request, read, place))


@requires(Permission.TABLE_READ)
@require_POST
def inspect_again(request: HttpRequest) -> HttpResponse:
    """A fresh inspection of the same directory."""
    place = places.by_path(Actor.of(request), request.POST.get("path", ""), Action.CONVERSION_INSPECT)
    _ask(person_of(request), place.path)
    return redirect(f"{reverse('jobs:convert')}?{urlencode({'path': place.path})}")


def _request_convert(request: HttpRequest) -> HttpResponse:
    path, reason = request.POST.get("path", ""), request.POST.get("reason", "")
    command = Convert(
        path=path,
        name=None,
        source_format="parquet",
        partition_schema=_partition_schema(request),
        collect_stats=request.POST.get("collect_stats") != "false",
        accept=tuple(code for code in DECISIONS if code in request.POST.getlist("accept")),
    )
    try:
        made = asking.request(Actor.of(request), command, reason)
    except Problem as problem:
        if problem.status not in {400, 409}:
            raise
        return _show_inspection(request, path, problem_request=problem)
    return redirect("jobs:detail", made.job.pk)


def _with_choices(answer: dict[str, Any] | None, given: QueryDict) -> dict[str, Any] | None:
    """The inspection with the types that the person had chosen, when a request was refused or is a draft."""
    chosen = dict(zip(given.getlist("column"), given.getlist("type"), strict=False))
    if answer is None or not chosen:
        return answer
    columns = [c | {"chosen": chosen.get(c["name"], c["proposed_type"])} for c in answer["partition_columns"]]
    return answer | {"partition_columns": columns}


def _partition_schema(request: HttpRequest) -> str | None:
    columns = zip(request.POST.getlist("column"), request.POST.getlist("type"), strict=False)
    return ", ".join(f"{_quoted(name)} {kind}" for name, kind in columns) or None


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _shown(read: Read) -> Any:
    return InspectionSerializer(read.answer).data


def _check_place(actor: Actor, read: Read) -> None:
    """The directory may still be seen."""
    places.by_path(actor, read.question["path"], Action.CONVERSION_INSPECT)


def _ask_again(job: Job) -> str:
    """The page of the directory, with the partition columns' types as they were and the reason."""
    return f"{reverse('jobs:convert')}?{urlencode({'path': job.table.path, AGAIN: job.pk})}"


def _at(table: Table) -> str:
    return f"{reverse('jobs:convert')}?{urlencode({'path': table.path})}"


PARTS = Parts(
    offer=Offer(Convert.kind, "Convert…", _at, words="parquet to delta", is_button=True, of_plain=True),
    what="jobs/convert/what.html",
    ask_again=_ask_again,
    result="jobs/convert/result.html",
    answers={"inspect": Answer(_shown, check=_check_place)},
)
