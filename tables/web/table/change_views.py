"""Acts on a table's entry: sync, describe, hide."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from console.accounts.sign_in.drafts import entered
from console.audit.actor import Actor
from console.base.addresses import leads_into_levee
from console.base.errors import Problem
from console.base.questions import Question, ask, is_answered
from tables.catalog import entries, renaming, requested_syncs
from tables.catalog.own import favourites
from tables.models import Table
from tables.web.forms import DescribeForm
from tables.web.list.views import shown
from tables.web.table.shared import table_page

PAGE_WAITS = 5.0  # seconds, for a sync


@requires(Permission.TABLE_ADD)
@require_POST
def sync(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Reads what is new in the log."""
    try:
        synced = requested_syncs.sync_table(Actor.of(request), shown(request, table_id), PAGE_WAITS)
    except Problem as problem:
        if problem.code not in {"sync_running", "busy"}:
            raise
        messages.info(request, problem.detail)
    else:
        if synced.asked is not None:
            messages.info(request, "Levee is still reading the log; this page shows its earlier state.")
        elif synced.table.sync_error:
            messages.warning(request, synced.table.sync_error)
    return redirect("tables:overview", table_id)


@requires(Permission.TABLE_READ)
@require_POST
def favourite(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Marks the table as a favourite of the person, or takes the mark away; back to where they were."""
    table, act = shown(request, table_id), FAVOURITE_ACTS.get(request.POST.get("do", ""))
    if act is None:
        raise Http404
    try:
        act(person_of(request), table)
    except Problem as problem:
        messages.error(request, problem.detail)
    page = request.POST.get("next", "")
    return redirect(page if leads_into_levee(page) else reverse("tables:overview", args=[table.pk]))


FAVOURITE_ACTS = {"mark": favourites.mark, "unmark": favourites.unmark}


@requires(Permission.TABLE_ADD, Permission.TAG_MANAGE)
@require_http_methods(["GET", "POST"])
def describe(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Name, owner, description and tags."""
    table = shown(request, table_id)
    given = {
        "catalog_name": table.catalog_name or "",
        "owner": table.owner,
        "description": table.description,
        "tags": ", ".join(table.tags),
    }
    form = DescribeForm(entered(request), initial=given)
    if request.method == "POST" and form.is_valid() and _named(request, form, table):
        entries.update_table(Actor.of(request), table, **_described(form, table))
        return redirect("tables:overview", table.pk)
    return table_page(request, table, "describe", form=form)


def _named(request: HttpRequest, form: DescribeForm, table: Table) -> bool:
    """Gives the table the name that was entered, or takes it away; False with the reason in the form."""
    name = form.cleaned_data["catalog_name"] or None
    if "catalog_name" not in request.POST or name == table.catalog_name:
        return True
    try:
        renaming.rename_table(Actor.of(request), table, name)
    except Problem as problem:
        if problem.status not in {400, 409}:
            raise
        form.add_error("catalog_name", problem.detail)
        return False
    return True


def _described(form: DescribeForm, table: Table) -> dict[str, Any]:
    """The fields that differ from what the table has: others need no permission."""
    tags = sorted({tag.strip() for tag in form.cleaned_data["tags"].split(",")} - {""})
    given = {"owner": form.cleaned_data["owner"], "description": form.cleaned_data["description"], "tags": tags}
    return {name: value for name, value in given.items() if value != getattr(table, name)}


@requires(Permission.TAG_MANAGE)
@require_http_methods(["GET", "POST"])
def hide(request: HttpRequest, table_id: uuid.UUID) -> HttpResponse:
    """Takes the table out of the lists, after a question."""
    table = shown(request, table_id)
    if not is_answered(request):
        return ask(request, _question_of_hiding(table))
    entries.hide_table(Actor.of(request), table)
    messages.success(
        request, f"{table.name} is hidden. Its history and the audit stay; adding it again brings it back."
    )
    return redirect("tables:list")


def _question_of_hiding(table: Table) -> Question:
    follows = [
        ("Lists", f"and the search no longer show {table.name}"),
        ("Data", "stays as it is: Levee changes nothing in the directory"),
        ("History and audit", "stay"),
        ("Way back", "add the table again by its path: it comes back with its history"),
    ]
    if table.catalog_name:
        follows.insert(1, ("Catalog name", f"{table.catalog_name} is free for another table"))
    return Question(
        act=f"Hide {table.name}",
        button="Hide the table",
        follows=follows,
        back=reverse("tables:overview", args=[table.pk]),
        back_text=table.name,
    )
