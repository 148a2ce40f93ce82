"""Administration, policies: the rules as sentences, and forms to add, change, switch and remove one."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from console.accounts.appointments import Doubts
from console.accounts.models import Person
from console.accounts.permissions import person_of, requires
from console.accounts.roles import Permission
from console.accounts.sign_in.drafts import entered
from console.audit.actor import Actor
from console.audit.queries import uuid_of
from console.base.errors import Problem
from console.base.questions import ask, is_answered
from jobs.domain.policy import sentence
from jobs.models import PolicyChange, PolicyRule
from jobs.policy import changes, services
from jobs.policy.evaluate import as_rule, with_terms
from jobs.policy.holding_back import held_back
from jobs.policy.queries import READ_BY, rule_for, rules_for
from jobs.policy.services import Terms, on_text, terms_of
from jobs.web.policies import questions
from jobs.web.policies.forms import NameForm, NewRuleForm, ProtectForm, TermsForm, form_of
from tables.catalog.scopes import scope_of

MOST = 500
# The service's field names, by those of the form.
FIELDS = {"min_share": "min_percent", "class": "table_class"}


@requires(*READ_BY)
@require_GET
def policies(request: HttpRequest) -> HttpResponse:
    """Every rule in a sentence."""
    person = person_of(request)
    doubts = Doubts(person)
    rules = [_row(person, rule, doubts) for rule in rules_for(person).order_by("command", "name", "id")[:MOST]]
    context = {"rules": rules, "may_add": person.may(Permission.POLICY_MANAGE)}
    return render(request, "jobs/policies/policies.html", context)


def _row(person: Person, rule: PolicyRule, doubts: Doubts) -> dict[str, Any]:
    return {
        "id": rule.pk,
        "name": rule.name,
        "sentence": sentence(as_rule(rule)),
        "on": on_text(rule),
        "protects": rule.forbids,
        "enabled": rule.enabled,
        "version": rule.version,
        "changed_at": rule.changed_at,
        "changed_by": rule.changed_by.name if rule.changed_by else "",
        "may_change": _may_change(person, rule),
        "waiting": _waiting(person, rule, doubts),
    }


def _waiting(person: Person, rule: PolicyRule, doubts: Doubts) -> dict[str, Any] | None:
    """The waiting change in words, and whether this person can be the second admin."""
    change = rule.waiting[0] if rule.waiting else None  # type: ignore[attr-defined]  # policy_queries.with_waiting
    if change is None:
        return None
    # The reason why a confirmation doesn't count takes more queries: only if it doesn't.
    doubt = None if change.may_judge else changes.doubt_among(doubts, change)
    own = change.asked_by_id == person.pk
    return {
        "id": change.pk,
        "asked_by": change.asked_by.name if change.asked_by else "a command on the machine",
        "asked_at": change.asked_at,
        "text": _wish(change),
        "is_own": own,
        "why_not": f"Your confirmation doesn’t count here: {doubt.why}" if doubt else "",
        "may_confirm": not own and doubt is None,
        "command": changes.command(change),
    }


def _wish(change: PolicyChange) -> str:
    if change.removes:
        return "the rule is removed."
    if not change.after["enabled"]:
        return "the rule is switched off."
    return sentence(with_terms(change.rule, change.after))


def _may_change(person: Person, rule: PolicyRule) -> bool:
    """The service's own rule, from what the row has loaded."""
    own = person.scopes(Permission.POLICY_MANAGE)
    if rule.table is not None:
        return own.covers_table(rule.table.root_id, rule.table.pk)
    return own.covers_root(rule.root_id) if rule.root_id else own.everything


@requires(Permission.POLICY_MANAGE)
@require_http_methods(["GET", "POST"])
def policy_add(request: HttpRequest) -> HttpResponse:
    """The form of a new rule."""
    form = NewRuleForm(entered(request))
    if request.method == "POST" and form.is_valid():
        try:
            scope = scope_of(form.cleaned_data["on"].strip(), person_of(request), Permission.POLICY_MANAGE)
            rule = services.add(Actor.of(request), form.cleaned_data["command"], scope, Terms(**form.terms()))
        except Problem as problem:
            return _refused(request, form, problem)
        messages.success(request, f"The rule “{rule.name}” is added. It counts from now on.")
        return redirect("policies:list")
    return _form_page(request, form, status=400 if request.method == "POST" else 200)


@requires(Permission.POLICY_MANAGE)
@require_http_methods(["GET", "POST"])
def policy_protect(request: HttpRequest) -> HttpResponse:
    """The form of a new rule that protects a table or root, which asks once more; a link may bring along where (`on`)."""
    form = ProtectForm(entered(request), initial={"on": request.GET.get("on", "")})
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        try:
            scope = scope_of(on := given["on"].strip(), person_of(request), Permission.POLICY_MANAGE)
            if not is_answered(request):
                held = held_back(scope, given["command"])
                return ask(request, questions.of_protection(given["name"], on, given["command"], held))
            rule = services.add(Actor.of(request), given["command"], scope, Terms(given["name"], 0), forbids=True)
        except Problem as problem:
            return _refused(request, form, problem, protects=True)
        messages.success(request, f"The rule “{rule.name}” protects {on}.")
        return redirect("policies:list")
    return _form_page(request, form, status=400 if request.method == "POST" else 200, protects=True)


@requires(*READ_BY)
@require_http_methods(["GET", "POST"])
def policy(request: HttpRequest, policy_id: uuid.UUID) -> HttpResponse:
    """One rule with its terms, and a form for admins of its scope."""
    person = person_of(request)
    rule = rule_for(person, policy_id)
    context: dict[str, Any] = {"rule": _row(person, rule, Doubts(person)), "command": rule.command}
    fields = NameForm if rule.forbids else TermsForm
    if request.method == "GET":
        draft = entered(request)
        return _form_page(request, _current(rule) if draft is None else fields(draft), **context)
    form = fields(request.POST)
    if not form.is_valid():
        return _form_page(request, form, status=400, **context)
    try:
        changed = services.change(Actor.of(request), rule, **form.terms())
    except Problem as problem:
        return _refused(request, form, problem, **context)
    done = "is as it was: nothing differs" if changed.version == rule.version else "is changed"
    return _back(request, rule, f"The rule “{changed.name}” {done}.")


def _current(rule: PolicyRule) -> NameForm:
    return NameForm(initial={"name": rule.name}) if rule.forbids else form_of(terms_of(rule))


def _refused(request: HttpRequest, form: NameForm, problem: Problem, **context: Any) -> HttpResponse:
    if problem.status not in {400, 403}:
        raise problem
    fields = {FIELDS.get(name, name): text for name, text in (problem.fields or {}).items()}
    for name, text in fields.items():
        form.add_error(name if name in form.fields else None, text)
    if not fields:
        form.add_error(None, problem.detail)
    return _form_page(request, form, status=problem.status, **context)


def _form_page(request: HttpRequest, form: NameForm, status: int = 200, **context: Any) -> HttpResponse:
    return render(request, "jobs/policies/policy.html", {"form": form, **context}, status=status)


@requires(Permission.POLICY_MANAGE)
@require_POST
def policy_switch(request: HttpRequest, policy_id: uuid.UUID) -> HttpResponse:
    """Switches a rule on or off."""
    rule = rule_for(person_of(request), policy_id)
    enabled = request.POST.get("enabled") == "true"
    services.change(Actor.of(request), rule, enabled=enabled)
    return _back(request, rule, f"The rule “{rule.name}” is switched {'on' if enabled else 'off'}.")


@requires(Permission.POLICY_MANAGE)
@require_http_methods(["GET", "POST"])
def policy_remove(request: HttpRequest, policy_id: uuid.UUID) -> HttpResponse:
    """Removes a rule from the policy, after a question."""
    rule = rule_for(person_of(request), policy_id)
    if not is_answered(request):
        return ask(request, questions.of_rule(rule))
    services.remove(Actor.of(request), rule)
    return _back(request, rule, f"The rule “{rule.name}” is removed.")


def _back(request: HttpRequest, rule: PolicyRule, text: str) -> HttpResponse:
    """Redirects to the list, which shows what waits, with what was done, or a warning if the change isn't in effect yet."""
    if changes.waiting_of(rule) is not None:
        messages.warning(
            request, "This lowers the rule, so it waits for a second admin. Until then the old rule applies."
        )
    else:
        messages.success(request, text)
    return redirect("policies:list")


@requires(Permission.POLICY_MANAGE)
@require_http_methods(["GET", "POST"])
def policy_confirm(request: HttpRequest, policy_id: uuid.UUID) -> HttpResponse:
    """The second admin's confirmation of the change that the page showed, after a question."""
    rule = rule_for(person_of(request), policy_id)
    change = changes.waiting_of(rule)
    if change is not None and not is_answered(request) and not changes.doubt_of(person_of(request), change):
        return ask(request, questions.of_confirmation(rule, change, _wish(change)))
    if request.method == "GET":
        return redirect("policies:list")
    return _decided(request, policy_id, services.confirm, "The change is confirmed. It applies now.")


@requires(Permission.POLICY_MANAGE)
@require_http_methods(["GET", "POST"])
def policy_decline(request: HttpRequest, policy_id: uuid.UUID) -> HttpResponse:
    """Declines the change, or takes back your own; after a question."""
    rule = rule_for(person_of(request), policy_id)
    change = changes.waiting_of(rule)
    if change is None and request.method == "GET":
        return redirect("policies:list")
    if change is not None and not is_answered(request):
        return ask(request, questions.of_change(rule, change, is_own=change.asked_by == person_of(request)))
    return _decided(request, policy_id, services.decline, "The change won’t be made. The rule stays as it is.")


def _decided(
    request: HttpRequest, policy_id: uuid.UUID, act: Callable[[Actor, PolicyRule, uuid.UUID], None], text: str
) -> HttpResponse:
    rule = rule_for(person_of(request), policy_id)
    try:
        act(Actor.of(request), rule, uuid_of(request.POST.get("change", "")) or uuid.UUID(int=0))
    except Problem as problem:
        if problem.status not in {403, 409}:
            raise
        messages.error(request, problem.detail)
    else:
        messages.success(request, text)
    return redirect("policies:list")
