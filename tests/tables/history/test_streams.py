"""Which streams write into a table is told by its commits, whoever runs them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from django.utils import timezone

from console.accounts.models import Person
from console.audit.actor import Actor
from tables.catalog.adding import additions
from tables.history.queries import STREAMING
from tables.history.streams import LISTED, LOOKED_AT, LogStream, streams_into
from tables.models import Commit, Root, Table
from tests import factories
from tests.clients import browser

pytestmark = pytest.mark.django_db


@pytest.fixture
def table() -> Table:
    return factories.TableFactory(format=Table.Format.DELTA, version=999, first_version=0, first_readable=0)


@pytest.fixture
def viewer() -> Person:
    return factories.person_with("viewer")


def batch(
    table: Table, version: int, query: object = "q", epoch: object = "7", *, operation: str = STREAMING, life: int = 0
) -> Commit:
    return Commit.objects.create(
        table=table,
        incarnation=life,
        version=version,
        committed_at=timezone.now() - timedelta(minutes=1000 - version),
        operation=operation,
        operation_parameters={"outputMode": "Append", "queryId": query, "epochId": epoch},
    )


def test_each_query_is_told_by_its_newest_batch(table: Table) -> None:
    for version, query, epoch in ((1, "a", "0"), (2, "b", "0"), (3, "a", "1"), (4, "b", "1"), (5, "a", "2")):
        newest = batch(table, version, query, epoch)
    found = streams_into(table)
    assert [(each.query_id, each.batch, each.version) for each in found.listed] == [("a", 2, 5), ("b", 1, 4)]
    assert found.listed[0] == LogStream("a", "Append", 2, 5, newest.committed_at)
    assert found.more == 0


def test_other_commits_and_earlier_tables_are_no_streams(table: Table) -> None:
    batch(table, 1, operation="WRITE")
    batch(table, 2, life=1)
    batch(table, 3, query="")
    batch(table, 4, query=None)
    assert streams_into(table).listed == ()


@pytest.mark.parametrize("epoch", ["", "-1", "²", "1" * 40, None, 3])
def test_a_batch_that_is_no_number_is_unknown(table: Table, epoch: object) -> None:
    batch(table, 1, epoch=epoch)
    assert streams_into(table).listed[0].batch is None


def test_only_so_many_are_listed_of_so_many_commits(table: Table) -> None:
    for version in range(LOOKED_AT + 50):
        batch(table, version, query=f"q{version % 8}" if version >= 50 else "long ago")
    found = streams_into(table)
    assert len(found.listed) == LISTED
    assert found.more == 8 - LISTED


def test_the_overview_names_them(table: Table, viewer: Person) -> None:
    page = browser(viewer)
    assert "Streams that write here" not in page.get(f"/tables/{table.pk}/").content.decode()
    batch(table, 12, query="<b>5f0c</b>", epoch="1204")
    html = page.get(f"/tables/{table.pk}/").content.decode()
    assert "Streams that write here" in html
    assert "&lt;b&gt;5f0c&lt;/b&gt;" in html
    assert "batch 1,204 in" in " ".join(html.split())
    assert f'href="/tables/{table.pk}/commits/12/"' in html


@pytest.mark.spark
@pytest.mark.xdist_group("engine")
def test_a_stream_of_sparks_own_is_told_by_the_id_of_its_transaction(
    runtime, admin: Actor, root: Root, lake: Path, tmp_path: Path
) -> None:
    source, target = tmp_path / "in", lake / "streamed"
    source.mkdir()
    for number in range(2):
        pq.write_table(pa.table({"id": [number]}), source / f"{number}.parquet")
        frame = runtime.new_session().readStream.schema("id long").parquet(str(source))
        writer = frame.writeStream.format("delta").option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start(str(target)).awaitTermination()
    made = additions.add_table(admin, str(target)).table
    (stream,) = streams_into(made).listed
    assert (stream.output_mode, stream.batch, stream.version) == ("Append", 1, 1)
    assert DeltaTable(target).transaction_version(stream.query_id) == 1
