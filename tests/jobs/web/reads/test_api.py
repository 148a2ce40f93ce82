"""Questions that a worker answers: 202, then the answer or its problem, for the asker alone."""

import uuid
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from console.audit.models import Event
from jobs.models import Read
from tables.sync import log_access
from tests import clock, factories
from tests.clients import Caller, browser, caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def lake(tmp_path):
    for name in ("orders", "orders/p=1", "delta"):
        (tmp_path / name).mkdir()
    (tmp_path / "orders" / "out").symlink_to("/etc")
    return factories.RootFactory(name="lake", uri=str(tmp_path))


@pytest.fixture
def table(lake):
    return factories.TableFactory(root=lake, name="delta")


def answer_meanwhile(monkeypatch, **changes):
    """While somebody waits, a worker answers."""

    def meanwhile(_seconds):
        Read.objects.filter(state="waiting").update(**changes)

    clock.replace(monkeypatch, "jobs.reads.queue", sleep=meanwhile)


def test_inspect_answers_202_and_where_to_look(lake):
    viewer = caller("viewer")
    answer = viewer.post("/conversions/inspect", {"path": f"{lake.uri}/orders"})
    read = Read.objects.get()
    assert answer.status_code == 202
    assert answer.json() == {"id": str(read.pk), "state": "waiting", "result_url": f"/api/v1/reads/{read.pk}"}
    assert (read.kind, read.queue, read.question) == ("inspect", "interactive", {"path": f"{lake.uri}/orders"})
    assert viewer.get(answer.json()["result_url"]).status_code == 202


def test_the_answer_is_200_at_its_address(lake):
    viewer = caller("viewer")
    read = factories.read(
        viewer.person, state="answered", question={"path": f"{lake.uri}/orders"}, answer=factories.inspection()
    )
    answer = viewer.get(f"/reads/{read.pk}")
    assert answer.status_code == 200
    assert answer.json()["num_files"] == 2
    assert "manifest" not in answer.json()


def test_waiting_gives_the_answer_itself(lake, monkeypatch):
    answer_meanwhile(monkeypatch, state="answered", answer=factories.inspection())
    answer = caller("viewer").post("/conversions/inspect?wait=60", {"path": f"{lake.uri}/orders"})
    assert (answer.status_code, answer.json()["num_files"]) == (200, 2)


def test_waiting_in_vain_is_202(lake):
    answer = caller("viewer").post("/conversions/inspect?wait=0.2", {"path": f"{lake.uri}/orders"})
    assert answer.status_code == 202


@pytest.mark.parametrize("place", ["post", "get"])
def test_a_refusal_is_the_reads_problem(lake, monkeypatch, place):
    engine = {"condition": "DELTA_X", "sqlstate": "42000", "message": "no", "parameters": {}}
    problem = {"status": 422, "code": "engine_failed", "detail": "no", "engine": engine}
    viewer = caller("viewer")
    if place == "post":
        answer_meanwhile(monkeypatch, state="failed", problem=problem)
        answer = viewer.post("/conversions/inspect?wait=60", {"path": f"{lake.uri}/orders"})
    else:
        read = factories.read(viewer.person, state="failed", problem=problem, question={"path": f"{lake.uri}/orders"})
        answer = viewer.get(f"/reads/{read.pk}")
    assert (answer.status_code, answer.json()["code"]) == (422, "engine_failed")
    assert answer["content-type"] == "application/problem+json"
    assert answer.json()["engine"] == {"condition": "DELTA_X", "sqlstate": "42000", "message": "no"}


def test_a_read_is_for_its_asker_and_for_ten_minutes(lake):
    asker = caller("viewer")
    read = factories.read(asker.person, question={"path": f"{lake.uri}/orders"})
    assert asker.get(f"/reads/{read.pk}").status_code == 202
    assert caller("viewer").get(f"/reads/{read.pk}").status_code == 404
    assert caller("admin").get(f"/reads/{read.pk}").status_code == 404
    Read.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert asker.get(f"/reads/{read.pk}").status_code == 404


def test_a_read_that_is_tidied_away_while_somebody_waits_is_gone(lake, monkeypatch):
    asker = caller("viewer")
    read = factories.read(asker.person, question={"path": f"{lake.uri}/orders"})
    clock.replace(monkeypatch, "jobs.reads.queue", sleep=lambda _seconds: Read.objects.all().delete())
    assert asker.get(f"/reads/{read.pk}", wait=60).status_code == 404


def test_nobody_waits_past_the_end_of_the_read(lake, monkeypatch):
    asker, slept = caller("viewer"), list[float]()
    soon = timezone.now() + timedelta(seconds=30)
    read = factories.read(asker.person, question={"path": f"{lake.uri}/orders"}, expires_at=soon)
    clock.replace(monkeypatch, "jobs.reads.queue", sleep=slept.append, monotonic=lambda: sum(slept))
    assert asker.get(f"/reads/{read.pk}", wait=60).status_code == 202
    assert 0 < sum(slept) < 30.2


def test_a_waiting_person_looks_soon_and_then_less_often(lake, monkeypatch):
    """Every warm answer costs at least one step."""
    steps = []

    def sleep(seconds):
        steps.append(seconds)
        if len(steps) == 8:
            Read.objects.update(state="answered", answer=factories.inspection())

    clock.replace(monkeypatch, "jobs.reads.queue", sleep=sleep)
    assert caller("viewer").post("/conversions/inspect?wait=60", {"path": f"{lake.uri}/orders"}).status_code == 200
    assert steps[0] <= 0.02
    assert steps == sorted(steps)
    assert steps[-1] == 0.1


def test_a_right_that_was_taken_away_takes_the_answer_with_it(table):
    person = factories.person_with("viewer", table=table)
    read = factories.read(person, kind="deltatable", table=table, state="answered", answer={"version": 1})
    asker = Caller(person)
    assert asker.get(f"/reads/{read.pk}").json()["version"] == 1
    person.grants.all().delete()
    factories.GrantFactory(person=person, root=factories.RootFactory())
    assert asker.get(f"/reads/{read.pk}").status_code == 404


def test_the_same_question_joins_an_unanswered_one(lake):
    viewer = caller("viewer")
    ids = {viewer.post("/conversions/inspect", {"path": f"{lake.uri}/orders"}).json()["id"] for _ in range(3)}
    assert len(ids) == 1
    assert caller("viewer").post("/conversions/inspect", {"path": f"{lake.uri}/orders"}).json()["id"] not in ids


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/etc", 403, "outside_roots"),
        ("orders", 403, "outside_roots"),
        ("{root}/../x", 403, "outside_roots"),
        ("{root}/*", 403, "outside_roots"),
        ("{root}/orders/out", 403, "outside_roots"),
        ("s3a://bucket/x", 403, "outside_roots"),
        ("{root}/none", 404, "not_found"),
    ],
)
def test_nothing_outside_is_looked_at(lake, path, status, code):
    answer = caller("operator").post("/conversions/inspect", {"path": path.format(root=lake.uri)})
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert not Read.objects.exists()


def test_a_body_without_its_path_is_400():
    answer = caller("viewer").post("/conversions/inspect", {"paths": "/x"})
    assert (answer.status_code, sorted(answer.json()["fields"])) == (400, ["path", "paths"])


def test_deltatable_asks_by_path(table):
    answer = caller("viewer").get(f"/tables/{table.pk}/deltatable", version=3)
    read = Read.objects.get()
    assert answer.status_code == 202
    assert (read.kind, read.question, read.table, read.asked_version) == (
        "deltatable", {"path": table.path, "version": 3}, table, 3,
    )  # fmt: skip


def test_deltatable_asks_a_named_table_by_its_name(table):
    table.catalog_name = "db.orders"
    table.save()
    viewer = caller("viewer")
    viewer.get(f"/tables/{table.pk}/deltatable")
    viewer.get(f"/tables/{table.pk}/deltatable", by="path")
    questions = [r.question for r in Read.objects.order_by("asked_at")]
    assert questions == [
        {"path": table.path, "name": "db.orders"},
        {"path": table.path, "name": "db.orders", "by": "path"},
    ]


@pytest.mark.parametrize("part", [{"at": "@v3"}, {"at": "@v3", "version": "1"}, {"at": "@v3", "by": "path"}])
def test_a_version_in_the_path_asks_a_named_table_by_its_path(table, part):
    """A name takes no `@`: asked by it, the newest version would answer for the one that was meant."""
    table.catalog_name = "db.orders"
    table.save()
    assert caller("viewer").get(f"/tables/{table.pk}/deltatable", **part).status_code == 202
    question = Read.objects.get().question
    assert (question["by"], question["at"]) == ("path", "@v3")


@pytest.mark.parametrize(
    ("name", "part", "field"),
    [
        ("db.orders", {"at": "@v3"}, "at"),
        ("db.orders", {"partition": "p=1"}, "partition"),
        (None, {}, "by"),
    ],
)
def test_by_name_is_refused_where_a_name_cannot_be_asked(table, name, part, field):
    table.catalog_name = name
    table.save()
    answer = caller("viewer").get(f"/tables/{table.pk}/deltatable", by="name", **part)
    assert (answer.status_code, list(answer.json()["fields"])) == (400, [field])
    assert not Read.objects.exists()


@pytest.mark.parametrize(
    "bound",
    [
        {"starting_version": 0}, {"ending_version": 3}, {"starting_timestamp": "2026-01-02T03:04:05Z"},
        {"ending_timestamp": "2026-01-02T03:04:05Z"},
    ],
)  # fmt: skip
def test_bounds_of_a_change_feed_are_refused_without_it(table, bound):
    """They would be ignored: the answer would not be the one that was asked for."""
    viewer, address = caller("viewer"), f"/tables/{table.pk}/deltatable"
    for feed in ({}, {"read_change_feed": "false"}):
        answer = viewer.get(address, **bound, **feed)
        assert (answer.status_code, list(answer.json()["fields"])) == (400, list(bound))
    assert not Read.objects.exists()
    assert viewer.get(address, **bound, read_change_feed="true").status_code == 202


def test_an_answer_is_given_again_while_its_version_is_the_one_asked_for(table, monkeypatch):
    head = [7]
    monkeypatch.setattr("tables.sync.log_access.head_version", lambda *_: head[0])
    viewer = caller("viewer")
    viewer.get(f"/tables/{table.pk}/deltatable")
    Read.objects.update(state="answered", answer={"version": 7})
    again = viewer.get(f"/tables/{table.pk}/deltatable", wait=1)
    assert (again.status_code, again.json()["version"], Read.objects.count()) == (200, 7, 1)
    head[0] = 8
    assert viewer.get(f"/tables/{table.pk}/deltatable").status_code == 202
    assert Read.objects.count() == 2


@pytest.mark.parametrize("asked", [{}, {"version": 0}])
def test_an_answer_about_a_table_is_not_given_for_another_in_its_place(table, lake, asked):
    """Deleted and written anew, a table counts from 0 again: the number alone tells nothing."""
    log = Path(lake.uri) / "delta" / "_delta_log"
    log.mkdir()
    first = log / f"{0:020d}.json"
    first.write_text("{}")
    viewer, address = caller("viewer"), f"/tables/{table.pk}/deltatable"
    viewer.get(address, **asked)
    Read.objects.update(state="answered", answer={"version": 0})
    assert viewer.get(address, wait=1, **asked).status_code == 200
    (log / f"{1:020d}.json").write_text("{}")
    if asked:
        assert viewer.get(address, wait=1, **asked).status_code == 200
    (log / f"{1:020d}.json").unlink()
    first.write_text("another table")
    assert viewer.get(address, **asked).status_code == 202
    assert Read.objects.count() == 2


@pytest.mark.parametrize("known", [None, 0, 2, 9])
def test_the_newest_version_is_found_from_any_that_is_known(lake, known):
    log = Path(lake.uri) / "delta" / "_delta_log"
    log.mkdir()
    for version in range(3):
        (log / f"{version:020d}.json").write_text("{}")
    assert log_access.head_version(f"{lake.uri}/delta", known) == 2
    assert log_access.commit_mark(f"{lake.uri}/delta", 9) == ""


def test_two_time_travels_are_left_to_delta(table):
    asked = {"version": 1, "timestamp": "2026-01-02T03:04:05Z", "at": "@v3"}
    assert caller("viewer").get(f"/tables/{table.pk}/deltatable", **asked).status_code == 202
    assert Read.objects.get().question == {
        "path": table.path, "version": 1, "timestamp": "2026-01-02T03:04:05+00:00", "at": "@v3",
        "by": "path",
    }  # fmt: skip


@pytest.mark.parametrize(
    "query",
    [
        {"version": "x"}, {"version": -1}, {"version": 2**63}, {"timestamp": "yesterday"}, {"at": "v3"},
        {"at": "@v3/../x"}, {"by": "magic"}, {"partition": "../x"}, {"partition": "p"}, {"partition": "p=1/../.."},
        {"read_change_feed": "maybe"}, {"wait": "61"},
    ],
)  # fmt: skip
def test_an_odd_question_is_400(table, query):
    answer = caller("viewer").get(f"/tables/{table.pk}/deltatable", **query)
    assert answer.status_code in ({400, 403} if query.get("partition") == "p=1/../.." else {400})
    assert not Read.objects.exists()


def test_a_partition_is_a_directory_below_the_table(lake):
    table = factories.TableFactory(root=lake, name="orders")
    viewer = caller("viewer")
    assert viewer.get(f"/tables/{table.pk}/deltatable", partition="p=1").status_code == 202
    assert Read.objects.get().question == {"path": table.path, "partition": "p=1", "by": "path"}
    assert viewer.get(f"/tables/{table.pk}/deltatable", partition="p=2").status_code == 202  # Delta knows by its name
    (Path(lake.uri) / "orders" / "p=3").symlink_to("/etc")
    for elsewhere in ("p=3", "p=3/q=1"):
        answer = viewer.get(f"/tables/{table.pk}/deltatable", partition=elsewhere)
        assert (answer.status_code, answer.json()["code"]) == (403, "outside_roots")


@pytest.mark.parametrize(("how", "status", "code"), [("gone", 404, "not_found"), ("link", 403, "outside_roots")])
def test_a_directory_that_is_gone_or_a_link_is_not_opened(table, lake, how, status, code):
    """A link in its place may lead to a table that the asker may not see: its schema and properties are its owners'."""
    place = Path(lake.uri) / "delta"
    place.rmdir()
    if how == "link":
        place.symlink_to("/etc")
    viewer = caller("viewer")
    answer = viewer.get(f"/tables/{table.pk}/deltatable")
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert code in browser(viewer.person).get(f"/tables/{table.pk}/capabilities/").content.decode()
    assert not Read.objects.exists()


def test_a_stranger_finds_no_table(table):
    stranger = caller("viewer", root=factories.RootFactory())
    assert stranger.get(f"/tables/{table.pk}/deltatable").status_code == 404
    assert stranger.get(f"/tables/{uuid.uuid4()}/deltatable").status_code == 404


def test_a_scan_is_a_read_for_the_light_worker_and_an_event(lake):
    answer = caller("operator").post(f"/roots/{lake.pk}/scan")
    read = Read.objects.get()
    assert (answer.status_code, read.kind, read.queue, read.question) == (202, "scan", "light", {"root": str(lake.pk)})
    assert Event.objects.filter(action="root.scan", object_id=str(lake.pk)).count() == 1


def test_a_scan_takes_an_operator_of_that_root(lake):
    assert caller("viewer").post(f"/roots/{lake.pk}/scan").status_code == 403
    person = factories.person_with("operator", root=factories.RootFactory())
    assert Caller(person).post(f"/roots/{lake.pk}/scan").status_code == 404
    factories.GrantFactory(person=person, role="viewer", root=lake)
    assert Caller(person).post(f"/roots/{lake.pk}/scan").status_code == 403
    assert not Read.objects.exists()
