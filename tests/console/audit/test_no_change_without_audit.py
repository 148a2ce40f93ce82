"""No change without its record (F5): while the audit can't be written, every address that changes something answers 503."""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.db import transaction
from django.test import Client
from django.utils import timezone

from console.accounts.models import FirstLink, Grant, Notice, Person, SignInRequest, Token
from console.accounts.roles import Role
from console.accounts.sign_in import first_links
from console.audit.actor import Actor
from console.base.questions import SURE
from console.supervisor.servers import postgres
from jobs.commands.optimize.rules import Optimize
from jobs.models import (
    Decision,
    Edit,
    Job,
    JobEvent,
    PolicyChange,
    PolicyRule,
    Schedule,
    ScheduleDecision,
    Stream,
    StreamRound,
    Worker,
)
from jobs.policy import changes, services
from jobs.schedules import acts as schedule_acts
from jobs.schedules.definition import WantedSchedule
from jobs.streams import acts
from tables.models import Addition, Explanation, Finding, ObjectStore, Root, Table
from tables.sync import table as syncing
from tests import factories
from tests.clients import API, Caller, browser
from tests.factories import PASSWORD, lakes
from tests.guards.routes import Route, routes
from tests.jobs import small_delta

pytestmark = pytest.mark.django_db

KEPT = (
    Person,
    FirstLink,
    Notice,
    SignInRequest,
    Grant,
    Root,
    ObjectStore,
    Table,
    Job,
    JobEvent,
    Decision,
    Edit,
    PolicyRule,
    PolicyChange,
    Worker,
    Explanation,
    Stream,
    Schedule,
    ScheduleDecision,
    StreamRound,
    Addition,
)
# What a sign-in’s own book-keeping may move meanwhile.
NEVER_KEPT = {"last_login"}
WHY = {"reason": "because"}

# What is posted to each address; a callable is given the things that the address names.
API_ACTS = {
    "POST /grants": lambda t: {"person": t["other"].name, "role": "operator", "on": "everything"},
    "DELETE /grants/<uuid:grant_id>": {},
    "POST /jobs": lambda t: {"command": "delete", "table": str(t["table_id"]), "predicate": "id = 1", **WHY},
    "POST /jobs/<uuid:job_id>/approve": lambda t: {"digest": t["digest"]},
    "POST /jobs/<uuid:job_id>/reject": lambda t: {"digest": t["digest"]},
    "POST /jobs/<uuid:job_id>/comment": {"comment": "hm"},
    "POST /jobs/<uuid:own_id>/cancel": {},
    "POST /jobs/<uuid:own_id>/edit": {"predicate": "id = 2", **WHY},
    "POST /jobs/<uuid:own_id>/withdraw": {},
    "POST /jobs/<uuid:done_id>/undo": WHY,
    "POST /people": {"name": "eve"},
    "PATCH /people/<uuid:person_id>": {"is_active": False},
    "POST /policies": {"name": "two", "command": "delete", "required_approvals": 2},
    "PATCH /policies/<uuid:policy_id>": {"enabled": False},
    "DELETE /policies/<uuid:policy_id>": {},
    "POST /metastore/databases/<str:database>/tables": {"all": True},
    "POST /notices/<uuid:notice_id>/acknowledge": {},
    "POST /policies/<uuid:policy_id>/confirm": lambda t: {"change": str(t["change"])},
    "POST /policies/<uuid:policy_id>/decline": lambda t: {"change": str(t["change"])},
    "POST /roots": lambda t: {"name": "another", "uri": str(t["place"] / "another")},
    "PATCH /roots/<uuid:root_id>": {"sync_seconds": 60},
    "PUT /roots/<uuid:stored_id>/storage": {"region": "eu-west-1"},
    "DELETE /roots/<uuid:empty_id>": {},
    "POST /roots/<uuid:root_id>/additions": {},
    "POST /roots/<uuid:root_id>/pause": {},
    "POST /roots/<uuid:paused_id>/resume": {},
    "POST /roots/<uuid:root_id>/scan": {},
    "POST /streams": lambda t: {"name": "new", **t["stream"], **WHY},
    "PATCH /streams/<uuid:stream_id>": {"filter": "id > 1"},
    "DELETE /streams/<uuid:stream_id>": {},
    "POST /streams/<uuid:stream_id>/start": {},
    "POST /streams/<uuid:running_id>/stop": {},
    "POST /streams/<uuid:stream_id>/run-once": {},
    "POST /streams/<uuid:stream_id>/reset": WHY,
    "POST /schedules": lambda t: {**t["schedule"], **WHY},
    "PATCH /schedules/<uuid:schedule_id>": {"cron": "0 4 * * *"},
    "DELETE /schedules/<uuid:schedule_id>": {},
    "POST /schedules/<uuid:schedule_id>/pause": {},
    "POST /schedules/<uuid:idle_id>/resume": {},
    "POST /schedules/<uuid:asked_id>/approve": lambda t: {"digest": t["asked_digest"]},
    "POST /schedules/<uuid:asked_id>/reject": lambda t: {"digest": t["asked_digest"]},
    "POST /tables": lambda t: {"path": str(t["place"] / "new")},
    "PATCH /tables/<uuid:table_id>": {"owner": "finance"},
    "PATCH /tables/<uuid:table_id>#name": {"catalog_name": "shop.sales"},
    "DELETE /tables/<uuid:table_id>": {},
    "POST /tables/<uuid:table_id>/changes": {"from_version": 0},
    "POST /tables/<uuid:table_id>/rows": {},
    "POST /tables/<uuid:table_id>/check-files": {},
    "POST /tables/<uuid:table_id>/row-diff": {"from_version": 0, "to_version": 1},
    "POST /tables/<uuid:table_id>/profile": {},
    "POST /tables/<uuid:table_id>/sync": {},
    "POST /tables/<uuid:table_id>/commits/<int:version>/acknowledge": WHY,
    "POST /tokens": {"label": "new"},
    "DELETE /me/token": {},
    "DELETE /tokens/<uuid:token_id>": {},
    "POST /workers/<uuid:worker_id>/drain": {},
    "POST /workers/<uuid:worker_id>/restart": {},
}
FORM = {
    "source_kind": "files",
    "format": "json",
    "schema": "id BIGINT",
    "output_mode": "append",
    "trigger": "every",
    "interval": "30",
}
PAGE_ACTS = {
    "/account/password/": {
        "old_password": PASSWORD,
        "new_password": "a much longer passphrase",
        "new_password_again": "a much longer passphrase",
    },
    "/account/tokens/": {"label": "new", "scopes": ["read"]},
    "/sign-in/program/": lambda t: {"code": t["code"], "do": "confirm"},
    "/sign-in/program/#deny": lambda t: {"code": t["code"], "do": "deny"},
    "/account/tokens/<uuid:token_id>/revoke/": {},
    "/audit/verification/": {},
    "/confirm/": {"password": PASSWORD},
    "/jobs/<uuid:own_id>/cancel/": {},
    # One address, several acts: what follows # tells them apart.
    "/jobs/<uuid:job_id>/review/": {"act": "comment", "comment": "hm"},
    "/jobs/<uuid:job_id>/review/#approve": lambda t: {"act": "approve", "digest": t["digest"]},
    "/jobs/<uuid:job_id>/review/#reject": lambda t: {"act": "reject", "digest": t["digest"]},
    "/jobs/<uuid:own_id>/review/#edit": {"act": "edit", "predicate": "id = 2", **WHY},
    "/jobs/<uuid:own_id>/review/#withdraw": {"act": "withdraw"},
    "/jobs/<uuid:done_id>/undo/": WHY,
    "/tables/<uuid:table_id>/delete/": {"do": "request", "text": "id = 1", **WHY},
    "/tables/<uuid:table_id>/schema/change/": {"do": "request", "kind": "table_comment", "text": "sold", **WHY},
    "/tables/<uuid:table_id>/clone/": lambda t: {
        "do": "request",
        "target": str(t["place"] / "copy"),
        "kind": "deep",
        **WHY,
    },
    "/tables/<uuid:table_id>/optimize/": {"do": "request", **WHY},
    "/tables/<uuid:table_id>/vacuum/": {"do": "request", **WHY},
    "/tables/<uuid:table_id>/reorg/": {"do": "request", **WHY},
    "/tables/<uuid:table_id>/repair/": {"do": "request", **WHY},
    "/tables/<uuid:table_id>/drop-feature/": {"do": "request", "feature": "checkConstraints", **WHY},
    "/tables/<uuid:table_id>/properties/": {"do": "request", "added": "team = me", **WHY},
    "/tables/<uuid:table_id>/restore/": {"version": "0", "accept": "1-1", "name": "sales", **WHY},
    "/people/<uuid:person_id>/access/": {"active": "false"},
    "/people/<uuid:person_id>/grants/": {"role": "operator", "on": "everything"},
    "/people/<uuid:person_id>/grants/<uuid:grant_id>/remove/": {},
    "/people/add/": {"name": "eve"},
    "/people/<uuid:unseen_id>/first-link/": {},
    "/home/story/colleagues/": lambda t: _at_the_colleagues(t["who"]) | {"asker": "ursula"},
    "/first-sign-in/": lambda t: {
        "link": t["link"],
        "new_password": "a much longer passphrase",
        "new_password_again": "a much longer passphrase",
    },
    "/policies/<uuid:policy_id>/remove/": {},
    "/policies/<uuid:policy_id>/switch/": {},
    "/notices/<uuid:notice_id>/acknowledge/": {},
    "/policies/<uuid:policy_id>/confirm/": lambda t: {"change": str(t["change"])},
    "/policies/<uuid:policy_id>/decline/": lambda t: {"change": str(t["change"])},
    "/policies/add/": {"name": "two", "command": "delete", "on": "everything", "required_approvals": 2},
    "/policies/protect/": {"name": "Ledger", "command": "vacuum", "on": "everything"},
    "/policies/<uuid:policy_id>/": {"name": "changed", "required_approvals": 3},
    "/convert/": lambda t: {"path": str(t["place"] / "plain"), **WHY},
    "/tables/roots/<uuid:root_id>/": lambda t: {"path": str(t["place"] / "new")},
    "/schedules/new/": lambda t: {**t["form"], **WHY},
    "/schedules/<uuid:schedule_id>/edit/": lambda t: {**t["form"], "cron": "0 4 * * *", **WHY},
    "/schedules/<uuid:schedule_id>/pause/": {},
    "/schedules/<uuid:idle_id>/resume/": {},
    "/schedules/<uuid:schedule_id>/remove/": WHY,
    "/schedules/<uuid:asked_id>/decide/": lambda t: {"act": "approve", "digest": t["asked_digest"]},
    "/streams/new/": lambda t: {
        **FORM,
        "name": "new",
        "path": str(t["place"] / "landing"),
        "target_path": str(t["place"] / "two"),
        **WHY,
    },
    "/streams/<uuid:stream_id>/edit/": lambda t: {
        **FORM,
        "name": "clicks",
        "path": str(t["place"] / "landing"),
        "filter": "id > 1",
        **WHY,
    },
    "/streams/<uuid:stream_id>/start/": {},
    "/streams/<uuid:running_id>/stop/": {},
    "/streams/<uuid:stream_id>/run-once/": {},
    "/streams/<uuid:stream_id>/reset/": WHY,
    "/streams/<uuid:stream_id>/remove/": WHY,
    "/sign-in/": lambda t: {"username": t["other"].name, "password": PASSWORD},
    "/sign-out/": {},
    "/tables/<uuid:table_id>/commits/<int:version>/acknowledge/": WHY,
    "/tables/<uuid:table_id>/describe/": {"owner": "finance", "description": "", "tags": "", "catalog_name": ""},
    "/tables/<uuid:table_id>/describe/#name": {
        "owner": "",
        "description": "",
        "tags": "",
        "catalog_name": "shop.sales",
    },
    "/tables/<uuid:table_id>/hide/": {},
    "/tables/metastore/<str:database>/": {"do": "all"},
    "/tables/<uuid:table_id>/sync/": {},
    "/tables/<uuid:table_id>/files/check/": {},
    "/tables/add/": lambda t: {"path": str(t["place"] / "new")},
    "/tables/roots/<uuid:root_id>/scan/": {},
    "/tables/roots/<uuid:root_id>/add-all/": {},
    "/roots/add/": lambda t: {"do": "add", "name": "another", "uri": str(t["place"] / "another")},
    "/roots/<uuid:root_id>/edit/": {"name": "renamed", "sync_seconds": 60},
    "/roots/<uuid:root_id>/pause/": {},
    "/roots/<uuid:stored_id>/storage/": {"do": "save", "region": "eu-west-1"},
    "/roots/<uuid:paused_id>/resume/": {},
    "/roots/<uuid:empty_id>/remove/": {"name": "empty"},
    "/roots/sample-lake/remove/": {"name": "sample"},
    "/workers/<uuid:worker_id>/drain/": {},
    "/workers/<uuid:worker_id>/restart/": {},
    "/tables/<uuid:table_id>/rows/": None,  # read by GET: rows are shown on record only
    "/audit/": None,
    "/audit/<uuid:event_id>/": None,
    "/jobs/<uuid:job_id>/life/": None,
}
# Asking without changing anything, or one's own comfort.
NO_ACTS = {
    "POST /conversions/inspect": "reads footers, keeps the answer ten minutes for who asked",
    "POST /previews": "measures from the log",
    "POST /jobs/<short_id:short>": "is handed on to the address with the whole id",
    "POST /jobs/<short_id:short>/<str:act>": "is handed on to the address with the whole id",
    "POST /sign-ins": "asks for a person’s word, which is on record",
    "POST /roots/test": "looks at a place; of a test of writing nothing stays",
    "PUT /tables/<uuid:table_id>/favourite": "one's own mark on a table",
    "DELETE /tables/<uuid:table_id>/favourite": "takes one's own mark from a table",
    "/tables/<uuid:table_id>/favourite/": "one's own mark on a table",
    "/account/theme/": "how the pages look",
    "/account/draft/discard/": "forgets what one had entered oneself, and not sent",
    "/home/story/dismiss/": "puts the first story away on one's own home",
    "/account/preferences/": "how the pages look to oneself",
    "/account/lists/": "how one has one’s lists",
    "/account/filters/": "names for addresses of one’s own",
    "/tables/<uuid:table_id>/delete/preview/": "measures from the log",
    "/tables/<uuid:table_id>/delete/count/": "has Spark count, keeps the answer ten minutes for who asked",
    "/convert/again/": "inspects again",
    "/tables/<uuid:table_id>/files/stop/": "ends one’s own question, whose asking is on record",
}


def stream_asked(place, target):
    return {
        "source": {"path": str(place / "landing"), "format": "json", "schema": "id BIGINT"},
        "target": {"path": str(place / target)},
        "output_mode": "append",
        "trigger": {"interval": "30s"},
    }


@pytest.fixture
def things(tmp_path, settings):
    """One of everything, as the addresses name them."""
    settings.ENV = replace(settings.ENV, metastore="thrift://localhost:9083", home=tmp_path / "home")
    factories.WorkerFactory(kind="interactive")  # without it no addition from a metastore begins
    root = factories.RootFactory(uri=str(tmp_path))
    for name in ("sales", "new"):
        small_delta.create(tmp_path / name, [{"id": n, "p": "x"} for n in range(4)], writer=3)
        small_delta.append(tmp_path / name, [{"id": 9, "p": "x"}])
    (tmp_path / "another").mkdir()
    lakes.parquet(tmp_path / "plain" / "one.parquet", {"id": [1]})
    Finding.objects.create(root=root, path=str(tmp_path / "new"), kind="delta", seen_at=timezone.now())
    table = syncing.sync(factories.TableFactory(root=root, path=str(tmp_path / "sales"), name="sales").pk)
    who, other, operator = factories.PersonFactory(), factories.person_with("viewer"), factories.person_with("operator")
    for role in Role:
        factories.GrantFactory(person=who, role=role)
    policy = {"required_approvals": 1, "role": "approver"}
    asked: dict[str, Any] = {"table": table, "command": "delete", "policy": policy}
    waiting = factories.job("awaiting_approval", requested_by=other, **asked)
    terms = asdict(services.terms_of(factories.PolicyRuleFactory.build()))
    Explanation.objects.create(table=table, incarnation=0, version=7, effects=["delete"], verdict="nobody")
    rule = factories.PolicyRuleFactory()
    (tmp_path / "landing").mkdir()
    (tmp_path / "home" / "lake").mkdir(parents=True)
    (tmp_path / "home" / "lake.files").touch()
    factories.RootFactory(name="sample", uri=str(tmp_path / "home" / "lake"))
    streams = [
        acts.create(Actor.acting_for(Person.objects.get(pk=who.pk)), n, "why", stream_asked(tmp_path, n))
        for n in ("clicks", "more")
    ]
    Stream.objects.filter(pk=streams[1].pk).update(state="running", run_by=who)
    optimize = {"command": "optimize", "table": str(table.pk)}
    times: dict[str, Any] = {"cron": "0 3 * * *", "time_zone": "UTC", "window_minutes": 60}
    wanted = WantedSchedule(Optimize(str(table.pk)), **times)
    by_who, by_other = (Actor.acting_for(Person.objects.get(pk=each.pk)) for each in (who, operator))
    schedules = [schedule_acts.create(by_who, n, "why", wanted).schedule for n in ("active", "idle")]
    schedule_acts.pause(by_who, schedules[1])
    asked_schedule = schedule_acts.create(by_other, "asked", "why", wanted).schedule
    Schedule.objects.filter(pk=asked_schedule.pk).update(state="awaiting_approval", next_due_at=None)
    change = changes.ask(Actor.acting_for(factories.PersonFactory()), rule, terms, terms | {"enabled": False})
    for name in ("empty", "paused"):
        (tmp_path / name).mkdir()
    unseen = factories.PersonFactory(created_by=who, password="!")
    link = first_links.make(Actor.acting_for(Person.objects.get(pk=who.pk)), unseen)
    empty = factories.RootFactory(name="empty", uri=str(tmp_path / "empty"))
    paused = factories.RootFactory(name="paused", uri=str(tmp_path / "paused"), paused_at=timezone.now())
    ObjectStore.objects.create(bucket="lake", region="us-east-1", path_style=True)
    stored = factories.RootFactory(name="stored", uri="s3://lake/x")
    return {
        "stored_id": stored.pk, "empty_id": empty.pk, "paused_id": paused.pk,
        "who": Person.objects.get(pk=who.pk), "other": other, "place": tmp_path, "root_id": root.pk, "table_id": table.pk,
        "job_id": waiting.pk, "short": str(waiting.pk)[:8], "digest": waiting.digest,
        "own_id": factories.job("awaiting_approval", requested_by=who, parameters={"predicate": "id = 1"}, **asked).pk,
        "done_id": factories.job("succeeded", requested_by=other, parameters={"n": 1}, version=1, **asked).pk,
        "grant_id": Grant.objects.get(person=other).pk, "person_id": other.pk, "policy_id": rule.pk,
        "stream_id": streams[0].pk, "running_id": streams[1].pk, "stream": stream_asked(tmp_path, "two"),
        "schedule_id": schedules[0].pk, "idle_id": schedules[1].pk, "asked_id": asked_schedule.pk,
        "asked_digest": asked_schedule.digest, "schedule": {"name": "new", "command": optimize, **times},
        "form": {"name": "new", "do": "save", **optimize, **times},
        "change": change.pk, "notice_id": Notice.objects.get().pk,
        "token_id": factories.token_row(who).pk, "code": factories.sign_in()[1], "worker_id": factories.WorkerFactory().pk, "version": 7,
        "event_id": factories.event(table).pk, "database": "shop", "unseen_id": unseen.pk, "link": link,
    }  # fmt: skip


@pytest.fixture
def audit_down(levee_home):
    """A context in which nobody may write the audit."""

    @contextmanager
    def revoked() -> Iterator[None]:
        with postgres.connect(levee_home) as connection:
            connection.execute("revoke insert on audit.event from levee_app")
            try:
                yield
            finally:
                connection.execute("grant insert on audit.event to levee_app")

    return revoked


@contextmanager
def undone() -> Iterator[None]:
    """What the block does is taken back, so that the next act meets the same things."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture
def wakes(monkeypatch):
    sent: list[str] = []

    def wake(queue):
        sent.append(str(queue))
        return True

    monkeypatch.setattr("jobs.lifecycle.wakeups.wake", wake)
    return sent


def filled(address, things):
    return re.sub(r"<\w+:(\w+)>", lambda m: str(things[m[1]]), address.partition("#")[0])


def body_of(act, things):
    return act(things) if callable(act) else act


def rows():
    kept = {}
    for model in KEPT:
        fields = [f.attname for f in model._meta.concrete_fields if f.attname not in NEVER_KEPT]
        kept[model.__name__] = list(model.objects.order_by("pk").values_list(*fields))
    kept["Token"] = list(Token.objects.order_by("pk").values_list("pk", "revoked_at"))
    return kept


def in_tens(acts: Iterable[str]) -> list[list[str]]:
    """Tens of acts that share their things, which take longer to make than an act to try."""
    every = list(acts)
    return [every[first : first + 10] for first in range(0, len(every), 10)]


def beginning(acts: list[str]) -> str:
    return f"{acts[0]} and the next"


@pytest.mark.parametrize("acts", in_tens(API_ACTS), ids=beginning)
def test_the_api_changes_nothing_without_the_audit(acts, things, audit_down, wakes):
    client = Caller(things["who"]).client
    for act in acts:
        with undone():
            method, _, address = act.partition(" ")
            body = body_of(API_ACTS[act], things)
            place = filled(f"{API}{address}", things)
            before = rows()
            with audit_down():
                answer = client.generic(method, place, json.dumps(body), content_type="application/json")
            code = (answer.status_code, answer.json().get("code"))
            assert code == (503, "audit_unavailable"), (act, answer.content)
            assert rows() == before, act
            assert wakes == [], act


@pytest.mark.parametrize("addresses", in_tens(PAGE_ACTS), ids=beginning)
def test_a_page_changes_nothing_without_the_audit(addresses, things, audit_down, wakes, redis_server):
    for address in addresses:
        with undone():
            client = Client() if address in ("/sign-in/", "/first-sign-in/") else browser(things["who"])
            body = body_of(PAGE_ACTS[address], things)
            _confirm(client)
            if address.startswith("/home/story/"):
                client.get("/home/story/history/")  # the step before
            before = rows()
            place = filled(address, things)
            with audit_down():
                answer = client.get(place) if body is None else client.post(place, {**body, SURE: "yes"})
            assert answer.status_code == 503, (address, answer.content[-3000:])
            assert rows() == before, address
            assert wakes == [], address
            assert list(get_messages(answer.wsgi_request)) == [], address


def _at_the_colleagues(person):
    """The first story where it asks for a colleague: nobody else is there who asks, and who reads it approves."""
    Person.objects.exclude(pk=person.pk).update(is_active=False)
    root = Root.objects.get(name="sample")
    factories.TableFactory(root=root, name="orders", version=0, path=f"{root.uri}/orders")
    return {}


def _confirm(client):
    """As after giving the password again just now."""
    if "_auth_user_id" in client.session:
        client.post("/confirm/", {"password": PASSWORD, "next": "/"})


def test_every_address_that_changes_something_is_tried(things):
    client = browser(things["who"])
    acts = (act.partition("#")[0] for act in (*API_ACTS, *PAGE_ACTS, *NO_ACTS))
    tried = {
        re.sub("<uuid:(own|done)_id>", "<uuid:job_id>", act)
        .replace("running_id", "stream_id")
        .replace("idle_id", "schedule_id")
        .replace("asked_id", "schedule_id")
        .replace("unseen_id", "person_id")
        for act in acts
    }
    tried = {re.sub("<uuid:(empty|paused|stored)_id>", "<uuid:root_id>", act) for act in tried}
    missing = [act for act in map(_act, routes()) if act and act not in tried and _takes_post(client, act, things)]
    assert missing == []


def _act(route: Route) -> str:
    if route.is_api:
        return "" if route.method == "GET" else f"{route.method} {route.address.removeprefix(API)}"
    return route.address


def _takes_post(client, act, things):
    """Whether a page is for POST as well; what an API declares it takes."""
    if not act.startswith("/"):
        return True
    names = set(re.findall(r"<\w+:(\w+)>", act))
    if not names <= set(things):
        return False
    answer = client.put(filled(act, things))
    return answer.status_code == 405 and "POST" in answer["Allow"]
