"""Giving a table a name over the API: `POST /tables {name, path, source_format, …}`."""

import shutil

import pytest
from django.test import Client
from rest_framework.test import APIClient

from console.accounts.roles import Role
from console.audit.models import Event
from console.base.errors import Problem
from jobs.models import Job
from tables.catalog import entries
from tables.catalog.adding import additions
from tables.models import Table
from tables.sync import table as sync
from tests import factories
from tests.factories import lakes

SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
        {"name": "p", "type": "integer", "nullable": True, "metadata": {}},
    ],
}


@pytest.fixture
def parquet(lake):
    lakes.parquet(lake / "raw" / "p=1" / "x.parquet", {"id": [1]})
    return lake / "raw"


@pytest.fixture
def post(admin, root):
    return poster(admin.person)


def poster(person):
    client = APIClient()
    client.force_authenticate(person)
    return lambda **body: client.post("/api/v1/tables", body, format="json")


def refusal(answer, status):
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    return answer.json()


def names():
    return dict(Table.objects.values_list("path", "catalog_name"))


def test_a_delta_table_gets_a_name(post, write):
    path = str(write())
    answer = post(name="Shop.Orders", path=path, source_format="delta")
    assert answer.status_code == 201
    assert (answer.json()["catalog_name"], answer.json()["name"]) == ("shop.orders", "shop.orders")
    assert (answer.json()["format"], answer.json()["version"]) == ("delta", 0)
    event = Event.objects.get(action="table.name")
    assert event.object_name == "shop.orders"
    assert event.before == {"catalog_name": None, "catalog_entry": None}
    assert event.after == {"catalog_name": "shop.orders", "catalog_entry": None}
    again = post(name="spark_catalog.shop.orders", path=path, source_format="delta")
    assert (again.status_code, again.json()["id"]) == (200, answer.json()["id"])
    assert Event.objects.filter(action="table.name").count() == 1


def test_a_name_alone_answers_its_table(post, write):
    made = post(name="orders", path=str(write()), source_format="delta").json()
    for name in ("orders", "default.orders", "DEFAULT.ORDERS"):
        found = post(name=name)
        assert (found.status_code, found.json()["id"]) == (200, made["id"])
    assert refusal(post(name="shop.none"), 404)["code"] == "no_table"
    assert refusal(post(name="no name"), 404)["code"] == "no_table"


def test_a_search_finds_the_name_after_a_sync_as_well(post, admin, write):
    made = post(name="shop.receipts", path=str(write()), source_format="delta").json()
    sync.sync(made["id"])
    client = APIClient()
    client.force_authenticate(admin.person)
    found = client.get("/api/v1/tables", {"q": "receipts"}).json()["results"]
    assert [row["catalog_name"] for row in found] == ["shop.receipts"]


def test_a_parquet_directory_declares_its_schema_and_partitions(post, parquet):
    body = {"name": "shop.raw", "path": str(parquet), "source_format": "parquet"}
    answer = post(**body, schema=SCHEMA, partition_columns=["p"])
    assert answer.status_code == 201
    assert answer.json()["catalog_entry"] == {"schema": SCHEMA, "partition_columns": ["p"]}
    table = Table.objects.get(catalog_name="shop.raw")
    assert table.catalog_entry == {"schema": SCHEMA, "partition_columns": ["p"]}
    assert post(**body).status_code == 200, "the same name again says anew what is declared"
    table.refresh_from_db()
    assert table.catalog_entry is None
    declared = {"schema": SCHEMA, "partition_columns": ["p"]}
    before = [event.before for event in Event.objects.filter(action="table.name")]
    assert {"catalog_name": "shop.raw", "catalog_entry": declared} in before


def test_the_entry_follows_a_conversion(post, parquet):
    post(name="shop.raw", path=str(parquet), source_format="parquet", schema=SCHEMA, partition_columns=["p"])
    shutil.rmtree(parquet)
    lakes.delta(parquet, {"id": [1]})
    table = sync.sync(Table.objects.get().pk)
    assert (table.format, table.catalog_name, table.name, table.catalog_entry) == (
        "delta",
        "shop.raw",
        "shop.raw",
        None,
    )


def test_a_table_converted_since_the_last_look_is_named_as_what_it_is(post, admin, parquet):
    additions.add_table(admin, str(parquet))
    lakes.delta(parquet / "more", {"id": [1]})
    shutil.move(parquet / "more" / "_delta_log", parquet / "_delta_log")
    assert refusal(post(name="a.b", path=str(parquet), source_format="parquet"), 409)["code"] == "already_delta"
    assert post(name="a.b", path=str(parquet), source_format="delta").json()["format"] == "delta"


def test_one_name_per_table_and_one_table_per_name(post, write):
    first, second = str(write("first")), str(write("second"))
    post(name="shop.t", path=first, source_format="delta")
    taken = refusal(post(name="SHOP.T", path=second, source_format="delta"), 409)
    assert (taken["code"], list(taken["fields"])) == ("already_known", ["name"])
    other = refusal(post(name="shop.other", path=first, source_format="delta"), 409)
    assert (other["code"], other["name"]) == ("already_known", "shop.t")
    assert names() == {first: "shop.t"}, "a directory that could not be named is not added either"


def test_no_name_without_a_commit(post, lake, parquet):
    (lake / "staged" / "_delta_log" / "_staged_commits").mkdir(parents=True)
    assert refusal(post(name="a.b", path=f"{lake}/none", source_format="delta"), 404)["code"] == "no_table"
    assert refusal(post(name="a.b", path=f"{lake}/staged", source_format="delta"), 404)["code"] == "no_table"
    assert refusal(post(name="a.b", path=str(parquet), source_format="delta"), 409)["code"] == "not_delta"
    assert not (lake / "none").exists()
    assert names() == {}


def test_outside_the_roots_nothing_is_looked_at(post, tmp_path):
    lakes.delta(tmp_path / "elsewhere", {"id": [1]})
    answer = post(name="a.b", path=str(tmp_path / "elsewhere"), source_format="delta")
    assert refusal(answer, 403)["code"] == "outside_roots"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "a.b.c"}, "name"),
        ({"name": "delta.t"}, "name"),
        ({"name": ""}, "name"),
        ({"source_format": "csv"}, "source_format"),
        ({"source_format": None}, "source_format"),
        ({"schema": "id long"}, "schema"),
        ({"schema": {"type": "struct", "fields": []}}, "schema"),
        ({"partition_columns": ["p"]}, "schema"),
        ({"schema": SCHEMA, "partition_columns": ["q"]}, "partition_columns"),
        ({"schema": SCHEMA, "partition_columns": "p"}, "partition_columns"),
        ({"location": "/etc"}, "location"),
    ],
)
def test_a_wrong_field_is_400_and_named(post, parquet, changes, field):
    body = {"name": "shop.raw", "path": str(parquet), "source_format": "parquet"} | changes
    assert field in refusal(post(**body), 400)["fields"]
    assert names() == {}


@pytest.mark.parametrize("extra", [{"source_format": "delta"}, {"schema": SCHEMA}, {"partition_columns": []}])
def test_a_declaration_belongs_to_a_name_and_a_path(post, parquet, extra):
    assert refusal(post(path=str(parquet), **extra), 400)["fields"]
    assert refusal(post(name="shop.raw", **extra), 400)["fields"]


def test_a_name_without_saying_what_lies_there_is_400(post, parquet):
    assert "source_format" in refusal(post(path=str(parquet), name="shop.raw"), 400)["fields"]


def test_a_delta_table_declares_nothing(post, write):
    answer = post(name="a.b", path=str(write()), source_format="delta", schema=SCHEMA)
    assert list(refusal(answer, 400)["fields"]) == ["schema"]


def test_spark_s_refusal_of_partition_columns_alone_is_its_own(post, parquet):
    body = {"name": "shop.raw", "path": str(parquet), "source_format": "parquet", "partition_columns": ["p"]}
    assert refusal(post(**body), 400)["engine"]["condition"] == "SPECIFY_PARTITION_IS_NOT_ALLOWED"


@pytest.mark.parametrize("place", ["a*b", "a{b}", "a[1]", "a\\b"])
def test_a_parquet_place_that_spark_reads_as_a_pattern_has_no_name(post, lake, place):
    lakes.parquet(lake / place / "x.parquet", {"id": [1]})
    assert "path" in refusal(post(name="a.b", path=f"{lake}/{place}", source_format="parquet"), 400)["fields"]


def test_a_viewer_gives_no_name(person, root, write):
    path = str(write())
    asked = {"name": "a.b", "path": path, "source_format": "delta"}
    assert refusal(poster(person("vera", Role.VIEWER))(**asked), 403)["code"] == "forbidden"
    operator = person("otto", Role.OPERATOR, root=root)
    assert poster(operator)(**asked).status_code == 201


def test_an_operator_of_one_table_names_that_one(person, admin, root, write):
    table = additions.add_table(admin, str(write("mine"))).table
    write("other")
    theirs = poster(person("tina", Role.OPERATOR, table=table))
    assert theirs(name="a.mine", path=table.path, source_format="delta").status_code == 201
    answer = theirs(name="a.other", path=f"{root.uri}/other", source_format="delta")
    assert refusal(answer, 403)["code"] == "outside_roots"
    assert refusal(
        poster(person("sam", Role.VIEWER, root=root))(name="a.b", path=table.path, source_format="delta"), 403
    )


@pytest.fixture
def browser(admin):
    client = Client()
    client.force_login(admin.person)
    return client


DESCRIBED = {"owner": "", "description": "What was sold", "tags": ""}


def test_the_describe_page_gives_a_name_and_another_one(browser, admin, root, write):
    table = additions.add_table(admin, str(write())).table
    page = f"/tables/{table.pk}/describe/"
    assert 'name="catalog_name"' in browser.get(page).content.decode()
    assert browser.post(page, {**DESCRIBED, "catalog_name": "Shop.Orders"}).status_code == 302
    table.refresh_from_db()
    assert (table.catalog_name, table.description) == ("shop.orders", "What was sold")
    assert 'name="catalog_name" value="shop.orders"' in browser.get(page).content.decode()
    browser.post(page, {**DESCRIBED, "catalog_name": "shop.other"})
    table.refresh_from_db()
    assert table.catalog_name == "shop.other"


@pytest.mark.parametrize("name", ["no name", "shop.taken"])
def test_a_name_that_can_not_be_given_is_said_in_the_form(browser, admin, root, post, write, name):
    post(name="shop.taken", path=str(write("taken")), source_format="delta")
    table = additions.add_table(admin, str(write("other"))).table
    answer = browser.post(f"/tables/{table.pk}/describe/", {**DESCRIBED, "catalog_name": name})
    assert "lv-field-error" in answer.content.decode()
    table.refresh_from_db()
    assert (table.catalog_name, table.description) == (None, "")


@pytest.fixture
def patch(admin, root):
    client = APIClient()
    client.force_authenticate(admin.person)
    return lambda table, **body: client.patch(f"/api/v1/tables/{table}", body, format="json")


@pytest.fixture
def named(post, write):
    """The id of a table with the name shop.orders."""
    return post(name="shop.orders", path=str(write()), source_format="delta").json()["id"]


def test_a_name_is_changed_and_the_old_one_is_free(patch, post, write, named):
    changed = patch(named, catalog_name="Shop.Sales", owner="finance").json()
    assert (changed["catalog_name"], changed["name"], changed["owner"]) == ("shop.sales", "shop.sales", "finance")
    event = Event.objects.filter(action="table.name").latest("at")
    assert (event.before, event.after) == ({"catalog_name": "shop.orders"}, {"catalog_name": "shop.sales"})
    assert post(name="shop.orders").status_code == 404
    assert post(name="shop.orders", path=str(write("other")), source_format="delta").status_code == 201
    assert Table.objects.get(pk=named).leaf == "sales"
    assert refusal(patch(named, catalog_name="shop.orders"), 409)["code"] == "already_known"
    assert refusal(patch(named, catalog_name="no good"), 400)["fields"]


def test_a_name_is_taken_away_and_the_table_is_called_by_its_place(patch, named):
    freed = patch(named, catalog_name=None).json()
    assert (freed["catalog_name"], freed["name"]) == (None, "orders")
    assert Event.objects.filter(action="table.unname", object_name="shop.orders").count() == 1
    assert patch(named, catalog_name=None).status_code == 200  # nothing to take away: no act
    assert Event.objects.filter(action="table.unname").count() == 1
    assert patch(named, catalog_name="shop.again").json()["catalog_name"] == "shop.again"


def test_a_hidden_table_gives_its_name_back(post, admin, write, named):
    table = Table.objects.get(pk=named)
    entries.hide_table(admin, table)
    table.refresh_from_db()
    assert (table.catalog_name, table.name, table.leaf) == (None, "orders", "orders")
    assert Event.objects.get(action="table.hide").before == {"catalog_name": "shop.orders"}
    assert post(name="shop.orders", path=str(write("other")), source_format="delta").status_code == 201


def test_a_name_stays_while_a_job_of_its_table_is_under_way(patch, admin, named):
    table = Table.objects.get(pk=named)
    job = factories.job("queued", table=table)
    for name in ("shop.sales", None):
        assert refusal(patch(named, catalog_name=name), 409)["code"] == "in_use"
    assert patch(named, catalog_name="SHOP.orders").status_code == 200  # the same name
    with pytest.raises(Problem, match="hasn’t ended"):
        entries.hide_table(admin, table)
    table.refresh_from_db()
    assert (table.catalog_name, table.hidden_at) == ("shop.orders", None)
    Job.objects.filter(pk=job.pk).delete()
    assert patch(named, catalog_name=None).status_code == 200


def test_only_who_may_describe_a_table_renames_it(person, named):
    client = APIClient()
    client.force_authenticate(person("vera", Role.VIEWER))
    answer = client.patch(f"/api/v1/tables/{named}", {"catalog_name": None}, format="json")
    assert refusal(answer, 403)["code"] == "forbidden"


def test_a_page_renames_and_unnames(admin, named, redis_server):
    client = Client()
    client.force_login(admin.person)
    address = f"/tables/{named}/describe/"
    assert 'value="shop.orders"' in client.get(address).content.decode()
    rest = {"owner": "", "description": "", "tags": ""}
    assert client.post(address, {"catalog_name": "shop.sales", **rest}).status_code == 302
    assert list(names().values()) == ["shop.sales"]
    client.post(address, rest)  # of somebody to whom the field isn't shown
    assert list(names().values()) == ["shop.sales"]
    factories.job("queued", table=Table.objects.get())
    assert "hasn’t ended" in client.post(address, {"catalog_name": "", **rest}).content.decode()
