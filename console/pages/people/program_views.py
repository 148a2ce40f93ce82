"""The page on which a person signs in a program: its code, then what it asks for, then their word."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from console.accounts.models import SignInRequest
from console.accounts.permissions import Open, person_of, requires
from console.accounts.roles import SCOPE_MEANS, TokenScope
from console.accounts.sign_in import program_sign_ins
from console.accounts.sign_in.drafts import entered
from console.accounts.sign_in.step_up import Purpose, require_recent
from console.audit.actor import Actor
from console.base.errors import Problem
from console.base.logs import request_address
from console.pages.people.forms import CodeForm


@requires(Open.SIGNED_IN)
@never_cache
@require_http_methods(["GET", "POST"])
def sign_in_program(request: HttpRequest) -> HttpResponse:
    """Asks for the code, shows the program that waits with it, and signs it in or not. It needs a recent password, as any new token."""
    form = CodeForm(entered(request))
    if request.method != "POST" or not form.is_valid():
        return _page(request, form, status=400 if request.method == "POST" else 200)
    require_recent(request, Purpose.TOKEN)
    try:
        asked = program_sign_ins.waiting_with(person_of(request), form.cleaned_data["code"])
        if request.POST.get("do") in DECISIONS:
            return _decided(request, asked)
    except Problem as problem:
        if problem.status not in {404, 429}:
            raise
        form.add_error("code", problem.detail)
        return _page(request, form, status=problem.status)
    return _page(request, form, asked)


DECISIONS = frozenset({"confirm", "deny"})


def _decided(request: HttpRequest, asked: SignInRequest) -> HttpResponse:
    person = person_of(request)
    if request.POST["do"] == "confirm":
        program_sign_ins.grant(Actor.of(request), person, asked)
        messages.success(request, f"The program on {asked.machine} is signed in as {person.name}.")
    else:
        program_sign_ins.deny(Actor.of(request), person, asked)
        messages.info(request, f"The program on {asked.machine} isn’t signed in, and its code holds no more.")
    return redirect("accounts:tokens")


def _page(request: HttpRequest, form: CodeForm, asked: SignInRequest | None = None, status: int = 200) -> HttpResponse:
    context = {
        "form": form,
        "asked": asked,
        "scopes": [(scope, SCOPE_MEANS[TokenScope(scope)]) for scope in asked.scopes] if asked else [],
        "code": program_sign_ins.spelled(program_sign_ins.letters(form.cleaned_data["code"])) if asked else "",
        "address": request_address.get(),
        "days": program_sign_ins.TOKEN_LIFE.days,
    }
    return render(request, "accounts/sign_in_program.html", context, status=status)
