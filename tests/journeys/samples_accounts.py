"""Sample contexts for the pages of people, sessions, tokens and policies."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm

from console.accounts.models import Scopes
from console.accounts.roles import SCOPE_MEANS, Permission
from console.accounts.sign_in.drafts import Draft
from console.accounts.sign_in.program_sign_ins import UNKNOWN
from console.accounts.sign_in.step_up import why
from console.pages.people.forms import (
    ChangePasswordForm,
    CodeForm,
    ConfirmForm,
    FirstPasswordForm,
    GrantForm,
    NewPersonForm,
    TokenForm,
)
from jobs.policy.services import Terms
from jobs.web.policies.forms import NameForm, NewRuleForm, ProtectForm, form_of
from tests.hostile_texts import hostile_long, hostile_whole

NOW = datetime.now(UTC)
LONG_PATH = "/lake/landing/partner_feeds/order_returns_with_a_rather_long_directory_name_2025"
NAV = {permission.value.replace(".", "_"): True for permission in Permission}


def before(**distance: float) -> datetime:
    return NOW - timedelta(**distance)


class Someone:
    """A person as pages see one: the attributes of `console.accounts.models.Person`."""

    is_authenticated = True
    is_active = True
    must_change_password = False
    last_login = before(hours=2)
    created_at = before(days=40)
    live_tokens = 0
    nav = NAV
    density, time_zone, shortcuts = "compact", "UTC", True

    def __init__(self, name: str = "ines", theme: str = "auto", **facts: Any) -> None:
        self.id = uuid.uuid4()
        self.name, self.theme = name, theme
        self.granted: list[dict[str, Any]] = []
        self.__dict__.update(facts)

    def get_username(self) -> str:
        return self.name

    def scopes(self, permission: Permission) -> Scopes:
        return Scopes(everything=True, roots=frozenset(), tables=frozenset())


def grant(role: str, on: str, by: str | None = "admin") -> dict[str, Any]:
    given = {"granted_at": before(days=12), "granted_by": {"name": by} if by else None}
    return {"id": uuid.uuid4(), "role": role, "scope_text": on, **given}


INES = Someone(
    "ines",
    live_tokens=2,
    granted=[grant("operator", "root:sample"), grant("viewer", f"table:{hostile_whole(LONG_PATH)}", by=None)],
)
MARC = Someone("marc", must_change_password=True, last_login=None, granted=[grant("approver", "everything")])
EVE = Someone("eve", must_change_password=True, last_login=None, created_at=before(seconds=2))
PEOPLE = [
    Someone("admin", granted=[grant("admin", "everything", by=None), grant("operator", "everything", by=None)]),
    INES,
    MARC,
    Someone("tom", is_active=False),
]
TOKENS = [
    {
        "id": uuid.uuid4(),
        "label": "airflow on node 3",
        "prefix": "k3v9q2",
        "scopes": ["read", "request"],
        "last_used_at": before(minutes=3),
        "expires_at": before(days=-80),
        "revoked_at": None,
    },
    {
        "id": uuid.uuid4(),
        "label": hostile_long("laptop"),
        "prefix": "m0t4x8",
        "scopes": ["read"],
        "last_used_at": None,
        "expires_at": before(days=-300),
        "revoked_at": before(days=2),
    },
]


def refused(form: forms.Form, field: str | None, text: str) -> forms.Form:
    """The form as it comes back with a fault at a field, or with one of the whole."""
    form.errors.clear()
    form.cleaned_data = {}
    form.add_error(field, text)
    return form


def person_page(person: Someone, **more: Any) -> tuple[str, dict[str, Any]]:
    grants = [{"grant": held, "may_remove": "everything" not in held["scope_text"]} for held in person.granted]
    places = ["everything", "root:sample"]
    context = {"person": person, "grants": grants, "form": GrantForm(), "places": places, "may_close": True}
    context["appointed"] = "added by admin and vouched for, made approver by admin"
    return "accounts/person.html", context | more


def rule(name: str, sentence: str, **facts: Any) -> dict[str, Any]:
    usual = {
        "id": uuid.uuid4(),
        "on": "everything",
        "enabled": True,
        "version": 1,
        "changed_at": before(days=3),
        "changed_by": "",
        "may_change": True,
        "waiting": None,
    }
    return {"name": name, "sentence": sentence, **usual, **facts}


def waiting(text: str, **facts: Any) -> dict[str, Any]:
    usual = {
        "id": uuid.uuid4(),
        "asked_by": "admin",
        "asked_at": before(hours=3),
        "text": text,
        "is_own": False,
        "why_not": "",
    }
    return usual | {"may_confirm": True, "command": f"manage.py policy confirm {uuid.uuid4()}"} | facts


RULES = [
    rule(hostile_long("A convert writes only _delta_log"), "a convert job needs no approval."),
    rule("A delete is seen by a second person", "a delete job needs 1 approver."),
    rule("A whole table is seen by two", "a delete job on a whole table needs 2 approvers.", enabled=False),
    rule(
        "Much of the returns",
        "an ordinary delete job (from 12.5% of the rows on) needs 3 approvers; a token’s approval doesn’t count.",
        on=f"table:{hostile_whole(LONG_PATH)}",
        version=4,
        changed_by="admin",
        may_change=False,
    ),
]
NOTICES = [
    {
        "notice": {
            "id": uuid.uuid4(),
            "text": f"admin gave ines the role approver on table:{hostile_whole(LONG_PATH)}.",
            "at": before(minutes=3),
        },
        "why_not": "",
    },
    {
        "notice": {
            "id": uuid.uuid4(),
            "text": "ines, asked by admin, lowered the rule “A delete is seen by two”.",
            "at": before(days=2),
        },
        "why_not": "This is about you, so another admin or auditor has to acknowledge it.",
    },
]
DOUBT = "Your confirmation doesn’t count here: admin gave ines the role admin."
TERMS = Terms("A delete is seen by a second person", 1, min_share=0.125, refuses_tokens=True)
CLOSED = {"detail": "Too many wrong passwords from here. Try again in 12 minutes, at 14:07:31 UTC."}
SIGN_IN = "accounts/sign_in.html"
PEOPLE_PAGE: dict[str, Any] = {"people": PEOPLE, "form": NewPersonForm(), "may_add": True}
DRAFT = Draft("/people/add/", "/people/", [["name", hostile_long("name")], ["note", hostile_whole("note")]], ["secret"])
FIRST_SIGN_IN = "accounts/first_sign_in.html"
PAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "sign-in": (SIGN_IN, {"form": AuthenticationForm(), "next": "/"}),
    "sign-in-refused": (
        SIGN_IN,
        {"form": refused(AuthenticationForm(data={}), None, "Name and password don’t match."), "next": "/"},
    ),
    "sign-in-closed": (SIGN_IN, {"form": AuthenticationForm(), "next": "/", "problem": CLOSED}),
    "sign-in-ended": (SIGN_IN, {"form": AuthenticationForm(), "next": "/", "draft": "sealed"}),
    "confirm": (
        "accounts/confirm.html",
        {"form": ConfirmForm(), "next": "/jobs/", "recent": False, "why": why("decision"), "purpose": "decision"},
    ),
    "confirm-draft": (
        "accounts/confirm.html",
        {"form": ConfirmForm(), "next": "/jobs/", "recent": False, "why": why("token"), "draft": DRAFT},
    ),
    "draft": ("accounts/people.html", {**PEOPLE_PAGE, "kept": {"draft": DRAFT, "filled_in": False}}),
    "draft-filled-in": ("accounts/people.html", {**PEOPLE_PAGE, "kept": {"draft": DRAFT, "filled_in": True}}),
    "confirm-refused": (
        "accounts/confirm.html",
        {
            "form": refused(ConfirmForm({}), "password", CLOSED["detail"]),
            "next": "/jobs/",
            "recent": True,
            "why": why(""),
        },
    ),
    "password": ("accounts/change_password.html", {"form": ChangePasswordForm()}),
    "password-refused": (
        "accounts/change_password.html",
        {"form": refused(ChangePasswordForm({}), "new_password", "This password is too short.")},
    ),
    "tokens": (
        "accounts/tokens.html",
        {"tokens": TOKENS, "form": TokenForm(), "new_token_text": "lv_k3v9q2_" + "a1b2c3d4" * 5},
    ),
    "tokens-none": ("accounts/tokens.html", {"tokens": [], "form": TokenForm(), "new_token_text": ""}),
    "sign-in-program": ("accounts/sign_in_program.html", {"form": CodeForm(), "asked": None}),
    "sign-in-program-unknown": (
        "accounts/sign_in_program.html",
        {"form": refused(CodeForm({"code": "WDJB-MJHT"}), "code", UNKNOWN), "asked": None},
    ),
    "sign-in-program-asked": (
        "accounts/sign_in_program.html",
        {
            "asked": {
                "machine": hostile_long("laptop"),
                "address": "2001:db8:0:1234::7",
                "requested_at": before(seconds=40),
            },
            "scopes": [(scope.value, text) for scope, text in SCOPE_MEANS.items()],
            "code": "WDJB-MJHT",
            "address": "192.0.2.7",
            "days": 90,
        },
    ),
    "people": ("accounts/people.html", PEOPLE_PAGE),
    "people-of-a-root": ("accounts/people.html", {"people": PEOPLE, "form": NewPersonForm(), "may_add": False}),
    "person": person_page(INES),
    "person-new": person_page(EVE, first_link=f"https://levee.example.org/first-sign-in/?link={'pX3-9vQm' * 5}"),
    "person-without-password": person_page(EVE, may_link=True),
    "first-sign-in": (FIRST_SIGN_IN, {"form": FirstPasswordForm(initial={"link": "x"}), "person": EVE}),
    "first-sign-in-refused": (
        FIRST_SIGN_IN,
        {
            "form": refused(FirstPasswordForm({"link": "x"}), "new_password", "This password is too short."),
            "person": EVE,
        },
    ),
    "first-sign-in-too-late": (FIRST_SIGN_IN, {}),
    "person-refused": person_page(
        PEOPLE[0],
        refused="This is the last admin of everything; give another person that role first. Nothing was changed.",
    ),
    "policies": ("jobs/policies/policies.html", {"rules": RULES, "may_add": True}),
    "policies-waiting": (
        "jobs/policies/policies.html",
        {
            "rules": [
                RULES[1] | {"waiting": waiting("the rule is switched off.")},
                RULES[2]
                | {
                    "waiting": waiting(
                        "a delete job on a whole table needs 1 approver.", is_own=True, may_confirm=False
                    )
                },
                RULES[3] | {"waiting": waiting("the rule is removed.", why_not=DOUBT, may_confirm=False)},
            ],
            "may_add": True,
        },
    ),
    "policies-none": ("jobs/policies/policies.html", {"rules": [], "may_add": False}),
    "policy-new": ("jobs/policies/policy.html", {"form": NewRuleForm()}),
    "policy-protect": ("jobs/policies/policy.html", {"form": ProtectForm(), "protects": True}),
    "policy-protects": (
        "jobs/policies/policy.html",
        {
            "form": NameForm(initial={"name": "The ledger"}),
            "rule": RULES[1] | {"name": "The ledger", "sentence": "Levee changes nothing here.", "protects": True},
            "command": "any",
        },
    ),
    "policy-refused": (
        "jobs/policies/policy.html",
        {"form": refused(NewRuleForm({"name": "x", "on": "root:none"}), "on", "no root is named none")},
    ),
    "policy": ("jobs/policies/policy.html", {"form": form_of(TERMS), "rule": RULES[1], "command": "delete"}),
    "policy-read": ("jobs/policies/policy.html", {"form": form_of(TERMS), "rule": RULES[3], "command": "delete"}),
}
