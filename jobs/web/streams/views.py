"""Pages of streams: the list, one stream with its batches, the form that defines it, and its buttons."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from console.accounts.lists import in_order, listing_of
from console.accounts.models import Person
from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from console.accounts.sign_in.drafts import entered
from console.audit.actor import Actor
from console.base.errors import Problem
from console.base.pagination import Page, pager
from console.base.questions import ask, is_answered
from jobs.commands.stream_round.rules import APPEND, Definition, consequences_of
from jobs.domain.states import State
from jobs.models import Stream, StreamBatch, StreamRound
from jobs.policy.needs import needs_of
from jobs.requests.asking import check_reason
from jobs.streams import acts, rounds, runs
from jobs.streams.queries import source_of, stream_for
from jobs.streams.schema_ahead import ahead_of
from jobs.streams.sources import uuid_of
from jobs.targets.restored_streams import undone_batches
from jobs.web.kinds import STREAMS
from jobs.web.streams import batch_rows, damaged_lines, listing, rates, removal, round_lines, states
from jobs.web.streams.batch_times import is_behind
from jobs.web.streams.charts import DRAWN, drawing
from jobs.web.streams.form_views import SAID_ON_THE_PAGE, require_may_run
from jobs.web.streams.lag_chart import lag_drawing
from jobs.web.streams.lags import lag_of
from tables.web.table import page_header

PAGE = 50


@requires(Permission.TABLE_READ)
@require_GET
def streams(request: HttpRequest) -> HttpResponse:
    """Every stream into a table that you may see, by name; of one state, of one table, if you ask for it."""
    person = person_of(request)
    arranged = listing_of(person, STREAMS, request.GET)
    state = request.GET.get("state", "")
    state = state if state in Stream.State.values else ""
    order = arranged.order_asked(request.GET, "name")
    table = uuid_of(request.GET.get("table", ""))
    found = listing.listed(person, arranged.rows, request.GET.get("cursor", ""), state, listing.ORDERS[order], table)
    context = {
        "states": listing.states(state, table),
        "is_narrowed": bool(state or table),
        "listing": arranged,
        "rows": [listing.row(stream) for stream in found.rows],
        "page": pager(in_order(request.GET, order), found, "Next", previous_text="Previous"),
        "counted": listing.by_state(person, table),  # by state, of all pages
        "may_create": person.may(Permission.JOB_REQUEST),
    }
    around = page_header.around(person, str(table or ""), "streams")
    return render(request, "jobs/streams/of_table.html" if around else "jobs/streams/list.html", {**around, **context})


@requires(Permission.TABLE_READ)
@require_GET
def stream(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """One stream: its state, its batches, what it reads and writes."""
    return _detail(request, stream_for(person_of(request), stream_id))


@requires(Permission.TABLE_READ)
@require_GET
def stream_live(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """The head of a stream's page as it is now; what stands below comes along if a batch or a round is new."""
    found = stream_for(person_of(request), stream_id)
    newest = batch_rows.newest_batches(found)
    context = _head(request, found, newest)
    context["is_news"] = request.GET.get("seen") != context["seen"]
    if context["is_news"]:
        context |= _body(request, found, _batches(request, found), newest)
    return render(request, "jobs/streams/_live_answer.html", context)


def _detail(request: HttpRequest, found: Stream, problem: Problem | None = None) -> HttpResponse:
    batches = _batches(request, found)
    # The first page has those of the drawing.
    newest = batch_rows.newest_batches(found) if "cursor" in request.GET else batches.rows[:DRAWN]
    context = _head(request, found, newest) | _body(request, found, batches, newest) | {"problem": problem}
    return render(request, "jobs/streams/stream.html", context, status=problem.status if problem else 200)


def _batches(request: HttpRequest, found: Stream) -> Page[StreamBatch]:
    return batch_rows.batch_page(found, PAGE, request.GET.get("cursor", ""))


def _head(request: HttpRequest, found: Stream, newest: list[StreamBatch]) -> dict[str, Any]:
    """What the head of the page shows."""
    person, opened = person_of(request), rounds.open_round(found)
    behind = is_behind(found, newest[0].took_ms if newest else None)
    has_failed = found.state == Stream.State.FAILED
    waits = opened is not None and opened.job.state == State.AWAITING_APPROVAL
    return {
        "stream": found,
        "source": source_of(found),
        "source_url": _source_url(person, found),
        "heading": states.heading(found, behind),
        "look": states.look_of(found, behind=behind),
        "was_started": states.was_started(found),
        "lag": lag_of(found),
        "ahead": ahead_of([found]).get(found.pk),
        "all_damaged": damaged_lines.all_damaged(found, newest),
        "undone": undone_batches(found) if found.definition["output_mode"] == APPEND else None,
        "actions": round_lines.actions_of(person, found, opened),
        "opened": opened,
        "round_text": round_lines.round_sentence(opened) if opened else "",
        "waits_for_approval": waits,
        "condition": states.condition_of(found.error) if has_failed else "",
        "last_good": batch_rows.last_good_batch(found) if has_failed else None,
        "cursor": request.GET.get("cursor", ""),
        "polls": opened is not None or found.state in {Stream.State.RUNNING, Stream.State.STOPPING},
        "poll_seconds": 2 if opened and not waits else 10,
        "seen": _seen(found, newest, opened),
    }


def _seen(found: Stream, newest: list[StreamBatch], opened: StreamRound | None) -> str:
    """What the part below the head depends on: a poll that knows it gets the head alone."""
    newest_id = newest[0].pk if newest else 0
    return f"{newest_id}.{found.rounds}.{found.state}.{found.revision}.{opened.job.state if opened else ''}"


def _source_url(person: Person, found: Stream) -> str | None:
    return reverse("tables:overview", args=[found.source_table_id]) if round_lines.sees_source(person, found) else None


def _body(request: HttpRequest, found: Stream, batches: Page[StreamBatch], newest: list[StreamBatch]) -> dict[str, Any]:
    """What stands below the head: batches and rail."""
    lines = round_lines.round_lines(found)
    definition = Definition.from_json(found.definition)
    tells_damaged = damaged_lines.is_told(found, batches.rows)
    return {
        "drawing": drawing(found, newest),
        "lags": lag_drawing(found),
        "batches": batch_rows.batch_rows(found, batches.rows, tells_damaged=tells_damaged),
        "tells_damaged": tells_damaged,
        "damaged_text": damaged_lines.total_text(newest) if tells_damaged else "",
        "page": _pages(request, found, batches),
        "rates": rates.rates_of(found, newest[0] if newest else None),
        "last": newest[0] if newest else None,
        "rounds": lines,
        "sink": round_lines.described_sink(found, lines),
        "definition": found.definition,
        "source_name": found.source_table.name if found.source_table else "",
        "approval": round_lines.approval_of(person_of(request), found, definition),
    }


def _pages(request: HttpRequest, found: Stream, batches: Page[StreamBatch]) -> dict[str, Any]:
    """The links around the batches, with the page's own address: a poll or a button has another one."""
    asked = request.GET.copy()
    asked.pop("seen", None)
    links = pager(asked, batches, "Older")
    here = reverse("jobs:stream", args=[found.pk])
    return links | {name: f"{here}{links[name]}" for name in ("previous_url", "next_url") if links[name]}


# --- buttons ----------------------------------------------------------------------------------------------------------


@requires(Permission.JOB_REQUEST)
@require_POST
def stream_start(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """Starts the stream."""
    return _acted(request, stream_id, runs.start)


@requires(Permission.JOB_REQUEST)
@require_POST
def stream_stop(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """Stops the stream after its current round."""
    return _acted(request, stream_id, runs.stop)


@requires(Permission.JOB_REQUEST)
@require_POST
def stream_run_once(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """Opens one round."""
    return _acted(request, stream_id, runs.run_once)


@requires(Permission.JOB_REQUEST)
@require_http_methods(["GET", "POST"])
def stream_remove(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """What a removal of the stream means; answered with a reason, the removal from the lists."""
    found = stream_for(person_of(request), stream_id)
    require_may_run(request, found)
    question = removal.question_of(found)
    try:
        acts.require_still(found)
        if not is_answered(request):
            return ask(request, question, entered=entered(request))
        reason = request.POST.get("reason", "")
        check_reason(reason)
        acts.remove(Actor.of(request), found, reason)
    except Problem as problem:
        if problem.status not in SAID_ON_THE_PAGE:
            raise
        return ask(request, question, problem) if problem.fields else _detail(request, found, problem)
    messages.success(request, f"{found.name} is removed. Its table, its checkpoint, its jobs and the audit stay.")
    return redirect("jobs:streams")


def _acted(request: HttpRequest, stream_id: uuid.UUID, act: Callable[[Actor, Stream], object]) -> HttpResponse:
    """Back to the page after the act; the page with the refusal where there is one."""
    found = stream_for(person_of(request), stream_id)
    try:
        act(Actor.of(request), found)
    except Problem as problem:
        if problem.status not in SAID_ON_THE_PAGE:
            raise
        return _detail(request, stream_for(person_of(request), stream_id), problem)
    return redirect("jobs:stream", stream_id)


@requires(Permission.JOB_REQUEST)
@require_http_methods(["GET", "POST"])
def stream_reset(request: HttpRequest, stream_id: uuid.UUID) -> HttpResponse:
    """What a reset of the checkpoint means; posted with a reason, the job that waits for approval."""
    found = stream_for(person_of(request), stream_id)
    require_may_run(request, found)
    reason = (entered(request) or QueryDict()).get("reason", "")
    if request.method == "GET":
        return _reset_page(request, found, reason)
    try:
        return redirect("jobs:detail", runs.reset(Actor.of(request), found, reason).pk)
    except Problem as problem:
        if problem.status not in SAID_ON_THE_PAGE:
            raise
        return _reset_page(request, found, reason, problem)


def _reset_page(request: HttpRequest, found: Stream, reason: str = "", problem: Problem | None = None) -> HttpResponse:
    preview = rounds.preview_of(found, reset=True)
    context = {
        "stream": found,
        "reason": reason,
        "problem": problem,
        "reason_fault": (problem.fields or {}).get("reason") if problem else "",
        "consequences": consequences_of(Definition.from_json(found.definition), reset=True, replaces=False),
        "needs": needs_of(person_of(request), "stream_round", found.table, preview),
    }
    return render(request, "jobs/streams/reset.html", context, status=problem.status if problem else 200)
