"""The metastore over HTTP: what it holds, as a person may see it, and tables added by their names."""

from datetime import timedelta

import pytest
from django.utils import timezone

from console.audit.models import Event
from jobs.models import Read, Worker
from jobs.worker import light_work, read_executor
from jobs.worker.claims import claim_read
from tables.models import Table
from tests import clock, factories
from tests.clients import caller
from tests.factories import lakes
from tests.jobs import scripted
from tests.jobs.web.metastore.conftest import entry, page

pytestmark = pytest.mark.django_db
TABLES = "/metastore/databases/shop/tables"
SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
        {"name": "p", "type": "integer", "nullable": True, "metadata": {}},
    ],
}


@pytest.fixture
def lake(tmp_path):
    place = tmp_path / "lake"
    lakes.delta(place / "orders", {"id": [1]})
    lakes.delta(place / "sales", {"id": [1]})
    lakes.parquet(place / "raw" / "p=1" / "one.parquet", {"id": [1]})
    return factories.RootFactory(name="lake", uri=str(place))


@pytest.fixture
def configured(configured, with_spark):
    """A configured metastore, and a worker to ask it."""


def all_of(lake):
    return [
        entry("orders", f"file:{lake.uri}/orders"),
        entry("raw", f"{lake.uri}/raw", "parquet", schema=SCHEMA, partition_columns=["p"]),
        entry("texts", f"{lake.uri}/texts", "csv"),
        entry("away", "/elsewhere/away"),
        entry("seen", None, None, "view"),
        entry("lost", f"{lake.uri}/lost"),
    ]


def by_light_worker():
    if not Worker.objects.filter(name="light@here").exists():
        factories.WorkerFactory(name="light@here", kind="light")
    assert light_work.one("light@here")


@pytest.mark.parametrize("address", ["/metastore/databases", TABLES])
def test_without_the_setting_there_is_no_metastore(address):
    answer = caller("operator").get(address)
    assert (answer.status_code, answer.json()["code"]) == (409, "no_metastore")
    assert "LEVEE_METASTORE isn’t set" in answer.json()["detail"]
    assert not Read.objects.exists()


def test_a_question_is_a_read_of_the_interactive_worker(configured):
    operator = caller("operator")
    answer = operator.get("/metastore/databases")
    read = Read.objects.get()
    assert (answer.status_code, answer.json()["result_url"]) == (202, f"/api/v1/reads/{read.pk}")
    assert (read.kind, read.queue, read.question) == ("metastore", "interactive", {})
    operator.get(TABLES, cursor="orders")
    assert Read.objects.latest("asked_at").question == {"database": "shop", "cursor": "orders"}


def test_the_longest_name_that_a_metastore_keeps_is_a_cursor(configured):
    operator = caller("operator")
    assert operator.get(TABLES, cursor="a" * 256).status_code == 202
    for cursor in ("a" * 257, "\0"):
        answer = operator.get(TABLES, cursor=cursor)
        assert (answer.status_code, list(answer.json()["fields"])) == (400, ["cursor"])


def test_who_may_add_nothing_may_not_look(configured):
    assert caller("viewer").get("/metastore/databases").status_code == 403


def test_each_table_says_what_the_catalog_knows_and_why_it_cannot_be_added(configured, lake, answered_with):
    known = factories.TableFactory(root=lake, name="orders", path=f"{lake.uri}/orders", catalog_name="shop.orders")
    hidden = factories.RootFactory(name="hidden", uri="/elsewhere")
    answered_with(lambda question: page(*all_of(lake)))
    answer = caller("operator", root=lake).get(TABLES, wait=5).json()
    rows = {row["name"]: row for row in answer["tables"]}
    assert (rows["orders"]["is_known"], rows["orders"]["table"], rows["orders"]["refusal"]) == (True, str(known.pk), "")
    assert (rows["raw"]["root"], rows["raw"]["is_known"], rows["raw"]["refusal"]) == ("lake", False, "")
    assert rows["texts"]["refusal"] == "Levee adds Delta and parquet tables; this one is csv."
    assert rows["seen"]["refusal"] == "A view has no files."
    assert "outside of the roots that you see" in rows["away"]["refusal"]
    assert rows["away"]["location"] is None
    assert rows["raw"]["location"] == f"{lake.uri}/raw"
    assert (rows["away"]["root"], hidden.name in str(answer)) == (None, False)


def test_who_adds_everywhere_sees_every_location_without_its_secrets(configured, lake, answered_with):
    answered_with(lambda question: page(entry("away", "s3://key:very-secret@bucket/away")))
    [row] = caller("operator").get(TABLES, wait=5).json()["tables"]
    assert row["location"].endswith("@bucket/away")
    assert "very-secret" not in row["location"]


def test_what_spark_cannot_read_is_told_with_its_reason(configured, lake, answered_with):
    why = "Cannot recognize hive type string: uniontype<int,string>"
    broken = entry("broken", None, None, "unreadable", why=why)
    answered_with(lambda question: page(broken, all_of(lake)[0]))
    operator = caller("operator", root=lake)
    row = operator.get(TABLES, wait=5).json()["tables"][0]
    assert row["type"] == "unreadable"
    assert why in row["refusal"]
    asked = operator.post(TABLES, {"all": True})
    by_light_worker()
    answer = operator.get(asked.json()["result_url"]).json()
    assert (answer["added"], answer["refused"][0]["code"], answer["refused"][0]["name"]) == (1, "not_addable", "broken")
    assert why in answer["refused"][0]["detail"]


def test_an_addition_outlives_the_ten_minutes_and_its_answer_is_kept_from_its_end(configured, lake, answered_with):
    operator = caller("operator", root=lake)
    operator.post(TABLES, {"names": ["orders"]})
    read = Read.objects.get()
    assert read.expires_at - read.asked_at > timedelta(days=6)
    answered_with(lambda question: page(all_of(lake)[0]))
    by_light_worker()
    read.refresh_from_db()
    assert read.answered_at is not None
    assert timedelta(minutes=9) < read.expires_at - read.answered_at < timedelta(minutes=11)


def test_the_problem_of_a_lost_addition_is_kept_from_its_end_too(configured, lake):
    caller("operator", root=lake).post(TABLES, {"names": ["orders"]})
    Read.objects.update(state="running", tries=2, worker="gone", started_at=timezone.now())
    read_executor.take_back()
    read = Read.objects.get()
    assert (read.state, (read.problem or {})["code"]) == ("failed", "worker_lost")
    assert read.expires_at - timezone.now() < timedelta(minutes=11)


def test_one_addition_of_a_person_and_two_of_all_are_under_way(configured, lake):
    operator = caller("operator")
    first = operator.post(TABLES, {"names": ["orders"]})
    assert operator.post(TABLES, {"names": ["orders"]}).json()["result_url"] == first.json()["result_url"]
    assert operator.post(TABLES, {"all": True}).status_code == 429
    assert caller("operator").post(TABLES, {"all": True}).status_code == 202
    third = caller("operator").post(TABLES, {"all": True})
    assert (third.status_code, third.json()["code"]) == (503, "busy")
    assert Read.objects.filter(kind="metastore_add").count() == 2
    Read.objects.update(state="answered", answer={})
    assert operator.post(TABLES, {"all": True}).status_code == 202


def test_without_a_worker_that_has_spark_no_addition_begins(configured, with_spark):
    with_spark.delete()
    answer = caller("operator").post(TABLES, {"all": True})
    assert (answer.status_code, answer.json()["code"]) == (503, "busy")
    assert not Read.objects.exists()
    assert not Event.objects.filter(action="metastore.add").exists()


def test_rights_that_are_revoked_meanwhile_end_an_addition_at_its_next_page(configured, lake, answered_with):
    operator = caller("operator", root=lake)
    asked = operator.post(TABLES, {"all": True})

    def given(question):
        if "cursor" not in question:
            return page(all_of(lake)[0], after="orders")
        operator.person.grants.all().delete()
        return page(entry("sales", f"{lake.uri}/sales"))

    answered_with(given)
    by_light_worker()
    assert list(Table.objects.values_list("catalog_name", flat=True)) == ["shop.orders"]
    read = Read.objects.get(pk=asked.json()["result_url"].rsplit("/", 1)[1])
    assert (read.state, (read.problem or {})["code"]) == ("failed", "forbidden")


def test_the_engines_refusal_is_the_reads_problem(configured):
    from jobs.domain.errors import CommandRefused, Refusal

    operator = caller("operator")
    operator.get("/metastore/databases")
    factories.WorkerFactory(name="interactive@here", kind="interactive")
    read = claim_read("interactive", "interactive@here")
    assert read is not None
    engine = scripted.ScriptedEngine()
    line = "LEVEE_METASTORE: the metastore at thrift://m:1 doesn’t answer: Connection refused"

    def refuse(*_):
        raise CommandRefused(Refusal("metastore_away", line))

    engine.read = refuse  # type: ignore[method-assign]
    read_executor.answer(read, engine, lambda: None)
    answer = operator.get(f"/reads/{read.pk}")
    assert (answer.status_code, answer.json()["code"], answer.json()["detail"]) == (503, "metastore_away", line)


def test_all_tables_are_added_by_name_under_the_askers_permission(configured, lake, answered_with):
    operator = caller("operator", root=lake)
    lone = factories.TableFactory(root=lake, name="sales", path=f"{lake.uri}/sales")
    tables = [*all_of(lake), entry("sales", f"{lake.uri}/sales")]
    pages = {"": page(*tables[:3], after="texts"), "texts": page(*tables[3:])}
    asked = operator.post(TABLES, {"all": True})
    assert asked.status_code == 202
    assert (Event.objects.get(action="metastore.add").after or {})["database"] == "shop"
    answered_with(lambda question: pages[question.get("cursor", "")])
    by_light_worker()
    answer = operator.get(asked.json()["result_url"]).json()
    counts = {name: answer[name] for name in ("tables", "added", "named", "known", "refusals")}
    assert counts == {"tables": 7, "added": 2, "named": 1, "known": 0, "refusals": 4}
    codes = {each["name"]: each["code"] for each in answer["refused"]}
    assert codes == {"texts": "not_addable", "away": "outside_roots", "seen": "not_addable", "lost": "no_table"}
    names = dict(Table.objects.values_list("path", "catalog_name"))
    assert names == {f"{lake.uri}/orders": "shop.orders", f"{lake.uri}/raw": "shop.raw", lone.path: "shop.sales"}
    raw = Table.objects.get(catalog_name="shop.raw")
    assert (raw.catalog_entry or {})["partition_columns"] == ["p"]
    assert raw.times.next_sync_at is not None
    actors = set(Event.objects.filter(action__in=["table.add", "table.name"]).values_list("actor_name", flat=True))
    assert actors == {operator.person.name}


def test_a_table_that_was_converted_is_added_as_what_it_is(configured, lake, answered_with):
    operator = caller("operator", root=lake)
    answered_with(lambda question: page(entry("orders", f"{lake.uri}/orders", "parquet", schema=SCHEMA)))
    operator.post(TABLES, {"names": ["orders"]})
    by_light_worker()
    table = Table.objects.get(catalog_name="shop.orders")
    assert (table.format, table.catalog_entry) == ("delta", None)
    Read.objects.all().delete()
    [row] = operator.get(TABLES, wait=5).json()["tables"]
    assert (row["is_known"], row["is_stale"]) == (True, True)


def test_a_second_time_adds_nothing(configured, lake, answered_with):
    operator = caller("operator", root=lake)
    answered_with(lambda question: page(all_of(lake)[0]))
    for _ in range(2):
        asked = operator.post(TABLES, {"names": ["orders"]})
        by_light_worker()
    answer = operator.get(asked.json()["result_url"]).json()
    assert (answer["added"], answer["known"]) == (0, 1)
    assert Event.objects.filter(action="table.add").count() == 1


def test_a_name_that_the_metastore_lacks_is_told(configured, lake, answered_with):
    operator = caller("operator", root=lake)
    answered_with(lambda question: page(all_of(lake)[0], total=6))
    asked = operator.post(TABLES, {"names": ["orders", "gone"]})
    by_light_worker()
    answer = operator.get(asked.json()["result_url"]).json()
    assert answer["refused"] == [
        {"name": "gone", "code": "no_table", "detail": "The metastore has no table shop.gone."}
    ]
    assert answer["added"] == 1


def test_an_operator_elsewhere_adds_nothing_here(configured, lake, answered_with):
    stranger = caller("operator", root=factories.RootFactory())
    asked = stranger.post(TABLES, {"names": ["orders"]})
    answered_with(lambda question: page(all_of(lake)[0]))
    by_light_worker()
    answer = stranger.get(asked.json()["result_url"]).json()
    assert (answer["added"], answer["refused"][0]["code"]) == (0, "outside_roots")
    assert not Table.objects.exists()


@pytest.mark.parametrize(
    "body", [{}, {"all": False}, {"all": True, "names": ["a"]}, {"names": []}, {"names": ["a" * 129]}]
)
def test_what_is_to_be_added_must_be_said(configured, body):
    assert caller("operator").post(TABLES, body).status_code == 400


def test_a_metastore_that_is_away_ends_the_addition_with_its_line(configured, monkeypatch):
    problem = {"status": 503, "code": "metastore_away", "detail": "LEVEE_METASTORE: away", "engine": None}
    operator = caller("operator")
    asked = operator.post(TABLES, {"all": True})

    def meanwhile(_seconds):
        Read.objects.filter(state="waiting", kind="metastore").update(state="failed", problem=problem)

    clock.replace(monkeypatch, "jobs.reads.queue", sleep=meanwhile)
    by_light_worker()
    answer = operator.get(asked.json()["result_url"])
    assert (answer.status_code, answer.json()["detail"]) == (503, "LEVEE_METASTORE: away")
