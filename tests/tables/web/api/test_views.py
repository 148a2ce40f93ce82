from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from tables.catalog import entries
from tables.catalog.adding import additions
from tables.catalog.roots import entries as roots
from tables.catalog.roots import scans
from tables.models import Root, Table
from tables.rules import discovery
from tables.web.api.serializers import CommitDetailOut
from tests.factories import lakes, token_text

Write = Callable[..., Path]
People = Callable[..., Person]
V1 = "/api/v1"


@pytest.fixture
def ines(admin: Actor) -> APIClient:
    """A program: what needs the password again in a browser needs a scope here."""
    assert admin.person is not None
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token_text(admin.person)}")
    return client


@pytest.fixture
def as_(person: People) -> Callable[..., APIClient]:
    def client(*args: Any, **kwargs: Any) -> APIClient:
        made = APIClient()
        made.force_authenticate(person(*args, **kwargs))
        return made

    return client


@pytest.fixture
def orders(admin: Actor, root: Root, write: Write) -> str:
    write()
    write(mode="append")
    return str(additions.add_table(admin, f"{root.uri}/orders").table.pk)


def code(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    return str(answer.json()["code"])


def test_a_root_is_added_and_listed(ines: APIClient, lake: Path) -> None:
    answer = ines.post(f"{V1}/roots", {"name": "lake", "uri": f"file:{lake}/"}, format="json")
    assert answer.status_code == 201
    assert answer.json()["uri"] == str(lake)
    assert [row["name"] for row in ines.get(f"{V1}/roots").json()["results"]] == ["lake"]
    assert Event.objects.filter(action="root.add", object_name="lake").count() == 1


@pytest.mark.parametrize(
    ("name", "uri", "status"),
    [
        ("lake", "relative", 400),
        ("la ke", "/tmp", 400),
        ("lake", "s3://bucket/lake", 400),
        ("lake", "abfss://bucket/lake", 400),
        ("lake", "/no/such", 400),
        ("", "/tmp", 400),
        ("lake", "/", 400),
    ],
)
def test_a_root_that_can_not_be_one_is_refused(ines: APIClient, name: str, uri: str, status: int) -> None:
    answer = ines.post(f"{V1}/roots", {"name": name, "uri": uri}, format="json")
    assert code(answer, status) == "invalid"
    assert answer.json()["fields"]
    assert not Root.objects.exists()


def test_a_root_is_registered_once(ines: APIClient, root: Root) -> None:
    for body in ({"name": "lake", "uri": "/usr/share"}, {"name": "other", "uri": root.uri}):
        assert code(ines.post(f"{V1}/roots", body, format="json"), 409) == "already_known"


def test_a_new_root_takes_over_what_lies_in_it_and_in_no_inner_one(
    ines: APIClient, root: Root, lake: Path, write: Write, admin: Actor
) -> None:
    for name in ("sales_/a", "sales_/inner/b", "salesX/c", "d"):
        additions.add_table(admin, str(write(name)))
    scans.scan_root(root.pk)
    (lake / "sales_" / "inner").mkdir(exist_ok=True)
    roots.add_root(admin, "inner", f"{lake}/sales_/inner")
    roots.add_root(admin, "sales", f"{lake}/sales_")
    assert dict(Table.objects.values_list("name", "root__name")) == {
        "sales_/a": "sales", "sales_/inner/b": "inner", "salesX/c": "lake", "d": "lake",
    }  # fmt: skip
    scans.scan_root(root.pk)
    found = {row["path"].removeprefix(f"{lake}/"): row["state"] for row in walk_findings(ines)}
    assert found == dict.fromkeys(["sales_/a", "sales_/inner/b", "salesX/c", "d"], "known")


def walk_findings(client: APIClient) -> list[dict[str, Any]]:
    roots = [row["id"] for row in client.get(f"{V1}/roots").json()["results"]]
    return [row for each in roots for row in client.get(f"{V1}/roots/{each}/findings").json()["results"]]


def test_unknown_fields_are_named(ines: APIClient) -> None:
    answer = ines.post(f"{V1}/roots", {"name": "a", "uri": "/tmp", "owner": "x"}, format="json")
    assert code(answer, 400) == "invalid"
    assert "owner" in answer.json()["fields"]


def test_a_table_is_added_once_and_comes_synced(ines: APIClient, root: Root, write: Write) -> None:
    path = str(write())
    first = ines.post(f"{V1}/tables", {"path": path}, format="json")
    assert first.status_code == 201
    body = first.json()
    assert (body["format"], body["version"], body["num_records"], body["path"]) == ("delta", 0, 3, path)
    assert body["protocol"]["min_reader_version"] == 1
    assert [field["name"] for field in body["schema"]["fields"]] == ["id", "country"]
    again = ines.post(f"{V1}/tables", {"path": f"file:{path}/"}, format="json")
    assert again.status_code == 200
    assert again.json()["id"] == body["id"]


def test_a_parquet_directory_is_added_as_such(ines: APIClient, root: Root, lake: Path) -> None:
    lakes.parquet(lake / "raw" / "x.parquet", {"id": [1]})
    body = ines.post(f"{V1}/tables", {"path": f"{lake}/raw"}, format="json").json()
    assert (body["format"], body["version"], body["num_files"], body["num_records"], body["schema"]) == (
        "parquet",
        None,
        1,
        None,
        None,
    )


def test_a_log_that_can_not_be_read_is_added_with_its_error(ines: APIClient, root: Root, lake: Path) -> None:
    log = lake / "odd" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_bytes(b"\xff\xfe not json")
    answer = ines.post(f"{V1}/tables", {"path": f"{lake}/odd"}, format="json")
    assert answer.status_code == 201
    assert answer.json()["sync_error"]
    assert answer.json()["problems"]


def test_what_is_no_table_is_refused(ines: APIClient, root: Root, lake: Path, write: Write) -> None:
    write("orders", partition_by=["country"])
    (lake / "empty").mkdir()
    for path, status, wanted in [
        (f"{lake}/empty", 404, "no_table"),
        (f"{lake}/none", 404, "no_table"),
        (f"{lake}/orders@v0", 404, "no_table"),
        (f"{lake}/orders/country=DE", 409, "inside_table"),
        (f"{lake}/../x", 403, "outside_roots"),
        (f"{lake}/*", 403, "outside_roots"),
        ("orders", 403, "outside_roots"),
        ("/etc", 403, "outside_roots"),
        ("s3a://bucket/x", 403, "outside_roots"),
    ]:
        assert code(ines.post(f"{V1}/tables", {"path": path}, format="json"), status) == wanted, path
    assert not Table.objects.exists()


def test_a_body_names_exactly_one_thing(ines: APIClient, root: Root) -> None:
    bodies: list[Any] = [{}, {"path": "/a", "name": "b"}, {"path": 7}, {"path": None}, [], "x"]
    for body in bodies:
        assert code(ines.post(f"{V1}/tables", body, format="json"), 400) in ("invalid", "malformed")


def test_a_stranger_sees_nothing_and_a_reader_may_not_act(
    as_: Callable[..., APIClient], orders: str, root: Root, lake: Path
) -> None:
    stranger = as_(
        "zoe", Role.OPERATOR, root=roots.add_root(Actor.system("test"), "other", str(_made(lake.parent / "other")))
    )
    viewer = as_("vic", Role.VIEWER, root=root)
    for address in (
        "",
        "/history",
        "/commits/0",
        "/commits/0/files",
        "/protocol",
        "/reachability",
        "/schema",
        "/layout",
    ):
        assert code(stranger.get(f"{V1}/tables/{orders}{address}"), 404) == "not_found"
        assert viewer.get(f"{V1}/tables/{orders}{address}").status_code == 200
    assert stranger.get(f"{V1}/tables").json()["results"] == []
    assert code(stranger.post(f"{V1}/tables/{orders}/sync", {}, format="json"), 404) == "not_found"
    assert code(stranger.post(f"{V1}/tables", {"path": f"{root.uri}/orders"}, format="json"), 403) == "outside_roots"
    for act in (
        viewer.post(f"{V1}/tables/{orders}/sync", {}, format="json"),
        viewer.patch(f"{V1}/tables/{orders}", {"owner": "vic"}, format="json"),
        viewer.delete(f"{V1}/tables/{orders}"),
    ):
        assert code(act, 403) == "forbidden"


def _made(path: Path) -> Path:
    path.mkdir()
    return path


def test_someone_with_one_table_sees_that_one(
    as_: Callable[..., APIClient], orders: str, root: Root, write: Write, ines: APIClient
) -> None:
    ines.post(f"{V1}/tables", {"path": str(write("other"))}, format="json")
    reader = as_("tom", Role.VIEWER, Role.OPERATOR, table=Table.objects.get(pk=orders))
    assert [row["name"] for row in reader.get(f"{V1}/tables").json()["results"]] == ["orders"]
    assert reader.get(f"{V1}/roots").json()["results"] == []
    assert reader.post(f"{V1}/tables", {"path": f"{root.uri}/orders"}, format="json").status_code == 200
    for path in ("other", "none"):
        assert code(reader.post(f"{V1}/tables", {"path": f"{root.uri}/{path}"}, format="json"), 403) == "outside_roots"
    assert reader.post(f"{V1}/tables/{orders}/sync", {}, format="json").status_code == 200


def test_a_table_is_described_by_operators_and_tagged_by_admins(
    as_: Callable[..., APIClient], orders: str, ines: APIClient
) -> None:
    operator = as_("olga", Role.OPERATOR)
    answer = operator.patch(f"{V1}/tables/{orders}", {"owner": "olga", "description": "Order lines"}, format="json")
    assert (answer.json()["owner"], answer.json()["description"]) == ("olga", "Order lines")
    assert code(operator.patch(f"{V1}/tables/{orders}", {"tags": ["pii"]}, format="json"), 403) == "forbidden"
    assert ines.patch(f"{V1}/tables/{orders}", {"tags": ["pii", "gold", "pii"]}, format="json").json()["tags"] == [
        "gold",
        "pii",
    ]
    event = Event.objects.filter(action="table.change").latest("at")
    assert (event.before, event.after) == ({"tags": []}, {"tags": ["gold", "pii"]})


def test_hiding_takes_it_from_the_lists_and_adding_brings_it_back(ines: APIClient, orders: str, root: Root) -> None:
    assert ines.delete(f"{V1}/tables/{orders}").status_code == 204
    assert code(ines.get(f"{V1}/tables/{orders}"), 404) == "not_found"
    assert ines.get(f"{V1}/tables").json()["results"] == []
    again = ines.post(f"{V1}/tables", {"path": f"{root.uri}/orders"}, format="json")
    assert (again.status_code, again.json()["id"]) == (201, orders)


def test_a_sync_reads_what_is_new(ines: APIClient, orders: str, write: Write) -> None:
    write(mode="append")
    assert ines.post(f"{V1}/tables/{orders}/sync", {}, format="json").json()["version"] == 2
    assert Event.objects.filter(action="table.sync", object_id=orders).count() == 1


def test_history_is_newest_first_and_pages(ines: APIClient, orders: str, write: Write, lake: Path) -> None:
    for _ in range(5):
        write(mode="append")
    ines.post(f"{V1}/tables/{orders}/sync", {}, format="json")
    witness = {row["version"]: row for row in DeltaTable(str(lake / "orders")).history()}
    seen: list[int] = []
    url = f"{V1}/tables/{orders}/history?limit=3"
    while url:
        body = ines.get(url).json()
        seen += [row["version"] for row in body["results"]]
        back, url = body["previous"], body["next"]
    assert seen == [6, 5, 4, 3, 2, 1, 0]
    assert [row["version"] for row in ines.get(back).json()["results"]] == [3, 2, 1]
    first = ines.get(f"{V1}/tables/{orders}/history").json()["results"][0]
    assert first["operation"] == witness[6]["operation"]
    assert first["operation_parameters"] == witness[6]["operationParameters"]
    assert (first["in_log"], first["restorable"], first["job"], first["read_version"]) == (True, True, None, None)


@pytest.mark.parametrize(
    ("query", "versions"),
    [("before=1", [0]), ("operation=WRITE", [1, 0]), ("operation=DELETE", []), ("operation=destructive", []),
     ("since=2020-01-01T00:00:00Z", [1, 0]), ("until=2020-01-01T00:00:00Z", []), ("by=nobody", [])],
)  # fmt: skip
def test_history_is_narrowed(ines: APIClient, orders: str, query: str, versions: list[int]) -> None:
    found = ines.get(f"{V1}/tables/{orders}/history?{query}").json()["results"]
    assert [row["version"] for row in found] == versions


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=501",
        "limit=x",
        "cursor=x",
        "cursor=%00",
        "before=-1",
        "since=soon",
        "before=99999999999999999999",
    ],
)
def test_odd_queries_are_refused(ines: APIClient, orders: str, query: str) -> None:
    assert code(ines.get(f"{V1}/tables/{orders}/history?{query}"), 400) in ("invalid", "invalid_cursor")


def test_a_commit_says_what_it_changed(ines: APIClient, orders: str, write: Write) -> None:
    wider = pa.table({"id": [9], "country": ["DE"], "note": ["x"]})
    write(table=wider, mode="append", schema_mode="merge")
    ines.post(f"{V1}/tables/{orders}/sync", {}, format="json")
    body = ines.get(f"{V1}/tables/{orders}/commits/2").json()
    assert [(c["change"], c["column"], c["after"]) for c in body["schema_changes"]] == [("added", "note", "string")]
    assert (body["files_added"], body["rows_added"]) == (1, 1)
    files = ines.get(f"{V1}/tables/{orders}/commits/2/files?action=add").json()
    assert [(row["action"], row["num_records"]) for row in files["results"]] == [("add", 1)]
    assert ines.get(f"{V1}/tables/{orders}/commits/2/files?action=remove").json()["results"] == []
    assert code(ines.get(f"{V1}/tables/{orders}/commits/7"), 404) == "not_found"
    assert code(ines.get(f"{V1}/tables/{orders}/commits/0/files?action=x"), 400) == "invalid"
    changes = ines.get(f"{V1}/tables/{orders}/schema/changes").json()["results"]
    assert [row["version"] for row in changes] == [2, 0]
    compared = ines.get(f"{V1}/tables/{orders}/schema/compare?from=0&to=2").json()
    assert compared["changes"][0]["column"] == "note"
    both = ines.get(f"{V1}/tables/{orders}/compare?from=0&to=2").json()
    assert both["commits"]["count"] == 2
    assert both["commits"]["rows_added"] == 4


def test_the_schema_of_an_older_version_is_known(ines: APIClient, orders: str, write: Write) -> None:
    write(table=pa.table({"id": [9], "country": ["DE"], "note": ["x"]}), mode="append", schema_mode="merge")
    ines.post(f"{V1}/tables/{orders}/sync", {}, format="json")
    names = {
        v: [f["path"] for f in ines.get(f"{V1}/tables/{orders}/schema?version={v}").json()["fields"]] for v in (0, 1, 2)
    }
    assert names == {0: ["id", "country"], 1: ["id", "country"], 2: ["id", "country", "note"]}
    assert code(ines.get(f"{V1}/tables/{orders}/schema?version=3"), 404) == "not_found"


def test_protocol_tells_what_features_demand(ines: APIClient, orders: str) -> None:
    body = ines.get(f"{V1}/tables/{orders}/protocol").json()
    assert body["min_writer_version"] >= 2
    assert body["reader_features"] is None
    assert {feature["name"] for feature in body["features"]} == {"appendOnly", "invariants"}
    assert all(feature["writers"] for feature in body["features"])


def test_layout_is_told_of_any_version(ines: APIClient, orders: str, lake: Path) -> None:
    now = ines.get(f"{V1}/tables/{orders}/layout").json()
    then = ines.get(f"{V1}/tables/{orders}/layout?version=0").json()
    assert (now["num_files"], then["num_files"]) == (2, 1)
    assert sum(row["files"] for row in now["histogram"]) == 2
    assert now["partitions"] is None


def test_growth_is_what_the_charts_draw_and_unknown_is_null(ines: APIClient, orders: str) -> None:
    (day,) = ines.get(f"{V1}/tables/{orders}/growth").json()["results"]
    table = ines.get(f"{V1}/tables/{orders}").json()
    assert (day["commits"], day["size_bytes"], day["num_records"]) == (2, table["size_bytes"], table["num_records"])
    assert day["day"] == table["last_commit_at"][:10]
    Table.objects.update(num_records=None)
    assert ines.get(f"{V1}/tables/{orders}/growth").json()["results"][0]["num_records"] is None


def test_reachability_says_what_can_be_restored(ines: APIClient, orders: str) -> None:
    body = ines.get(f"{V1}/tables/{orders}/reachability").json()
    assert body["head"] == 1
    assert [(s["from_version"], s["to_version"], s["restorable"]) for s in body["spans"]] == [(0, 1, True)]
    assert [(row["version"], row["until"] is None) for row in body["results"]] == [(1, True), (0, False)]


def test_a_table_that_has_gone_still_answers(ines: APIClient, orders: str, lake: Path) -> None:
    shutil.rmtree(lake / "orders")
    body = ines.post(f"{V1}/tables/{orders}/sync", {}, format="json").json()
    assert body["missing_since"]
    assert [finding["code"] for finding in body["health"]] == ["missing"]
    assert code(ines.get(f"{V1}/tables/{orders}/commits/0/files"), 404) == "no_table"
    row = ines.get(f"{V1}/tables/{orders}/history").json()["results"][0]
    assert (row["version"], row["in_log"], row["restorable"]) == (1, False, False)


def test_a_commit_has_the_fields_that_are_documented(ines: APIClient, orders: str) -> None:
    assert set(ines.get(f"{V1}/tables/{orders}/commits/0").json()) == set(CommitDetailOut().fields)


def test_roots_and_schema_changes_are_listed_in_pages(
    ines: APIClient, orders: str, admin: Actor, lake: Path, write: Write
) -> None:
    for name in ("b", "c"):
        (lake / name).mkdir()
        roots.add_root(admin, name, str(lake / name))
    assert walked(ines, f"{V1}/roots?limit=1", "name") == ["b", "c", "lake"]
    for column in ("x", "y"):
        write(table=pa.table({"id": [1], column: [1]}), mode="append", schema_mode="merge")
    ines.post(f"{V1}/tables/{orders}/sync", {}, format="json")
    whole = ines.get(f"{V1}/tables/{orders}/schema/changes").json()
    assert [(row["version"], len(row["changes"])) for row in whole["results"]] == [(3, 1), (2, 1), (0, 0)]
    assert walked(ines, f"{V1}/tables/{orders}/schema/changes?limit=1", "version") == [3, 2, 0]
    assert code(ines.get(f"{V1}/roots?limit=0"), 400) == "invalid"


def walked(client: APIClient, address: str, field: str) -> list[Any]:
    found = []
    while address:
        answer = client.get(address).json()
        assert len(answer["results"]) <= 1
        found += [row[field] for row in answer["results"]]
        address = answer["next"]
    return found


@pytest.mark.parametrize("place", ["", "database"])
def test_levee_s_home_is_no_root(ines: APIClient, place: str) -> None:
    home = Path(settings.ENV.home) / place
    home.mkdir(parents=True, exist_ok=True)
    refused = ines.post(f"{V1}/roots", {"name": "home", "uri": str(home)}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid")
    assert "own files" in refused.json()["fields"]["uri"]


def test_a_delta_table_whose_log_can_not_be_read_is_not_called_something_else(
    ines: APIClient, root: Root, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, scandir = str(write()), os.scandir

    def refused(descriptor: int | str) -> Any:
        if isinstance(descriptor, int) and Path(f"/proc/self/fd/{descriptor}").readlink() == Path(path) / "_delta_log":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(descriptor)

    monkeypatch.setattr(os, "scandir", refused)
    made = ines.post(f"{V1}/tables", {"path": path}, format="json").json()
    assert made["format"] == "delta"
    assert made["version"] is None
    assert made["sync_error"]
    for part in ("schema", "layout", "protocol"):
        answer = ines.get(f"{V1}/tables/{made['id']}/{part}")
        assert code(answer, 422) == "unreadable"
        assert answer.json()["sync_error"] == made["sync_error"]


def test_findings_say_what_is_new_known_and_gone(ines: APIClient, root: Root, lake: Path, write: Write) -> None:
    for name in ("a", "b", "c"):
        write(name)
    scans.scan_root(root.pk)
    ines.post(f"{V1}/tables", {"path": f"{lake}/a"}, format="json")
    shutil.rmtree(lake / "c")
    scans.scan_root(root.pk)
    rows = ines.get(f"{V1}/roots/{root.pk}/findings").json()["results"]
    assert [(Path(row["path"]).name, row["state"], bool(row["table"])) for row in rows] == [
        ("a", "known", True),
        ("b", "new", False),
        ("c", "gone", False),
    ]


def test_hundreds_are_added_together_or_not_at_all(admin: Actor, root: Root, lake: Path, write: Write) -> None:
    for name in ("a", "b", "c"):
        write(name)
    scans.scan_root(root.pk)
    shutil.rmtree(lake / "b")
    paths = [f"{lake}/{name}" for name in ("c", "b", "a")]
    with pytest.raises(Problem, match="no directory"):
        additions.add_found(admin, root, paths)
    assert not Table.objects.exists()
    known = additions.add_table(admin, f"{lake}/a").table
    with CaptureQueriesContext(connection) as few:
        added = additions.add_found(admin, root, [f"{lake}/c", f"{lake}/a", f"{lake}/c"])
    assert [(each.table.name, each.is_new) for each in added] == [("c", True), ("a", False)]
    assert Table.objects.get(name="c").next_sync_at is not None
    assert Table.objects.get(name="c").synced_at is None
    assert added[1].table == known
    assert len(few) < 20
    entries.hide_table(admin, known)
    assert [each.is_new for each in additions.add_found(admin, root, [f"{lake}/a"])] == [True]
    assert Table.objects.get(name="a").hidden_at is None


def test_what_a_scan_could_not_see_is_not_gone(
    ines: APIClient, root: Root, lake: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mount/a", "open/b", "open/c"):
        write(name)
    scans.scan_root(root.pk)
    shutil.rmtree(lake / "open" / "c")
    scandir = os.scandir

    def refused(descriptor: int | str) -> Any:
        if isinstance(descriptor, int) and Path(f"/proc/self/fd/{descriptor}").readlink() == lake / "mount":
            raise OSError(errno.ESTALE, "Stale file handle", str(lake))
        return scandir(descriptor)

    monkeypatch.setattr(os, "scandir", refused)
    scans.scan_root(root.pk)
    rows = ines.get(f"{V1}/roots/{root.pk}/findings").json()["results"]
    assert [(Path(row["path"]).name, row["state"]) for row in rows] == [("a", "new"), ("b", "new"), ("c", "gone")]


def test_a_crowded_directory_is_named_and_nothing_in_it_is_gone(
    ines: APIClient, root: Root, lake: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("flat/a", "flat/b", "flat/c"):
        write(name)
    scans.scan_root(root.pk)
    monkeypatch.setattr("tables.rules.discovery.scan", partial(discovery.scan, limits=discovery.Limits(directory=2)))
    scans.scan_root(root.pk)
    assert f"in {lake}/flat" in (ines.get(f"{V1}/roots").json()["results"][0]["scan_stopped"])
    rows = ines.get(f"{V1}/roots/{root.pk}/findings").json()["results"]
    assert {row["state"] for row in rows} == {"new"}


def test_a_directory_that_can_not_be_told_is_not_added(
    ines: APIClient, root: Root, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (lake / "dump").mkdir()
    for number in range(9):
        (lake / "dump" / f"{number}.txt").touch()
    monkeypatch.setattr(
        "tables.rules.discovery.kind_of", partial(discovery.kind_of, limits=discovery.Limits(entries=5))
    )
    answer = ines.post(f"{V1}/tables", {"path": f"{lake}/dump"}, format="json")
    assert code(answer, 422) == "unreadable"
    assert "more than 5 files" in answer.json()["detail"]


def test_tables_are_found_narrowed_and_ordered(ines: APIClient, admin: Actor, root: Root, write: Write) -> None:
    for name, rows in (("orders", 5), ("shop/preorders", 1), ("orders_by_day", 9), ("returns", 2)):
        additions.add_table(admin, str(write(name, rows)))

    def names(query: str) -> list[str]:
        return [row["name"] for row in ines.get(f"{V1}/tables?{query}").json()["results"]]

    assert names("") == ["orders", "orders_by_day", "returns", "shop/preorders"]
    assert names("q=orders") == ["orders", "orders_by_day", "shop/preorders"]
    assert names("q=ORDERS%20day") == ["orders_by_day"]
    assert names("q=untr") == ["orders", "orders_by_day", "returns", "shop/preorders"]
    assert names("q=no_such_table") == []
    assert names("order=-size")[0] == "orders_by_day"
    assert names("format=parquet") == []
    assert names("root=lake&format=delta&format=parquet") == names("")
    assert names("feature=invariants&owner=nobody") == []
    first = ines.get(f"{V1}/tables?q=orders&limit=1").json()
    second = ines.get(first["next"]).json()
    assert [row["name"] for row in second["results"]] == ["orders_by_day"]


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("stg_us_orders", "us_orders"),
        ("dim_id_map", "id_map"),
        ("orders_eu-west", "eu-west"),
        ("stg__orders", "_orders"),
        ("stg__orders", "orders"),
        ("заказы_клиентов", "клиентов"),
        ("grösse_übersicht", "übersicht"),
        ("orders_by_day", "by"),
        ("orders_by_day", "s_b"),
    ],
)
def test_a_table_is_found_by_any_part_of_its_name(
    ines: APIClient, admin: Actor, root: Root, write: Write, name: str, query: str
) -> None:
    additions.add_table(admin, str(write(name, 1)))
    found = ines.get(f"{V1}/tables", {"q": query}).json()["results"]
    assert [row["name"] for row in found] == [name]


def test_the_best_match_comes_first(ines: APIClient, admin: Actor, root: Root, write: Write) -> None:
    for name in ("reorders", "a_orders", "orders_a", "b/orders", "orders", "z_z_orders"):
        additions.add_table(admin, str(write(name, 1)))
    found, url = [], f"{V1}/tables?q=orders&limit=2"
    while url:
        body = ines.get(url).json()
        found += [row["name"] for row in body["results"]]
        url, last = body["next"], body
    assert found == ["b/orders", "orders", "orders_a", "a_orders", "z_z_orders", "reorders"]
    middle = ines.get(last["previous"]).json()
    assert [row["name"] for row in middle["results"]] == ["orders_a", "a_orders"]
    assert [row["name"] for row in ines.get(middle["previous"]).json()["results"]] == ["b/orders", "orders"]


def test_several_roots_are_listed_as_one(as_: Callable[..., APIClient], admin: Actor, lake: Path, write: Write) -> None:
    for name in ("a", "b", "hidden"):
        (lake / name).mkdir()
        roots.add_root(admin, name, str(lake / name))
    for place in range(9):
        additions.add_table(admin, str(write(f"{('a', 'b', 'hidden')[place % 3]}/orders_{place}", 1)))
    reader = as_("rob", Role.VIEWER, root=Root.objects.get(name="a"))
    reader = as_("rob", Role.VIEWER, root=Root.objects.get(name="b"))

    def walk(url: str) -> tuple[list[list[str]], str]:
        pages, back = [], ""
        while url:
            body = reader.get(url).json()
            pages.append([row["name"] for row in body["results"]])
            back, url = body["previous"], body["next"]
        return pages, back

    names = [f"orders_{place}" for place in (0, 1, 3, 4, 6, 7)]
    pages, back = walk(f"{V1}/tables?limit=4")
    assert pages == [names[:4], names[4:]]
    assert [row["name"] for row in reader.get(back).json()["results"]] == names[:4]
    found, back = walk(f"{V1}/tables?q=orders&limit=4")
    assert found == pages
    assert [row["name"] for row in reader.get(back).json()["results"]] == names[:4]
    assert walk(f"{V1}/tables?q=orders_6")[0] == [["orders_6"]]
    assert sorted(name for found in walk(f"{V1}/tables?limit=2&order=-size")[0] for name in found) == names
