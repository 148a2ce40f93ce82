"""Signing in and out, giving the password again, and changing it."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import login, logout, update_session_auth_hash
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from console.accounts import attempts, devices, services
from console.accounts.models import PasswordAttempt, Person
from console.accounts.permissions import Open, person_of, requires
from console.accounts.sign_in import drafts, first_links, step_up
from console.audit.actions import Action, ActorKind, EventOutcome, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.addresses import leads_into_levee
from console.base.errors import Problem
from console.base.logs import request_address, request_id
from console.pages.people.forms import ChangePasswordForm, ConfirmForm, FirstPasswordForm

GET_OR_POST = require_http_methods(["GET", "POST"])


@method_decorator(sensitive_post_parameters("password"), name="dispatch")
class SignIn(LoginView):
    """Name and password. The attempt is counted before the password is looked at, the event written before the session is."""

    template_name = "accounts/sign_in.html"
    redirect_authenticated_user = True
    requires = (Open.PUBLIC,)
    attempt: PasswordAttempt

    def get_redirect_url(self) -> str:  # type: ignore[override]  # the stubs know another Django’s
        """Where `next` says, if that is a page of this console; an empty text otherwise, and the home page follows."""
        url = super().get_redirect_url()
        return url if leads_into_levee(url) else ""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """With the draft that the page holds, so that a mistyped password loses none."""
        return super().get_context_data(**{"draft": self.request.POST.get("draft", ""), **kwargs})

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        name = _name_given(request)
        try:
            self.attempt = attempts.admit(name, attempts.source_of_sign_in(request, name))
        except Problem as problem:
            return self._closed(name, problem)
        return super().post(request, *args, **kwargs)

    def _closed(self, name: str, problem: Problem) -> HttpResponse:
        form = AuthenticationForm(self.request, initial={"username": name})
        return _too_early(self.render_to_response(self.get_context_data(form=form, problem=problem)), problem)

    def form_valid(self, form: AuthenticationForm) -> HttpResponseRedirect:
        person = form.get_user()
        attempts.succeeded(self.attempt)  # whatever comes next: the password was right
        response = _signed_in(self.request, person, self.get_success_url())
        drafts.keep(self.request, drafts.unseal(self.request.POST.get("draft", ""), person))
        return response

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        actor = Actor(ActorKind.SYSTEM, "sign-in", address=request_address.get(), request_id=request_id.get())
        reason = "wrong name or password"
        name = _name_given(self.request)
        record(actor, Action.SIGN_IN, ObjectKind.PERSON, "unknown", name, outcome=EventOutcome.REFUSED, reason=reason)
        return super().form_invalid(form)


def _signed_in(request: HttpRequest, person: Person, onward: str) -> HttpResponseRedirect:
    """Records the sign-in, opens the session, and leads on."""
    with transaction.atomic():
        record(_signing_in(person), Action.SIGN_IN, ObjectKind.PERSON, person.id, person.name)
        login(request, person)
        step_up.confirm(request)
    response = HttpResponseRedirect(onward)
    devices.remember(request, response, person)
    return response


@requires(Open.PUBLIC)
@never_cache
@sensitive_post_parameters("link", "new_password", "new_password_again")
@GET_OR_POST
def first_sign_in(request: HttpRequest) -> HttpResponse:
    """The page behind a first link: its person sets a password and is signed in."""
    secret = (request.POST if request.method == "POST" else request.GET).get("link", "")
    person = first_links.holder(secret[:100].replace("\x00", ""))
    if person is None:
        return render(request, "accounts/first_sign_in.html", status=404)
    form = FirstPasswordForm(request.POST or None, initial={"link": secret})
    if request.method == "POST" and form.is_valid():
        try:
            with transaction.atomic():
                person = first_links.use(_signing_in(person), secret, form.cleaned_data["new_password"])
                return _signed_in(request, person, reverse("home"))
        except Problem as problem:
            if problem.status not in {400, 409}:
                raise
            form.add_error("new_password", problem.detail)
    context = {"form": form, "person": person}
    return render(request, "accounts/first_sign_in.html", context, status=400 if form.errors else 200)


def _name_given(request: HttpRequest) -> str:
    """The name as the database can hold it, of whatever was typed."""
    return request.POST.get("username", "")[:64].replace("\x00", "\ufffd")


def _signing_in(person: Person) -> Actor:
    return Actor(
        ActorKind.PERSON, person.name, person=person, address=request_address.get(), request_id=request_id.get()
    )


def _too_early(response: HttpResponse, problem: Problem) -> HttpResponse:
    response.status_code = problem.status
    if problem.retry_after is not None:
        response["Retry-After"] = str(problem.retry_after)
    return response


@requires(Open.SIGNED_IN)
@GET_OR_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """Ends the session; its address, opened, asks first."""
    if request.method == "GET":
        return render(request, "accounts/sign_out.html")
    person = person_of(request)
    record(Actor.of(request), Action.SIGN_OUT, ObjectKind.PERSON, person.id, person.name)
    logout(request)
    return redirect("accounts:sign_in")


@requires(Open.SIGNED_IN)
@never_cache
@sensitive_post_parameters("password")
@GET_OR_POST
def confirm(request: HttpRequest) -> HttpResponse:
    """Asks for the password again; then on to where the person was."""
    form = ConfirmForm(request.POST or None)
    back = next_page(request)
    if request.method == "POST" and form.is_valid():
        try:
            services.confirm_password(Actor.of(request), person_of(request), form.cleaned_data["password"])
        except Problem as problem:
            return _confirm_page(request, form, back, problem)
        request.session.cycle_key()
        step_up.confirm(request)
        return redirect(back)
    return _confirm_page(request, form, back)


def _confirm_page(request: HttpRequest, form: ConfirmForm, back: str, problem: Problem | None = None) -> HttpResponse:
    if problem is not None:
        form.add_error("password", problem.detail)
    purpose = request.POST.get("for") or request.GET.get("for") or ""
    context = {
        "form": form,
        "next": back,
        "recent": step_up.is_recent(request),
        "purpose": purpose,
        "why": step_up.why(purpose),
        "draft": drafts.kept(request),
    }
    response = render(request, "accounts/confirm.html", context, status=400 if form.errors else 200)
    return _too_early(response, problem) if problem else response


def next_page(request: HttpRequest) -> str:
    """Where `next` says to go on: an address of this console without a host, else the home page."""
    back = request.POST.get("next") or request.GET.get("next") or ""
    return back if leads_into_levee(back) else reverse("home")


@requires(Open.SIGNED_IN)
@require_POST
def discard_draft(request: HttpRequest) -> HttpResponse:
    """Forgets what was entered and not sent; back to the page."""
    drafts.forget(request)
    return redirect(next_page(request))


@requires(Open.SIGNED_IN)
@sensitive_post_parameters("old_password", "new_password", "new_password_again")
@GET_OR_POST
def change_password(request: HttpRequest) -> HttpResponse:
    """A new password; the first one must be changed before anything else. The other sessions end, this one goes on."""
    person = person_of(request)
    form = ChangePasswordForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        try:
            services.change_own_password(Actor.of(request), person, given["old_password"], given["new_password"])
        except Problem as problem:
            form.add_error("new_password" if problem.status == 400 else "old_password", problem.detail)
            return _too_early(render(request, "accounts/change_password.html", {"form": form}), problem)
        update_session_auth_hash(request, person)
        step_up.confirm(request)
        return redirect("home")
    return render(request, "accounts/change_password.html", {"form": form}, status=400 if form.errors else 200)
