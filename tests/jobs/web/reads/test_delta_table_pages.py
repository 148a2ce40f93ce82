"""The pages of the live `DeltaTableV2`: every member said, properties with their source, and nothing of a table is markup."""

import html as markup
from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.models import Read
from jobs.web.reads import delta_table_text
from tables.web.table import protocol_rows
from tests import clock, factories
from tests.clients import browser

pytestmark = pytest.mark.django_db

HOSTILE = '<img src=x onerror="x">'


def answer(**changes):
    """What the engine answers for a table opened by path."""
    return {
        "version": 7, "name": "delta.`file:/lake/orders`", "path": "/lake/orders", "root_path": "file:/lake/orders",
        "table_identifier": None, "catalog_table": None, "time_travel_opt": None, "time_travel_by_path": None,
        "time_travel_spec": None, "options": {}, "partitioning": ["day"],
        "schema": {"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": False, "metadata": {}}]},
        "properties": {
            "provider": "delta", "location": "file:/lake/orders", "delta.minReaderVersion": "1",
            "delta.enableChangeDataFeed": "true", "delta.feature.appendOnly": "supported", "team": HOSTILE,
            "option.serialization.format": "1",
        },
        "capabilities": [each.name for each in delta_table_text.CAPABILITIES],
        "v1_table": {"error": {"engine": {"condition": "DELTA_INVALID_V1_TABLE_CALL"}}},
        "read_at": "2026-11-21T08:00:00+00:00",
    } | changes  # fmt: skip


CATALOG_TABLE = {
    "identifier": "spark_catalog.shop.orders", "type": "EXTERNAL", "provider": "delta", "location": "file:/lake/orders",
    "owner": "ana", "comment": HOSTILE, "created_at": "2026-01-02T03:04:05+00:00",
    "schema": {"type": "struct", "fields": []}, "partition_columns": [], "properties": {"k": "v"}, "storage_properties": {},
}  # fmt: skip


@pytest.fixture
def table(tmp_path):
    (tmp_path / "orders" / "day=1").mkdir(parents=True)
    return factories.TableFactory(root=factories.RootFactory(uri=str(tmp_path)), name="orders", version=7)


@pytest.fixture
def person():
    return factories.person_with("viewer")


@pytest.fixture
def shown(table, person):
    """The text of a page of the table when its read is answered."""

    def show(found=None, **problem):
        client, address = browser(person), f"/tables/{table.pk}/capabilities/"
        Read.objects.all().delete()
        client.get(address)
        values = (
            {"state": "failed", "problem": problem} if problem else {"state": "answered", "answer": found or answer()}
        )
        Read.objects.update(**values)
        return fragment(client, f"/reads/{Read.objects.get().pk}/")

    return show


def fragment(client, address, **headers):
    got = client.get(address, headers={"HX-Request": "true", **headers})
    assert got.status_code == 200
    return got.content.decode()


def test_the_part_polls_until_the_answer_is_there(table, person):
    client = browser(person)
    first = client.get(f"/tables/{table.pk}/capabilities/").content.decode()
    read = Read.objects.get()
    assert f'hx-get="/reads/{read.pk}/"' in first
    assert "hx-get" in fragment(client, f"/reads/{read.pk}/")
    Read.objects.update(state="answered", answer=answer())
    last = fragment(client, f"/reads/{read.pk}/")
    assert "hx-get" not in last
    assert "read live at version 7" in last


def test_a_warm_worker_is_waited_for(table, person, monkeypatch):
    """The figure is two seconds for the first answer: a page that only looks every two can't keep it."""
    factories.WorkerFactory(kind="interactive")
    monkeypatch.setattr(
        "jobs.reads.queue.time.sleep", lambda _seconds: Read.objects.update(state="answered", answer=answer())
    )
    got = browser(person).get(f"/tables/{table.pk}/capabilities/").content.decode()
    assert "at version 7" in got
    assert "/reads/" not in got


def test_without_a_warm_worker_nobody_waits(table, person, monkeypatch):
    def fail(_seconds):
        raise AssertionError("waited")

    clock.replace(monkeypatch, "jobs.reads.queue", sleep=fail)
    assert "hx-get" in browser(person).get(f"/tables/{table.pk}/capabilities/").content.decode()


@pytest.mark.parametrize("how", ["expired", "vanished", "forbidden", "without any role", "somebody else's"])
def test_an_answer_that_may_not_be_shown_any_more_is_asked_for_again_by_a_link(table, person, how):
    """The part is asked for by itself every two seconds: it must not go on asking for what never comes."""
    read = factories.read(person, kind="deltatable", table=table, state="answered", answer=answer())
    client, address = browser(person), f"/tables/{table.pk}/"
    if how == "expired":
        Read.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif how == "vanished":
        Read.objects.all().delete()
    elif how == "forbidden":
        person.grants.all().delete()
        factories.GrantFactory(person=person, root=factories.RootFactory())
    elif how == "without any role":
        person.grants.all().delete()
    else:
        client = browser(factories.person_with("admin"))
    got = fragment(client, f"/reads/{read.pk}/", **{"HX-Current-URL": f"http://testserver{address}"})
    assert "has expired" in got
    assert f'href="{address}"' in got
    assert "orders" not in got
    assert "hx-get" not in got
    assert client.get(f"/reads/{read.pk}/").status_code == 404


def test_every_member_stands_there_and_what_is_not_set_in_words(shown):
    text = markup.unescape(shown())
    for name in (
        "name()", "path", "rootPath", "tableIdentifier", "catalogTable", "timeTravelOpt", "timeTravelByPath",
        "timeTravelSpec", "options", "schema()", "partitioning()", "capabilities()", "v1Table",
    ):  # fmt: skip
        assert f"<dt>{name}</dt>" in text
    assert text.count("none: opened by path") == 2
    assert "DELTA_INVALID_V1_TABLE_CALL" in text


def test_a_named_table_says_its_catalog_entry(shown):
    found = answer(catalog_table=CATALOG_TABLE, v1_table=CATALOG_TABLE, table_identifier="spark_catalog.shop.orders")
    text = shown(found)
    assert "spark_catalog.shop.orders" in text
    assert "EXTERNAL" in text
    assert HOSTILE not in text


def test_the_catalogs_entry_and_the_schema_are_there_in_full(shown):
    struct = {"type": "struct", "fields": [
        {"name": "id", "type": "long", "nullable": False, "metadata": {"comment": HOSTILE}},
        {"name": "at", "type": {"type": "struct", "fields": [
            {"name": "day", "type": "date", "nullable": True, "metadata": {}},
        ]}, "nullable": True, "metadata": {}},
    ]}  # fmt: skip
    found = answer(schema=struct, catalog_table=CATALOG_TABLE, v1_table=CATALOG_TABLE)
    text = shown(found)
    assert HOSTILE not in text
    text = markup.unescape(text)
    for line in (
        "at.day",
        f"NOT NULL: {HOSTILE}",
        "2 columns",
        "file:/lake/orders",
        "ana",
        "2026-01-02T03:04:05",
        "k=v",
    ):
        assert line in text


def test_a_wide_schema_is_bounded_on_the_page():
    fields = [{"name": f"c{n}", "type": "long", "nullable": True, "metadata": {}} for n in range(2000)]
    [schema] = [
        m for m in delta_table_text.members(answer(schema={"type": "struct", "fields": fields})) if m.name == "schema()"
    ]
    assert (schema.value, len(schema.lines), schema.lines[-1][0]) == ("2,000 columns", 201, "1,800 more")


@pytest.mark.parametrize(
    ("held", "travels", "note"),
    [
        (True, False, "with the catalog's statistics"),
        (False, False, "the catalog has no statistics of it"),
        (False, True, "Delta drops them under time travel"),
    ],
)
def test_v1_table_says_whether_it_has_statistics(held, travels, note):
    spec = {"version": 3, "timestamp": None, "source": "SQL"} if travels else None
    found = answer(v1_table=CATALOG_TABLE | {"has_statistics": held}, time_travel_spec=spec)
    assert note in next(m for m in delta_table_text.members(found) if m.name == "v1Table").note


def test_a_directory_below_is_said_as_the_filter_that_it_is():
    filters = [{"column": "day", "value": "2026-01-02"}, {"column": "country", "value": None}]
    members = {m.name: m.value for m in delta_table_text.members(answer(partition_filters=filters))}
    assert members["partition filter"] == "day = 2026-01-02 AND country = NULL"
    assert "partition filter" not in {m.name for m in delta_table_text.members(answer())}


def test_programs_get_what_the_page_says_of_properties_and_capabilities(table, person):
    read = factories.read(person, kind="deltatable", table=table, state="answered", answer=answer())
    found = browser(person).get(f"/api/v1/reads/{read.pk}").json()
    feed = next(p for p in found["property_details"] if p["name"] == "delta.enableChangeDataFeed")
    assert (feed["value"], feed["source"], feed["default"], bool(feed["meaning"])) == ("true", "table", "false", True)
    assert found["capability_details"][1]["name"] == "BATCH_READ"
    assert found["capability_details"][1]["meaning"]
    assert found["version"] == 7


def test_each_capability_is_explained_and_an_unknown_one_named(shown):
    text = markup.unescape(shown(answer(capabilities=["BATCH_READ", "FROM_THE_FUTURE"])))
    assert "Read a version with a batch query." in text
    assert "FROM_THE_FUTURE" in text
    assert "Levee doesn't know this capability" in text
    assert "2 of 6" in text


@pytest.mark.parametrize(
    ("name", "by_name", "source"),
    [
        ("delta.minReaderVersion", False, "protocol"),
        ("delta.feature.appendOnly", False, "protocol"),
        ("option.serialization.format", True, "storage"),
        ("location", True, "catalog"),
        ("location", False, "given on reading"),
        ("provider", False, "given on reading"),
        ("owner", True, "catalog"),
        ("external", True, "catalog"),
        ("is_managed_location", True, "catalog"),
        ("delta.enableChangeDataFeed", False, "table"),
        ("team", False, "table"),
    ],
)
def test_a_property_says_where_it_comes_from(name, by_name, source):
    found = answer(properties={name: "x"}, catalog_table=CATALOG_TABLE if by_name else None)
    assert [(row.name, row.value, row.source) for row in delta_table_text.properties(found)] == [(name, "x", source)]


def test_a_property_of_deltas_own_has_its_default_and_its_meaning(shown):
    [row] = delta_table_text.properties(answer(properties={"delta.enableChangeDataFeed": "true"}))
    assert row.default == "false"
    assert row.meaning
    assert row.meaning in markup.unescape(shown())
    [own] = delta_table_text.properties(answer(properties={"team": "data"}))
    assert (own.default, own.meaning) == (None, "")


def test_the_note_of_a_member_that_older_descriptions_have_otherwise(shown):
    assert "once cdcOptions" in shown()
    assert "Older descriptions of Delta list five capabilities" in markup.unescape(shown())


def test_what_delta_refuses_stands_in_the_part(shown):
    engine = {"condition": "DELTA_VERSION_NOT_FOUND", "sqlstate": "42000", "message": "no version 9"}
    text = shown(status=422, code="engine_failed", detail="no version 9", engine=engine)
    assert "DELTA_VERSION_NOT_FOUND" in text
    assert "hx-get" not in text


def test_nothing_of_a_table_is_markup(shown):
    text = shown(answer(name=HOSTILE, path=HOSTILE, options={"a": HOSTILE}, partitioning=[HOSTILE]))
    assert HOSTILE not in text
    assert markup.escape(HOSTILE) in text or "&lt;img" in text


@pytest.mark.parametrize(
    ("query", "question"),
    [
        ("version=3", {"version": 3}),
        ("timestamp=2026-01-02+03:04", {"timestamp": "2026-01-02T03:04:00+00:00"}),
        ("at=%40v3", {"at": "@v3", "by": "path"}),
        ("partition=day%3D1", {"partition": "day=1", "by": "path"}),
        ("by=path", {"by": "path"}),
        (
            "read_change_feed=on&starting_version=2&ending_version=5",
            {"read_change_feed": True, "starting_version": 2, "ending_version": 5},
        ),
    ],
)
def test_the_form_asks_for_another_version(table, person, query, question):
    assert browser(person).get(f"/tables/{table.pk}/capabilities/?{query}").status_code == 200
    assert Read.objects.get().question == {"path": table.path, **question}


@pytest.mark.parametrize(
    ("at", "version", "is_newest"),
    [("@v3", 3, False), ("@v7", 7, True), ("@v99", 7, True), ("@20261120120000000", None, False), ("@vx", 7, True)],
)
def test_the_page_says_of_which_version_it_is_when_that_is_in_the_path(table, person, at, version, is_newest):
    page = browser(person).get(f"/tables/{table.pk}/capabilities/", {"at": at})
    assert page.context["chooser"].shown.version == version
    assert page.context["chooser"].is_newest == is_newest
    assert ("<strong>Version 3</strong>; the newest is 7." in page.content.decode()) == (at == "@v3")
    assert (f'href="/tables/{table.pk}/schema/?version=3"' in page.content.decode()) == (at == "@v3")


@pytest.mark.parametrize("query", ["by=name", "starting_version=2", "partition=day"])
def test_what_cannot_be_asked_is_said_on_the_page(table, person, query):
    shown = browser(person).get(f"/tables/{table.pk}/capabilities/?{query}")
    assert shown.status_code == 200
    assert f"{query.partition('=')[0]}" in shown.content.decode()
    assert "invalid" in shown.content.decode()
    assert not Read.objects.exists()


def test_live_properties_and_those_of_the_log_have_the_same_defaults(table):
    table.protocol = {"min_reader_version": 1, "min_writer_version": 7, "reader_features": None, "writer_features": []}
    told, others = protocol_rows.properties(table)
    live = delta_table_text.properties({"properties": {"delta.minReaderVersion": "1", "delta.minWriterVersion": "7"}})
    expected = [("delta.minReaderVersion", "1", "1"), ("delta.minWriterVersion", "7", "2")]
    assert [(row.name, row.value, row.default) for row in told] == expected
    assert [(row.name, row.value, row.default) for row in live] == expected
    assert not {row.name for row in told} & {row.name for row in others}
