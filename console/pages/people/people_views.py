"""Administration, people: their roles and scopes, and whether their accounts are open. The services decide."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from console.accounts import services
from console.accounts.appointments import appointed_by, appointments_of
from console.accounts.authority import EVERYTHING
from console.accounts.models import Grant, Person
from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission, Role
from console.accounts.sign_in import first_links
from console.accounts.sign_in.drafts import entered
from console.audit.actor import Actor
from console.base.errors import Problem
from console.base.questions import ask, is_answered
from console.pages.people import queries, questions
from console.pages.people.forms import GrantForm, NewPersonForm
from jobs.policy.candidates import approvers_of, uncounted_for
from tables.catalog.listing import roots_of
from tables.catalog.scopes import scope_of

CLOSED = "All sessions have ended."
YOURS_ENDED = "Your other sessions have ended."
OPENED = "They sign in with their earlier password."
UNCLAIMED = "Nobody can sign in yet: they have no password. Give them a new link below."
MOST = 500
SHOWN_IN_PLACE = frozenset({400, 403, 409})


@requires(Permission.PEOPLE_MANAGE)
@require_GET
def people(request: HttpRequest) -> HttpResponse:
    """All people and their roles."""
    return _people_page(request, NewPersonForm(entered(request, reverse("accounts:person_add"))))


def _people_page(request: HttpRequest, form: NewPersonForm, status: int = 200) -> HttpResponse:
    context = {
        "people": queries.people(person_of(request)).order_by("name")[:MOST],
        "form": form,
        "may_add": _manages_everybody(request),
    }
    return render(request, "accounts/people.html", context, status=status)


def _manages_everybody(request: HttpRequest) -> bool:
    return person_of(request).scopes(Permission.PEOPLE_MANAGE).everything


@requires(Permission.PEOPLE_MANAGE)
@never_cache
@require_POST
def person_add(request: HttpRequest) -> HttpResponse:
    """Adds a person, with a role on everything if one was chosen. Only this response shows the link with which they set their password."""
    form = NewPersonForm(request.POST)
    if not form.is_valid():
        return _people_page(request, form, status=400)
    role = form.cleaned_data["role"]
    wanted = {form.cleaned_data["name"]: Role(role) if role else None}
    try:
        [(made, secret)] = first_links.add_people(Actor.of(request), wanted, EVERYTHING)
    except Problem as problem:
        form.add_error("name", _shown(problem))
        return _people_page(request, form, status=problem.status)
    return _person_page(request, made.pk, first_link=link_with(request, secret))


@requires(Permission.PEOPLE_MANAGE)
@never_cache
@require_POST
def first_link(request: HttpRequest, person_id: uuid.UUID) -> HttpResponse:
    """Makes a new link for a person who hasn't set a password yet; the earlier one ends."""
    target = get_object_or_404(Person, pk=person_id)
    try:
        secret = first_links.make(Actor.of(request), target)
    except Problem as problem:
        return _person_page(request, target.pk, status=problem.status, refused=_shown(problem))
    return _person_page(request, target.pk, first_link=link_with(request, secret))


def link_with(request: HttpRequest, secret: str) -> str:
    """The address to hand over. The secret is in the query: Levee's log has the paths of requests alone."""
    return request.build_absolute_uri(f"{reverse('accounts:first_sign_in')}?link={secret}")


def _shown(problem: Problem) -> str:
    """The refusal's words for the page it happened on; what is no refusal is raised on."""
    if problem.status not in SHOWN_IN_PLACE:
        raise problem
    return problem.detail


@requires(Permission.PEOPLE_MANAGE)
@require_GET
def person(request: HttpRequest, person_id: uuid.UUID) -> HttpResponse:
    """One person: roles, tokens, account."""
    return _person_page(request, person_id)


def _person_page(request: HttpRequest, person_id: uuid.UUID, status: int = 200, **more: Any) -> HttpResponse:
    target = get_object_or_404(queries.people(person_of(request)), pk=person_id)
    manager = person_of(request)
    context = {
        "person": target,
        "grants": [{"grant": held, "may_remove": _may_remove(manager, held)} for held in target.granted],
        "form": GrantForm(entered(request, reverse("accounts:grant_add", args=[target.pk]))),
        "places": ["everything", *(f"root:{root.name}" for root in roots_of(manager, Permission.PEOPLE_MANAGE)[:MOST])],
        "may_close": _manages_everybody(request),
        "may_link": _manages_everybody(request) and not first_links.why_not(manager, target),
        "appointed": appointed_by(appointments_of([target.pk])),
        "approvers": approvers_of(target),
        "uncounted": uncounted_for(target),
        **more,
    }
    return render(request, "accounts/person.html", context, status=status)


def _may_remove(manager: Person, held: Grant) -> bool:
    """The service's own rule, from what the row has loaded."""
    own = manager.scopes(Permission.PEOPLE_MANAGE)
    if held.table is not None:
        return own.covers_table(held.table.root_id, held.table.pk)
    return own.covers_root(held.root_id) if held.root_id else own.everything


@requires(Permission.PEOPLE_MANAGE)
@require_http_methods(["GET", "POST"])
def person_access(request: HttpRequest, person_id: uuid.UUID) -> HttpResponse:
    """Closes an account, after a question, or opens it again."""
    target = get_object_or_404(Person, pk=person_id)
    if request.method == "GET":
        return (
            ask(request, questions.of_account(target)) if target.is_active else redirect("accounts:person", target.pk)
        )
    wish = request.POST.get("active")
    if wish not in {"true", "false"}:
        raise Problem(400, "invalid", "Choose whether to open or to close the account.")
    if wish == "false" and not is_answered(request):
        return ask(request, questions.of_account(target))
    opens = wish == "true"
    follows = CLOSED if not opens else OPENED if target.has_usable_password() else UNCLAIMED
    text = f"The account of {target.name} is {'open again' if opens else 'closed'}. {follows}"
    return _done(request, target, lambda: services.set_active(Actor.of(request), target, opens), text)


@requires(Permission.PEOPLE_MANAGE)
@require_POST
def grant_add(request: HttpRequest, person_id: uuid.UUID) -> HttpResponse:
    """Gives a role on a scope."""
    target = get_object_or_404(Person, pk=person_id)
    form = GrantForm(request.POST)
    if not form.is_valid():
        return _person_page(request, target.pk, status=400, form=form)

    def give() -> None:
        scope = scope_of(form.cleaned_data["on"].strip(), person_of(request))
        services.grant(Actor.of(request), target, Role(form.cleaned_data["role"]), scope)

    text = f"{target.name} has the role {form.cleaned_data['role']} on {form.cleaned_data['on'].strip()} now."
    return _done(request, target, give, text, form)


@requires(Permission.PEOPLE_MANAGE)
@require_http_methods(["GET", "POST"])
def grant_remove(request: HttpRequest, person_id: uuid.UUID, grant_id: uuid.UUID) -> HttpResponse:
    """Removes a role, after a question."""
    grants = queries.grants_for(person_of(request))
    held = get_object_or_404(grants, pk=grant_id, person=person_id)
    if not is_answered(request):
        return ask(request, questions.of_grant(held))
    follows = YOURS_ENDED if held.person == request.user else CLOSED
    text = f"{held.person.name} no longer has the role {held.role} on {held.scope_text}. {follows}"
    return _done(request, held.person, lambda: services.remove_grant(Actor.of(request), held), text)


def _done(
    request: HttpRequest, target: Person, act: Callable[[], object], text: str, form: forms.Form | None = None
) -> HttpResponse:
    """Runs the act and returns to the person's page, which says what it did, or shows a refusal."""
    try:
        act()
    except Problem as problem:
        if form is None:
            return _person_page(request, target.pk, status=problem.status, refused=_shown(problem))
        form.add_error("on", _shown(problem))
        return _person_page(request, target.pk, status=problem.status, form=form)
    if target == request.user and target.is_active:
        update_session_auth_hash(request, target)  # your own session continues; the others have ended
    messages.success(request, text)
    return redirect("accounts:person", target.pk)
