"""Secrets never enter the audit: the inventory of fields, and what really is in it after every act."""

import json
import re

import pytest
from django.apps import apps
from django.db import connection

from console.accounts.models import Token
from console.audit.models import Event
from console.audit.redaction import HARMLESS_FIELDS, REDACTED, SECRET_FIELDS, redacted
from tests.clients import API, browser
from tests.console.audit.making import event
from tests.console.audit.test_no_change_without_audit import (
    API_ACTS,
    PAGE_ACTS,
    _confirm,
    body_of,
    filled,
    things,
    wakes,
)
from tests.factories import PASSWORD, token_text

__all__ = ["things", "wakes"]
OURS = ("accounts", "audit", "tables", "jobs")
SOUNDS_SECRET = re.compile(r"password|secret|token|credential|key|hash|sha256|prefix")


def fields():
    for label in OURS:
        for model in apps.get_app_config(label).get_models():
            for field in model._meta.concrete_fields:
                yield f"{label}.{model.__name__}.{field.name}"


def test_every_field_that_sounds_secret_is_declared():
    found = {name for name in fields() if SOUNDS_SECRET.search(name.rpartition(".")[2])}
    assert found - SECRET_FIELDS - HARMLESS_FIELDS == set()


def test_every_declared_field_is_there():
    assert (SECRET_FIELDS | HARMLESS_FIELDS) - set(fields()) == set()


def test_a_secret_is_replaced_at_any_depth():
    given = {"name": "ana", "password": "x", "more": [{"secret_sha256": "y", "n": 1}], "deep": {"Prefix": "z"}}
    clean = {
        "name": "ana",
        "password": REDACTED,
        "more": [{"secret_sha256": REDACTED, "n": 1}],
        "deep": {"Prefix": REDACTED},
    }
    assert redacted(given) == clean


@pytest.mark.django_db
def test_an_event_is_written_redacted():
    made = event(before={"password": "old"}, after={"password": "new"})
    assert (made.before, made.after) == ({"password": REDACTED}, {"password": REDACTED})


@pytest.mark.django_db
def test_credentials_in_addresses_are_masked():
    made = event(after={"uri": "s3://key:hush@bucket/x"})
    assert "hush" not in str(made.after)


@pytest.mark.django_db
def test_after_every_act_no_secret_is_in_the_audit(things, wakes, redis_server):
    text = token_text(things["who"])
    client = browser(things["who"])
    client.raise_request_exception = False
    _confirm(client)
    for act, body in API_ACTS.items():
        method, _, address = act.partition(" ")
        given = body_of(body, things)
        bearer = {"authorization": f"Bearer {text}"}
        client.generic(
            method,
            filled(f"{API}{address}", things),
            json.dumps(given),
            content_type="application/json",
            headers=bearer,
        )
    for address, body in PAGE_ACTS.items():
        if body is not None and address != "/sign-out/":
            client.post(filled(address, things), body_of(body, things))
    assert Event.objects.count() > 20
    secrets = [PASSWORD, "a much longer passphrase", text, client.session.session_key]
    secrets += Token.objects.values_list("secret_sha256", flat=True)
    with connection.cursor() as cursor:
        cursor.execute("select e::text from audit.event e")
        everything = "\n".join(row[0] for row in cursor)
    assert [secret for secret in secrets if secret and secret in everything] == []


def test_a_passphrase_never_enters():
    kept = redacted({"passphrase": "open sesame", "at": {"passphrase": "x"}})
    assert kept == {"passphrase": REDACTED, "at": {"passphrase": REDACTED}}
