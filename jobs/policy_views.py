"""Administration, policies: the rules as sentences, and forms to add, change, switch and remove one."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from console.accounts.models import Person
from console.accounts.permissions import asks, person_of
from console.accounts.roles import Permission
from console.accounts.scopes import scope_of
from console.audit.actor import Actor
from console.errors import Problem
from jobs import policy_services
from jobs.domain.policy import sentence
from jobs.models import PolicyRule
from jobs.policies import as_rule
from jobs.policy_forms import NewRuleForm, TermsForm, form_of
from jobs.policy_queries import READ_BY, rule_for, rules_for
from jobs.policy_services import Terms, on_text, terms_of

MOST = 500
# The service's names for what a form asks in other words.
FIELDS = {"min_share": "min_percent", "class": "table_class"}


@asks(*READ_BY)
@require_GET
def policies(request: HttpRequest) -> HttpResponse:
    """Every rule in a sentence."""
    person = person_of(request)
    rules = [_row(person, rule) for rule in rules_for(person).order_by("command", "name", "id")[:MOST]]
    context = {"rules": rules, "may_add": person.may(Permission.POLICY_MANAGE)}
    return render(request, "jobs/policies.html", context)


def _row(person: Person, rule: PolicyRule) -> dict[str, Any]:
    return {
        "id": rule.pk,
        "name": rule.name,
        "sentence": sentence(as_rule(rule)),
        "on": on_text(rule),
        "enabled": rule.enabled,
        "version": rule.version,
        "changed_at": rule.changed_at,
        "changed_by": rule.changed_by.name if rule.changed_by else "",
        "may_change": _may_change(person, rule),
    }


def _may_change(person: Person, rule: PolicyRule) -> bool:
    """As the service decides it, from what the row has brought along."""
    own = person.scopes(Permission.POLICY_MANAGE)
    if rule.table is not None:
        return own.covers_table(rule.table.root_id, rule.table.pk)
    return own.covers_root(rule.root_id) if rule.root_id else own.everything


@asks(Permission.POLICY_MANAGE)
@require_http_methods(["GET", "POST"])
def policy_add(request: HttpRequest) -> HttpResponse:
    """The form of a new rule."""
    form = NewRuleForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            scope = scope_of(form.cleaned_data["on"].strip())
            policy_services.add(Actor.of(request), form.cleaned_data["command"], scope, Terms(**form.terms()))
        except Problem as problem:
            return _refused(request, form, problem)
        return redirect("policies:list")
    return _form_page(request, form, status=400 if form.errors else 200)


@asks(*READ_BY)
@require_http_methods(["GET", "POST"])
def policy(request: HttpRequest, policy_id: uuid.UUID) -> HttpResponse:
    """One rule: its terms, to be changed by who may."""
    person = person_of(request)
    rule = rule_for(person, policy_id)
    context: dict[str, Any] = {"rule": _row(person, rule), "command": rule.command}
    if request.method == "GET":
        return _form_page(request, form_of(terms_of(rule)), **context)
    form = TermsForm(request.POST)
    if not form.is_valid():
        return _form_page(request, form, status=400, **context)
    try:
        policy_services.change(Actor.of(request), rule, **form.terms())
    except Problem as problem:
        return _refused(request, form, problem, **context)
    return redirect("policies:list")


def _refused(request: HttpRequest, form: TermsForm, problem: Problem, **context: Any) -> HttpResponse:
    if problem.status not in {400, 403}:
        raise problem
    fields = {FIELDS.get(name, name): text for name, text in (problem.fields or {}).items()}
    for name, text in fields.items():
        form.add_error(name if name in form.fields else None, text)
    if not fields:
        form.add_error(None, problem.detail)
    return _form_page(request, form, status=problem.status, **context)


def _form_page(request: HttpRequest, form: TermsForm, status: int = 200, **context: Any) -> HttpResponse:
    return render(request, "jobs/policy.html", {"form": form, **context}, status=status)


@asks(Permission.POLICY_MANAGE)
@require_POST
def policy_switch(request: HttpRequest, policy_id: uuid.UUID) -> HttpResponse:
    """Switches a rule on or off, as the button said."""
    rule = rule_for(person_of(request), policy_id)
    policy_services.change(Actor.of(request), rule, enabled=request.POST.get("enabled") == "true")
    return redirect("policies:list")


@asks(Permission.POLICY_MANAGE)
@require_POST
def policy_remove(request: HttpRequest, policy_id: uuid.UUID) -> HttpResponse:
    """Takes a rule out of the policy."""
    policy_services.remove(Actor.of(request), rule_for(person_of(request), policy_id))
    return redirect("policies:list")
