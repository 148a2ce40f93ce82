"""One's own theme and tokens."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from console.accounts import services
from console.accounts.models import Person, Token
from console.accounts.permissions import Open, person_of, requires
from console.accounts.roles import TokenScope
from console.accounts.sign_in.drafts import entered
from console.accounts.sign_in.step_up import Purpose, require_recent
from console.audit.actor import Actor
from console.base.questions import ask, is_answered
from console.pages.people import questions
from console.pages.people.forms import TokenForm
from console.pages.people.session_views import next_page


@requires(Open.SIGNED_IN)
@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Light, dark, or as the system has it; back to where the person was."""
    person = person_of(request)
    if request.POST.get("theme") in Person.Theme.values:
        person.theme = request.POST["theme"]
        person.save(update_fields=["theme"])
    return redirect(next_page(request))


@requires(Open.SIGNED_IN)
@require_http_methods(["GET", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """One's own tokens; a new one is shown once, and making it asks for the password again."""
    form = TokenForm(entered(request))
    if request.method != "POST":
        return _tokens_page(request, form)
    if not form.is_valid():
        return _tokens_page(request, form, status=400)
    require_recent(request, Purpose.TOKEN)
    scopes = [TokenScope(s) for s in form.cleaned_data["scopes"]]
    label = form.cleaned_data["label"]
    token, text = services.add_token(Actor.of(request), person_of(request), label, scopes)
    return _tokens_page(request, TokenForm(), new_token=token, new_token_text=text)


def _tokens_page(request: HttpRequest, form: TokenForm, status: int = 200, **more: Any) -> HttpResponse:
    own = person_of(request).tokens.filter(revoked_at=None)[:200]
    return render(request, "accounts/tokens.html", {"form": form, "tokens": own, **more}, status=status)


@requires(Open.SIGNED_IN)
@require_http_methods(["GET", "POST"])
def revoke_token(request: HttpRequest, token_id: uuid.UUID) -> HttpResponse:
    """Ends one of one's own tokens, after a question."""
    token = get_object_or_404(Token, pk=token_id, person=person_of(request))
    if not is_answered(request):
        return ask(request, questions.of_token(token))
    services.revoke_token(Actor.of(request), token)
    messages.success(request, f"{token.label} is revoked.")
    return redirect("accounts:tokens")
