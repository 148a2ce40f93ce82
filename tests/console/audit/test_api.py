"""The audit over HTTP: who finds what, every filter, the export."""

import csv
import io
import json
import uuid

import pytest

from console.audit import verify_export
from console.audit.actions import Action, ActorKind, EventOutcome, ObjectKind
from console.audit.actor import Actor
from console.audit.integrity import chain, heads
from console.audit.models import Event
from console.audit.services import record
from tests import factories
from tests.clients import caller
from tests.console.audit.making import sealed, signed

pytestmark = pytest.mark.django_db


def about(table, who=None, **values):
    actor = Actor.acting_for(who) if who else Actor.system("tests")
    given = {"reason": "because", **values}
    return record(actor, Action.TABLE_CHANGE, ObjectKind.TABLE, table.pk, table.name, **given)


def ids(answer):
    assert answer.status_code == 200, answer.content
    return [row["id"] for row in answer.json()["results"] if row["action"] != "audit.read"]


def test_an_auditor_finds_every_event_newest_first_with_its_link():
    events = sealed(3)
    answer = caller("auditor").get("/audit")
    rows = [row for row in answer.json()["results"] if row["object"]["kind"] == "path"]
    assert [row["id"] for row in rows] == [str(event.pk) for event in reversed(events)]
    assert [row["sequence"] for row in rows] == [3, 2, 1]
    assert rows[0]["previous"] == rows[1]["link"]


def test_others_find_what_touches_tables_that_they_may_see():
    mine, theirs = factories.TableFactory(), factories.TableFactory()
    seen = about(mine)
    about(theirs)
    sealed(1)
    viewer = caller("viewer", table=mine)
    assert ids(viewer.get("/audit")) == [str(seen.pk)]
    assert viewer.get(f"/audit/{seen.pk}").status_code == 200
    assert viewer.get(f"/audit/{about(theirs).pk}").status_code == 404


def test_events_of_a_job_are_about_its_table():
    job = factories.job()
    made = record(Actor.system("spark@a"), Action.JOB_START, ObjectKind.JOB, job.pk, str(job), job=job.pk)
    assert ids(caller("viewer", table=job.table).get("/audit")) == [str(made.pk)]


def test_where_an_act_came_from_is_told_to_auditors_alone():
    table = factories.TableFactory()
    actor = Actor(kind=ActorKind.SYSTEM, name="x", address="10.0.0.1")
    made = record(actor, Action.TABLE_CHANGE, ObjectKind.TABLE, table.pk, table.name)
    assert caller("auditor").get(f"/audit/{made.pk}").json()["address"] == "10.0.0.1"
    assert caller("viewer").get(f"/audit/{made.pk}").json()["address"] is None


@pytest.fixture
def several():
    """Five different events; each filter leaves one of them."""
    ana, table, job = factories.PersonFactory(name="ana"), factories.TableFactory(name="sales/orders"), factories.job()
    return {
        "actor": about(factories.TableFactory(), ana),
        "table": about(table),
        "outcome": record(
            Actor.system("x"), Action.JOB_RETRY, ObjectKind.WORKER, "w", "w", outcome=EventOutcome.FAILED, reason="lost"
        ),
        "job": record(Actor.system("x"), Action.JOB_START, ObjectKind.JOB, job.pk, "a job", job=job.pk),
        "q": record(Actor.system("x"), Action.TABLE_HIDE, ObjectKind.PATH, "p", "p", reason="the GDPR request of 2026"),
    }, {"ana": ana, "table": table, "job": job}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"actor": "ana"}, "actor"),
        ({"actor": "ANA"}, "actor"),
        ({"actor": "{ana.pk}"}, "actor"),
        ({"table": "{table.pk}"}, "table"),
        ({"table": "sales/orders"}, "table"),
        ({"table": "{table.path}"}, "table"),
        ({"object": "sales/orders"}, "table"),
        ({"object": "{table.pk}"}, "table"),
        ({"object": "table:{table.pk}"}, "table"),
        ({"job": "{job.pk}"}, "job"),
        ({"action": "job.start"}, "job"),
        ({"outcome": "failed"}, "outcome"),
        ({"q": "gdpr request"}, "q"),
        ({"q": '"request of 2026" -orders'}, "q"),
        ({"q": "gdpr", "outcome": "allowed", "since": "2020-01-01T00:00:00Z"}, "q"),
    ],
)
def test_a_filter_leaves_what_it_names(several, query, found):
    events, things = several
    answer = caller("auditor").get("/audit", **{name: value.format(**things) for name, value in query.items()})
    assert ids(answer) == [str(events[found].pk)]


@pytest.mark.parametrize(
    "query",
    [
        {"actor": "nobody"},
        {"table": "nowhere"},
        {"object": "path:none"},
        {"until": "2020-01-01T00:00:00Z"},
        {"q": "unheard"},
        {"job": str(uuid.uuid4())},
    ],
)
def test_what_fits_nothing_is_an_empty_page(several, query):
    assert ids(caller("auditor").get("/audit", **query)) == []


def test_words_are_found_in_order_through_every_window_forth_and_back(monkeypatch):
    monkeypatch.setattr("console.audit.searching.FIRST_WINDOW", 3)
    for number in range(40):
        record(
            Actor.system("x"), Action.TABLE_CHANGE, ObjectKind.PATH, number, f"path {number}",
            reason="rare" if number % 9 == 0 else "other",
        )  # fmt: skip
    auditor, seen = caller("auditor"), []
    answer = auditor.get("/audit", q="rare", limit=2).json()
    first = answer
    while True:
        seen += [row["object"]["name"] for row in answer["results"]]
        if answer["next"] is None:
            break
        answer = auditor.client.get(answer["next"]).json()
    assert seen == ["path 36", "path 27", "path 18", "path 9", "path 0"]
    back = auditor.client.get(answer["previous"]).json()
    assert [row["object"]["name"] for row in back["results"]] == ["path 18", "path 9"]
    assert auditor.client.get(back["previous"]).json()["results"] == first["results"]


@pytest.mark.parametrize("query", [{"action": "no.such"}, {"since": "yesterday"}, {"job": "x"}, {"q": "\x00"}])
def test_a_filter_that_cannot_be_meant_is_400(query):
    assert caller("auditor").get("/audit", **query).status_code == 400


def test_pages_follow_each_other_to_the_end_and_back():
    sealed(7)
    auditor = caller("auditor")
    first = auditor.get("/audit", limit=3, object="path 1").json()
    assert len(first["results"]) == 1
    seen, answer = [], auditor.get("/audit", limit=3, action="table.change").json()
    while True:
        seen += [row["object"]["name"] for row in answer["results"]]
        if answer["next"] is None:
            break
        answer = auditor.client.get(answer["next"]).json()
    assert seen == [f"path {number}" for number in range(6, -1, -1)]
    assert auditor.client.get(answer["previous"]).json()["results"][0]["object"]["name"] == "path 3"


def test_reading_is_an_event_with_what_was_asked():
    auditor = caller("auditor")
    auditor.get("/audit", actor="ana", q="gdpr")
    read = Event.objects.get(action=Action.AUDIT_READ)
    assert (read.actor_id, read.after) == (auditor.person.pk, {"actor": "ana", "q": "gdpr"})


def lines(answer):
    assert answer.status_code == 200
    return b"".join(answer.streaming_content).decode()


def test_json_lines_carry_the_chain_and_end_with_the_signed_head():
    sealed(3)
    head = signed()
    text = lines(caller("auditor").get("/audit/export", format="jsonl", action="table.change"))
    *events, last = map(json.loads, text.splitlines())
    previous = verify_export.START
    for row in events:
        assert row["previous"] == previous
        previous = verify_export.link_hash(row["sequence"], row["previous"], uuid.UUID(row["id"]), row["hash"])
        assert row["link"] == previous
    assert last["head"]["sequence"] == 3
    assert last["head"]["hash"] == previous
    assert last["head"]["signature"] == head.signature


def test_a_line_is_the_event_as_the_api_has_it():
    made = about(factories.TableFactory(), factories.PersonFactory(), before={"a": [1, None]}, table_version=3)
    chain.seal_waiting()
    auditor = caller("auditor")
    line = json.loads(lines(auditor.get("/audit/export", format="jsonl", action="table.change")))
    said = auditor.get(f"/audit/{made.pk}").json()
    assert line == said


def test_where_an_act_came_from_is_in_the_file_of_an_auditor_of_everything_alone():
    table = factories.TableFactory()
    actor = Actor(kind=ActorKind.SYSTEM, name="x", address="10.0.0.1")
    record(actor, Action.TABLE_CHANGE, ObjectKind.TABLE, table.pk, table.name)
    for where, told in (({}, True), ({"table": table}, False)):
        for kind in ("jsonl", "csv"):
            assert ("10.0.0.1" in lines(caller("auditor", **where).get("/audit/export", format=kind))) is told


def test_many_pages_are_one_file(monkeypatch):
    monkeypatch.setattr("console.audit.export.AT_ONCE", 2)
    sealed(5)
    text = lines(caller("auditor").get("/audit/export", format="csv", action="table.change"))
    assert [row["object_name"] for row in csv.DictReader(io.StringIO(text))] == [f"path {n}" for n in range(5)]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_begins_a_formula(start):
    hostile = f'{start}HYPERLINK("http://x")'
    record(Actor.system("x"), Action.TABLE_CHANGE, ObjectKind.PATH, hostile, hostile, reason=hostile)
    text = lines(caller("auditor").get("/audit/export", format="csv"))
    for row in csv.reader(io.StringIO(text)):
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row)
    assert f"'{hostile}" in [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]


def test_an_export_is_an_event_and_holds_nothing_later():
    auditor = caller("auditor")
    text = lines(auditor.get("/audit/export", format="jsonl"))
    assert Event.objects.get(action=Action.AUDIT_EXPORT).after == {"format": "jsonl"}
    assert "audit.read" not in text


def test_only_auditors_export_and_verify():
    for role in ("viewer", "operator", "approver", "admin"):
        someone = caller(role)
        assert someone.get("/audit/export", format="csv").status_code == 403
        assert someone.get("/audit/verify").status_code == 403


def test_verifying_tells_how_far_and_that_nothing_differs():
    sealed(4)
    chain.seal_waiting()
    heads.sign_when_due()
    auditor = caller("auditor")
    chain.seal_waiting()
    answer = auditor.get("/audit/verify").json()
    assert (answer["ok"], answer["whole"], answer["problems"]) == (True, True, [])
    assert answer["head"]["sequence"] == 4
    assert Event.objects.filter(action=Action.AUDIT_VERIFY, actor_id=auditor.person.pk).exists()


def test_an_auditor_of_a_part_verifies_nothing():
    assert caller("auditor", table=factories.TableFactory()).get("/audit/verify").status_code == 403
