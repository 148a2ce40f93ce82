"""The page that asks for a restore: which version, what comes back and what goes, which commits are taken back; then the request."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from console.accounts.sign_in.drafts import entered
from console.audit.actor import Actor
from console.base.errors import Problem
from console.templatetags.levee import size
from jobs.commands.restore.handling import seen_by_streams
from jobs.commands.restore.log import from_log
from jobs.commands.restore.rules import Restore
from jobs.commands.restore.undone_commits import CommitRun, runs_of, versions_in
from jobs.domain.errors import CommandRefused
from jobs.models import Job
from jobs.policy.needs import needs_of
from jobs.requests import asking, rehearsals
from jobs.targets.access import table_to_change
from jobs.targets.problems import problem_of_refused
from jobs.targets.subject import Subject
from jobs.targets.undo_window import undo_to
from jobs.targets.writable import subject_to_redefine
from jobs.web.asked_table import SAID_ON_THE_PAGE, asked_of
from jobs.web.jobs.naming import names_of
from jobs.web.parts import Parts, on_table
from jobs.web.prefilled import Values, again_at, filled_in
from tables.history.reachability import TableReach
from tables.models import Commit, Table
from tables.ports import Offer
from tables.web.table.commit_lines import signed

OFFERED = 20  # older versions among which one chooses
LONGEST = 18  # digits of a version


@requires(Permission.JOB_REQUEST)
@require_http_methods(["GET", "POST"])
def restore(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Without a version, which there are; with one, what going back to it means; posted, the job."""
    table = table_to_change(Actor.of(request), table_id)
    try:
        subject = subject_to_redefine(table.pk)
    except CommandRefused as refused:
        return _impossible(request, table, problem_of_refused(refused))
    given = filled_in(request, Restore.kind, table.pk, _again)
    version = _version(given)
    if version is None:
        return _choose(request, subject)
    try:
        context = _context(request, subject, version, given)
    except Problem as problem:
        return _choose(request, subject, problem)
    return (
        _requested(request, context) if request.method == "POST" else render(request, "jobs/restore/page.html", context)
    )


def _impossible(request: HttpRequest, table: Table, problem: Problem) -> HttpResponse:
    context = {**asked_of(request, Restore.kind, table), "problem": problem, "impossible": True}
    return render(request, "jobs/restore/page.html", context, status=problem.status)


def _again(job: Job) -> Values:
    """The same version; what it undoes is agreed to anew."""
    return {"version": str(job.parameters.get("version", ""))}


def _version(given: QueryDict) -> int | None:
    text = given.get("version", "").strip().replace(",", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= LONGEST else None


def _choose(request: HttpRequest, subject: Subject, problem: Problem | None = None) -> HttpResponse:
    """The older versions, newest first, with how long each can be restored."""
    table = subject.table
    older = Commit.objects.filter(table=table, incarnation=table.incarnation, version__lt=subject.version)
    commits = list(older.order_by("-version")[:OFFERED])
    choices = [
        {"commit": commit, "reach": reach, "rows": signed(commit.rows_changed)}
        for commit, reach in zip(commits, TableReach(table).over(commits), strict=True)
    ]
    context = {**asked_of(request, Restore.kind, table), "head": subject.version, "choices": choices}
    context |= {"problem": problem, "given": request.GET.get("version", "")}
    return render(request, "jobs/restore/page.html", context, status=problem.status if problem else 200)


def _context(request: HttpRequest, subject: Subject, version: int, given: QueryDict) -> dict[str, Any]:
    """Raises Problem: 400 for a version that never was, 410 `version_gone`, 422 `unreadable`."""
    if version > subject.version:
        text = f"The table has no version {version:,}: the latest is {subject.version:,}."
        raise Problem(400, "invalid", text)
    try:
        preview = seen_by_streams(from_log(subject, version), subject, version)
    except CommandRefused as refused:
        raise problem_of_refused(refused) from None
    table, agreed = subject.table, entered(request) or QueryDict()  # no link agrees to anything
    runs = runs_of(preview["commits_undone"], _rows_changed(table, version), version, subject.version)
    return {
        **asked_of(request, Restore.kind, table),
        "head": subject.version,
        "version": version,
        "commit": Commit.objects.filter(table=table, incarnation=table.incarnation, version=version).first(),
        "preview": preview,
        "runs": [{"run": run, "rows": signed(run.rows)} for run in runs],
        "names": names_of((job for run in runs for job in run.jobs), table.pk),
        "rows": signed(_difference(preview, "rows")),
        "bytes": signed_size(_difference(preview, "bytes")),
        "needs": needs_of(person_of(request), Restore.kind, table, preview),
        "way_back": undo_to(table, version),
        "undo": undo_to(table, subject.version),
        "accepted": set(agreed.getlist("accept")),
        "reason": given.get("reason", "")[: asking.REASON_LENGTH],
        "may_rehearse": rehearsals.possible(Restore.kind),
        "rehearse": given.get("rehearse") == "on",
        "name": agreed.get("name", "").strip(),
        "all_runs": runs,
    }


def _rows_changed(table: Table, version: int) -> dict[int, int | None]:
    later = Commit.objects.filter(table=table, incarnation=table.incarnation, version__gt=version)
    return dict(later.order_by("-version").values_list("version", "rows_changed")[:200])


def signed_size(change: int | None) -> str | None:
    """Bytes with their sign; None when unknown."""
    return None if change is None else f"{'−' if change < 0 else '+'}{size(abs(change))}"


def _difference(preview: dict[str, Any], what: str) -> int | None:
    back, gone = preview[f"{what}_back"], preview[f"{what}_gone"]
    return None if back is None or gone is None else back - gone


def _requested(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """The job; or the page again, with what is missing or refused."""
    version, head = context["version"], context["head"]
    accepted = versions_in(context["accepted"], version, head)
    faults = _faults(context, accepted)
    if faults:
        return render(request, "jobs/restore/page.html", context | {"faults": faults}, status=400)
    try:
        wanted = Restore(str(context["table"].pk), version, accepted_commits=sorted(accepted))
        made = asking.request(Actor.of(request), wanted, context["reason"], rehearse=context["rehearse"])
    except Problem as problem:
        if problem.status not in SAID_ON_THE_PAGE | {410}:
            raise
        return render(request, "jobs/restore/page.html", context | {"request_problem": problem}, status=problem.status)
    return redirect("jobs:detail", made.job.pk)


def _faults(context: dict[str, Any], accepted: set[int]) -> dict[str, str]:
    """What is missing, by field."""
    faults = {}
    if open_runs := [run for run in context["all_runs"] if not _is_accepted(run, accepted)]:
        named = ", ".join(run.span if run.count > 1 else f"{run.first}" for run in open_runs[:10])
        faults["accept"] = (
            f"Tick every commit that this undoes; not ticked: {named}{', …' if len(open_runs) > 10 else ''}."
        )
    if context["name"] != context["table_name"]:
        faults["name"] = f"This restores the whole table: type {context['table_name']} to confirm it."
    if not context["reason"].strip():
        faults["reason"] = "Enter a reason: approvers read it."
    return faults


def _is_accepted(run: CommitRun, accepted: set[int]) -> bool:
    return all(version in accepted for version in range(run.first, run.last + 1))


def _drawn(job: Job) -> Mapping[str, Any]:
    """The jobs whose commits it undoes, as pages name them."""
    commits = (job.preview or {}).get("commits_undone", ())
    return {"names": names_of((commit["job"] for commit in commits if commit.get("job")), job.table_id)}


PARTS = Parts(
    what="jobs/restore/what.html",
    drawn=_drawn,
    ask_again=partial(again_at, "jobs:restore"),
    offer=Offer(
        Restore.kind, "Restore…", on_table("jobs:restore"), words="undo roll back version time travel", is_button=True
    ),
)
