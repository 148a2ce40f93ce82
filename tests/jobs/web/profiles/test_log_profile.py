"""The profile of columns by the log: whose right it is, what page and API say, and where it is offered."""

import json

import pytest

from console.audit.models import Event
from jobs.models import Read
from jobs.pruning import column_profile
from jobs.web.profiles import log_profile
from tables.sync import table as syncing
from tests import factories
from tests.clients import browser, caller
from tests.jobs.pruning.test_column_profile import stats
from tests.jobs.reads.test_row_diff import words
from tests.tables.deltalog.writing import PROTOCOL, LogWriter, add, info, metadata, vector

pytestmark = pytest.mark.django_db


@pytest.fixture
def table(tmp_path):
    """Columns id and day, the second one of partitions; one file without statistics, one with a deletion vector."""
    writer = LogWriter(tmp_path / "orders")
    known = {"low": {"id": 1}, "high": {"id": 7}, "nulls": {"id": 2}}
    writer.create(
        add("a", partition={"day": "<b>mon</b>"}, stats=stats(**known), deletionVector=vector("x" * 20, 4)),
        add("b", partition={"day": None}, rows=None), add("c", rows=9, partition={"day": ""}),
        partition=["day"],
    )  # fmt: skip
    root = factories.RootFactory(uri=str(tmp_path))
    return syncing.sync(factories.TableFactory(root=root, name="orders", path=str(writer.table)).pk)


def test_the_api_tells_bounds_and_what_is_unknown(table):
    answer = caller("viewer").get(f"/tables/{table.pk}/profile")
    assert answer.status_code == 200
    found = answer.json()
    assert {name: value for name, value in found.items() if name != "columns"} == {
        "version": 0, "files": 3, "rows": None, "files_with_deletion_vectors": 1, "statistics_read": True, "more_columns": 0,
    }  # fmt: skip
    number, day = found["columns"]
    assert number == {
        "name": "id", "type": "bigint", "partition": False, "nulls": 2, "nulls_unknown_files": 1, "min": "0", "max": "9", "min_cut": False,
        "max_cut": False, "bounds_unknown_files": 1, "distinct": None, "values": [],
    }  # fmt: skip
    assert (day["partition"], day["distinct"], day["nulls"]) == (True, 2, None)
    assert day["values"] == [{"value": "", "rows": 9}, {"value": "<b>mon</b>", "rows": 6}]
    assert not Read.objects.exists()


def test_the_api_tells_so_many_columns_at_once(table, monkeypatch):
    monkeypatch.setattr(log_profile, "AT_ONCE", 1)
    program, address = caller("viewer"), f"/tables/{table.pk}/profile"
    for query, names, more in (("", ["id"], 1), ("?start=1", ["day"], 0), ("?start=9", [], 0)):
        found = program.get(address + query).json()
        assert ([column["name"] for column in found["columns"]], found["more_columns"]) == (names, more)
    answer = program.get(f"{address}?start=x")
    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["start"])


def test_statistics_that_were_not_read_are_said_to_be_so(table, monkeypatch):
    monkeypatch.setattr(column_profile, "MOST_STATISTICS", 1)
    viewer = caller("viewer")
    found = viewer.get(f"/tables/{table.pk}/profile").json()
    number = found["columns"][0]
    assert (
        found["statistics_read"],
        number["nulls"],
        number["nulls_unknown_files"],
        number["bounds_unknown_files"],
    ) == (False, None, 3, 3)
    text = words(browser(viewer.person).get(f"/tables/{table.pk}/profile/").content.decode())
    assert "id bigint not read not read day string partition" in text


def test_columns_that_files_keep_under_one_name_can_not_be_told_apart(tmp_path):
    kept = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "c"}
    fields = [{"name": name, "type": "long", "nullable": True, "metadata": kept} for name in ("v", "w")]
    writer = LogWriter(tmp_path / "twins")
    schema = json.dumps({"type": "struct", "fields": fields})
    writer.commit(0, info(), PROTOCOL, metadata(schema=schema, **{"delta.columnMapping.mode": "name"}), add("a"))
    root = factories.RootFactory(uri=str(tmp_path))
    table = syncing.sync(factories.TableFactory(root=root, name="twins", path=str(writer.table)).pk)
    answer = caller("viewer").get(f"/tables/{table.pk}/profile")
    assert (answer.status_code, answer.json()["code"]) == (422, "unreadable")
    assert "two columns are kept in files under the name c" in answer.json()["detail"]


def test_the_page_says_the_same_in_words(table):
    answer = browser(factories.person_with("viewer")).get(f"/tables/{table.pk}/profile/")
    text = words(answer.content.decode())
    assert "2 columns by the log" in text
    assert "1 file has a deletion vector, whose rows statistics still count" in text
    assert "id bigint ≤ 2 unknown for 1 file 0 9 unknown for 1 file" in text
    assert "2 values: (empty text) 9 , <b>mon</b> 6" in text


def test_a_wide_table_has_pages(table, monkeypatch):
    monkeypatch.setattr(log_profile, "AT_ONCE", 1)
    client = browser(factories.person_with("viewer"))
    first = client.get(f"/tables/{table.pk}/profile/").content.decode()
    assert 'rel="next" href="?start=1"' in first
    second = client.get(f"/tables/{table.pk}/profile/?start=1").content.decode()
    assert ('rel="prev" href="?start=0"' in second, 'rel="next"' in second, "2 – 2 of 2" in words(second)) == (
        True,
        False,
        True,
    )


def test_it_needs_the_right_to_rows(table):
    admin = factories.person_with("admin")
    factories.GrantFactory(person=admin, role="viewer", root=factories.RootFactory())
    assert browser(admin).get(f"/tables/{table.pk}/profile/").status_code == 403
    assert Event.objects.filter(action="table.read_rows", outcome="refused").count() == 1
    assert caller("viewer", root=factories.RootFactory()).get(f"/tables/{table.pk}/profile").status_code == 404


def test_it_is_offered_to_who_may_read_rows(table):
    for role, offered in (("viewer", True), ("admin", False)):
        client = browser(factories.person_with(role))
        for page in ("", "schema/"):
            shown = client.get(f"/tables/{table.pk}/{page}").content.decode()
            assert (f'href="/tables/{table.pk}/profile/"' in shown) is offered, page
