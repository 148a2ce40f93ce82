"""A stream says beforehand that a change of its source's columns fails its next round, at which version, and what to do."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.models import Stream
from jobs.streams.schema_ahead import ahead_of
from tables.models import Commit, Schema, Table
from tests import factories
from tests.clients import browser, caller

pytestmark = pytest.mark.django_db
QUERY = "6d3c8a1e-0000-4000-8000-000000000001"


def column(name: str, kind: Any = "integer", number: int | None = None, nullable: bool = True) -> dict[str, Any]:
    metadata = (
        {} if number is None else {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"c{number}"}
    )
    return {"name": name, "type": kind, "nullable": nullable, "metadata": metadata}


def array(element: str, may_be_null: bool) -> dict[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": may_be_null}


ID, NAME, TITLE = column("id", number=1), column("name", "string", 2), column("title", "string", 2)
WIDE, MORE = column("id", "long", 1), column("more", "string", 3)


@pytest.fixture
def source() -> Table:
    made: Table = factories.TableFactory(name="orders", version=9, features=["typeWidening"])
    return made


def history(table: Table, **schemas: list[dict[str, Any]]) -> None:
    """Commits of versions `v0`, `v4`, … with these columns."""
    for name, fields in schemas.items():
        struct = {"type": "struct", "fields": fields}
        schema, _ = Schema.objects.get_or_create(
            sha256=str(hash(str(fields)))[-20:].rjust(64, "0"), defaults={"struct": struct, "columns": []}
        )
        Commit.objects.create(table=table, version=int(name[1:]), schema=schema, committed_at=timezone.now())


def reading(table: Table, reads_from: int | None = 4, **changes: Any) -> Stream:
    made = factories.stream(
        factories.TableFactory(), source_table=table, query_id=QUERY, reads_from=reads_from, **changes
    )
    source = {"table": str(table.pk), "path": table.path, "table_id": "x", "starting_version": None}
    Stream.objects.filter(pk=made.pk).update(definition={**made.definition, "source": source})
    return Stream.objects.select_related("source_table", "table").get(pk=made.pk)


def texts(*streams: Stream) -> list[str]:
    return [each.text for each in ahead_of(streams).values()]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ([ID, TITLE], "renames column name to title"),
        ([ID], "drops column name"),
        ([column("id", "string", 1), NAME], "changes column id from int to string"),
        ([column("id", "short", 1), NAME], "changes column id from int to smallint"),
        ([{**ID, "nullable": False}, NAME], "forbids NULL in column id"),
    ],
)
def test_a_change_that_stops_it_is_named_with_its_version_and_a_remedy(source: Table, fields: Any, said: str) -> None:
    history(source, v0=[ID, NAME], v6=fields)
    [ahead] = ahead_of([reading(source)]).values()
    assert ahead.version == 6
    assert f"version 6 of orders {said}" in ahead.text
    assert "Reset the stream" in ahead.remedy
    assert "starting version to 6" in ahead.remedy


@pytest.mark.parametrize(
    "fields",
    [[ID, NAME, MORE], [WIDE, NAME], [{**ID, "metadata": {**ID["metadata"], "comment": "a note"}}, NAME], [NAME, ID]],
    ids=["added", "wider", "commented", "moved"],
)
def test_a_change_that_it_reads_across_says_nothing(source: Table, fields: Any) -> None:
    history(source, v0=[ID, NAME], v6=fields)
    assert texts(reading(source)) == []


@pytest.mark.parametrize(
    ("before", "after", "stops"),
    [
        (array("integer", True), array("long", True), False),
        (array("integer", False), array("integer", True), False),
        (array("integer", True), array("integer", False), True),
        (array("integer", True), array("string", True), True),
        (array("integer", True), "string", True),
        ("decimal(5,2)", "decimal(10,4)", False),
        ("decimal(5,2)", "decimal(5,3)", True),
    ],
)
def test_types_are_compared_part_by_part(source: Table, before: Any, after: Any, stops: bool) -> None:
    history(source, v0=[column("x", before)], v6=[column("x", after)])
    assert bool(texts(reading(source))) == stops


def test_a_wider_type_stops_it_where_the_table_lacks_the_feature(source: Table) -> None:
    Table.objects.filter(pk=source.pk).update(features=[])
    history(source, v0=[ID, NAME], v6=[WIDE, NAME])
    [text] = texts(reading(source))
    assert "changes column id from int to bigint" in text


@pytest.mark.parametrize(
    ("target", "steps", "warned"),
    [
        (ID, {}, True),
        (WIDE, {}, False),
        (column("id", "double"), {}, True),
        (column("key"), {"rename": {"id": "key"}}, True),
        (ID, {"cast": {"id": "int"}}, False),
        (ID, {"select": ["name"]}, False),
        (NAME, {}, False),
    ],
)
def test_a_wider_column_is_named_where_the_target_keeps_a_narrower_one(
    source: Table, target: Any, steps: Any, warned: bool
) -> None:
    history(source, v0=[ID, NAME], v6=[WIDE, NAME])
    stream = reading(source)
    schema = Schema.objects.create(sha256="f" * 64, struct={"type": "struct", "fields": [target]}, columns=[])
    Table.objects.filter(pk=stream.table_id).update(schema=schema)
    definition = {**stream.definition, "steps": {**stream.definition["steps"], **steps}}
    Stream.objects.filter(pk=stream.pk).update(definition=definition)
    found = ahead_of(Stream.objects.select_related("source_table", "table").filter(pk=stream.pk))
    assert [each.fails for each in found.values()] == ([False] if warned else [])
    assert all("Widen the column" in each.remedy for each in found.values())


def test_the_first_version_that_stops_it_is_named_even_if_a_later_one_takes_it_back(source: Table) -> None:
    history(source, v0=[ID, NAME], v5=[ID, NAME, MORE], v6=[ID, TITLE, MORE], v8=[ID, NAME, MORE])
    [text] = texts(reading(source))
    assert "version 6" in text


def test_what_it_has_read_across_before_is_past(source: Table) -> None:
    history(source, v0=[ID, NAME], v3=[ID, TITLE])
    assert texts(reading(source, reads_from=5)) == []
    [text] = texts(reading(source, reads_from=3))
    assert "version 3" in text


def test_one_that_has_not_begun_is_judged_from_its_starting_version_on(source: Table) -> None:
    history(source, v0=[ID, NAME], v6=[ID])
    stream = reading(source)
    Stream.objects.filter(pk=stream.pk).update(query_id=None)
    for version, count in ((None, 0), (2, 1), (6, 0), (7, 0)):
        definition = {**stream.definition, "source": {**stream.definition["source"], "starting_version": version}}
        Stream.objects.filter(pk=stream.pk).update(definition=definition)
        found = ahead_of(Stream.objects.select_related("source_table", "table").filter(pk=stream.pk))
        assert len(found) == count
        assert all("starting version to 6" in each.remedy for each in found.values())


def test_what_is_not_known_is_not_said(source: Table) -> None:
    history(source, v6=[ID])
    assert texts(reading(source)) == []  # no schema is known from before
    assert texts(reading(source, reads_from=None)) == []
    assert texts(factories.stream(source)) == []


def test_a_table_that_was_made_anew_has_no_history_of_the_one_before(source: Table) -> None:
    history(source, v0=[ID, NAME], v6=[ID])
    Table.objects.filter(pk=source.pk).update(incarnation=1)
    assert texts(reading(source)) == []


def test_the_page_and_the_api_say_it(source: Table) -> None:
    history(source, v0=[ID, NAME], v6=[ID])
    stream, viewer = reading(source), caller("viewer")
    page = browser(viewer.person).get(f"/streams/{stream.pk}/").content.decode()
    assert "version 6 of orders drops column name" in page
    assert viewer.get(f"/streams/{stream.pk}").json()["schema_ahead"]["version"] == 6
    other = factories.stream(source, name="files")
    assert viewer.get(f"/streams/{other.pk}").json()["schema_ahead"] is None


def test_many_streams_cost_two_queries(source: Table) -> None:
    history(source, v0=[ID, NAME], v6=[ID])
    streams = [reading(source) for _ in range(4)]
    with CaptureQueriesContext(connection) as asked:
        assert len(ahead_of(streams)) == 4
    assert len(asked) == 2
