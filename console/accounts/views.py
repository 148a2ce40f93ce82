"""Signing in and out, the password, the theme, one's tokens, and the list of people."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib.auth import login, logout, update_session_auth_hash
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from console.accounts import services
from console.accounts.forms import ChangePasswordForm, TokenForm
from console.accounts.models import Person, Token
from console.accounts.permissions import Open, asks, person_of
from console.accounts.roles import Permission, TokenScope
from console.audit.actions import Action, ActorKind, ObjectKind, Outcome
from console.audit.actor import Actor
from console.audit.services import record
from console.errors import Problem
from console.logs import request_address, request_id


class SignIn(LoginView):
    """Name and password. The event is written before the session is."""

    template_name = "accounts/sign_in.html"
    redirect_authenticated_user = True
    asks = (Open.PUBLIC,)

    def form_valid(self, form: AuthenticationForm) -> HttpResponseRedirect:
        person = form.get_user()
        with transaction.atomic():
            record(_signing_in(person), Action.SIGN_IN, ObjectKind.PERSON, person.id, person.name)
            login(self.request, person)
        return HttpResponseRedirect(self.get_success_url())

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        name = str(form.data.get("username", ""))[:64]
        actor = Actor(ActorKind.SYSTEM, "sign-in", address=request_address.get(), request_id=request_id.get())
        reason = "wrong name or password"
        record(actor, Action.SIGN_IN, ObjectKind.PERSON, "unknown", name, outcome=Outcome.REFUSED, reason=reason)
        return super().form_invalid(form)


def _signing_in(person: Person) -> Actor:
    return Actor(
        ActorKind.PERSON, person.name, person=person, address=request_address.get(), request_id=request_id.get()
    )


@asks(Open.SIGNED_IN)
@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """Ends the session."""
    person = person_of(request)
    record(Actor.of(request), Action.SIGN_OUT, ObjectKind.PERSON, person.id, person.name)
    logout(request)
    return redirect("accounts:sign_in")


@asks(Open.SIGNED_IN)
@require_http_methods(["GET", "POST"])
def change_password(request: HttpRequest) -> HttpResponse:
    """A new password; the first one must be changed before anything else."""
    person = person_of(request)
    form = ChangePasswordForm(person, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            services.change_password(Actor.of(request), person, form.cleaned_data["new_password"])
        except Problem as problem:
            form.add_error("new_password", problem.detail)
        else:
            update_session_auth_hash(request, person)
            return redirect("home")
    return render(request, "accounts/change_password.html", {"form": form}, status=400 if form.errors else 200)


@asks(Open.SIGNED_IN)
@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Light, dark, or as the system has it; back to where the person was."""
    person = person_of(request)
    if request.POST.get("theme") in Person.Theme.values:
        person.theme = request.POST["theme"]
        person.save(update_fields=["theme"])
    back = request.POST.get("next", "/")
    return redirect(back if url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()}) else "/")


@asks(Open.SIGNED_IN)
@require_http_methods(["GET", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """One's own tokens; a new one is shown once."""
    person = person_of(request)
    form = TokenForm(request.POST or None)
    made: dict[str, Any] = {}
    if request.method == "POST" and form.is_valid():
        scopes = [TokenScope(s) for s in form.cleaned_data["scopes"]]
        token, text = services.add_token(Actor.of(request), person, form.cleaned_data["label"], scopes)
        made = {"new_token": token, "new_token_text": text}
    own = person.tokens.filter(revoked_at=None)[:200]
    return render(request, "accounts/tokens.html", {"form": form, "tokens": own, **made})


@asks(Open.SIGNED_IN)
@require_POST
def revoke_token(request: HttpRequest, token_id: uuid.UUID) -> HttpResponse:
    """Ends one of one's own tokens."""
    token = get_object_or_404(Token, pk=token_id, person=person_of(request))
    services.revoke_token(Actor.of(request), token)
    return redirect("accounts:tokens")


@asks(Permission.PEOPLE_MANAGE)
@require_GET
def people(request: HttpRequest) -> HttpResponse:
    """Everybody and their grants."""
    everybody = Person.objects.prefetch_related("grants__root", "grants__table").order_by("name")[:500]
    return render(request, "accounts/people.html", {"people": everybody})
