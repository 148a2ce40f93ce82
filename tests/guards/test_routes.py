"""Every address declares what it asks, and answers each role as docs/permissions.md says (F8)."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from django.conf import settings
from django.db import transaction
from django.test import Client

from console.accounts.models import Grant
from console.accounts.permissions import Open, asked_by
from console.accounts.roles import Permission, Role
from jobs.models import Read
from tables.models import Table
from tests import factories
from tests.clients import Caller, confirmed_browser
from tests.guards.routes import METHODS, handled, patterns, routes

PAGE = Path(__file__).parents[2] / "docs" / "permissions.md"
EVERYBODY, EVERY_PERSON = "everybody", "every person"


def declared() -> list[tuple[str | None, str, str]]:
    """The page's rows: method (None for a page), address, roles."""
    cells = [[c.strip() for c in line.strip("|\n").split("|")] for line in PAGE.open() if line.startswith("| ")]
    rows = [(row[0], row[1].strip("`"), row[3]) for row in cells if len(row) == 4 and row[0] in METHODS]
    return rows + [(None, row[0].strip("`"), row[2]) for row in cells if len(row) == 3 and row[0].startswith("`/")]


ADDRESSES = declared()


@pytest.mark.parametrize(
    ("address", "view"), list(patterns()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_address_declares_what_it_asks(address, view):
    asked = asked_by(view)
    assert asked, f"{address} declares nothing"
    if isinstance(asked, Mapping):
        assert address.startswith("/api/") or address == "/metrics"
        assert set(asked) == handled(view), "one entry for each method, and none for what there is not"
        every = [a for value in asked.values() for a in (value if isinstance(value, tuple) else (value,))]
    else:
        every = list(asked)
    assert every
    assert all(isinstance(a, Permission | Open) for a in every)


def test_nothing_is_public_by_chance():
    public = {r.address for r in routes() if r.is_public}
    assert public == {
        "/sign-in/",
        "/first-sign-in/",
        "/health/live",
        "/health/ready",
        "/api/v1/schema/",
        "/help/",
        "/help/<path:name>/",
        "/api/v1/",
        "/api/v1/sign-ins",
        "/api/v1/sign-ins/<uuid:sign_in_id>",
        "/help/api/<slug:operation>/",
    }


@pytest.fixture
def things(tmp_path):
    """One of everything, as the addresses name them, belonging to whoever calls."""
    for name in ("orders", "lake"):
        (tmp_path / name).mkdir()
    root = factories.RootFactory(uri=str(tmp_path))
    table = factories.TableFactory(root=root, name="orders")

    def of(person):
        other = factories.person_with("viewer")
        question = {"path": table.path}
        job = factories.job(table=table, requested_by=person, parameters={"by": person.name})
        return {
            "root_id": root.pk,
            "table_id": table.pk,
            "job_id": job.pk,
            "short": str(job.pk)[:8],
            "act": "events",
            "read_id": factories.read(person, question=question, state=Read.State.ANSWERED, answer=factories.inspection(table.path)).pk,
            "worker_id": factories.WorkerFactory().pk,
            "token_id": factories.token_row(person).pk,
            "sign_in_id": factories.sign_in()[0].pk,
            "event_id": factories.event(table).pk,
            "policy_id": factories.PolicyRuleFactory(scope="root", root=root).pk,
            "person_id": other.pk,
            "notice_id": factories.notice().pk,
            "stream_id": factories.stream(table, person).pk,
            "schedule_id": factories.schedule(table, person).pk,
            "grant_id": Grant.objects.get(person=other).pk,
            "version": 0,
            "database": "shop",
            "name": "concepts",
            "kind": "csv",
            "operation": "jobs-list",
        }  # fmt: skip

    return of


def filled(address, things):
    return re.sub(r"<\w+:(\w+)>", lambda m: str(things[m[1]]), address)


BODIES = {"reset": {"reason": "another directory"}}  # judged before the object is looked up


def call(client, method, address):
    """The answer; a page that is for POST alone is posted to."""
    body = None if method in (None, "GET") else json.dumps(BODIES.get(address.rpartition("/")[2], {}))
    answer = client.generic(method or "GET", address, body or "", content_type="application/json")
    if method is None and answer.status_code == 405:
        return client.post(address, {"path": Table.objects.get().path})
    return answer


@pytest.fixture
def undone():
    """Calls something and takes back what it did, so that the next call meets the same things."""

    def call_undone(*arguments):
        with transaction.atomic():
            answer = call(*arguments)
            transaction.set_rollback(True)
        return answer.status_code

    return call_undone


@pytest.mark.django_db
@pytest.mark.parametrize("role", [*Role, "no role", "stranger"])
def test_every_address_answers_every_role_as_declared(role, things, undone, redis_server):
    person = factories.person_with(role if role in Role.values else None)
    mine, program = things(person), Client() if role == "stranger" else Caller(person).client
    pages = confirmed_browser(person)
    cookie = pages.cookies[settings.SESSION_COOKIE_NAME].value
    program.raise_request_exception = pages.raise_request_exception = False
    wrong = []
    for method, address, roles in ADDRESSES:
        client = program if method or role == "stranger" else pages
        if client is pages:  # the same session each time: what a page did to it is taken back
            client.cookies.clear()
            client.cookies[settings.SESSION_COOKIE_NAME] = cookie
        status = undone(client, method, filled(address, mine))
        allowed = roles == EVERYBODY or (role != "stranger" and (roles == EVERY_PERSON or role in roles.split(", ")))
        if not as_declared(status, allowed, role, method):
            wrong.append((method, address, roles, status))
    assert not wrong


def as_declared(status, allowed, role, method):
    if allowed:
        return status not in (401, 403) and status < 500
    if role == "stranger":
        return status == (401 if method else 302)
    return status == 403


@pytest.mark.django_db
def test_a_token_that_only_reads_changes_nothing(things):
    person = factories.PersonFactory()
    for role in Role:
        factories.GrantFactory(person=person, role=role)
    client, mine = Caller(person, "read").client, things(person)
    of_table = (f"tables/<uuid:table_id>/{act}" for act in ("rows", "changes", "row-diff", "profile", "check-files"))
    reading = {f"/api/v1/{address}" for address in ("conversions/inspect", "previews", *of_table)}
    reading |= {"/api/v1/sign-ins", "/api/v1/me/token"}  # asks for a person's word; takes the token itself away
    for method, address, _ in ADDRESSES:
        if (
            method and method != "GET" and address not in reading and "<short_id:" not in address
        ):  # handed on to the whole id's
            assert call(client, method, filled(address, mine)).status_code == 403, address


@pytest.mark.django_db
def test_an_object_outside_the_scope_is_not_there(things):
    person = factories.person_with(None)
    for role in Role:
        factories.GrantFactory(person=person, role=role, root=factories.RootFactory())
    mine = things(factories.PersonFactory())
    program, pages = Caller(person).client, confirmed_browser(person)
    for method, address, _ in ADDRESSES:
        if re.search("<uuid:(root|table|job|read|token|policy|stream|schedule|event)_id>", address):
            client = program if method else pages
            assert call(client, method, filled(address, mine)).status_code == 404, address
