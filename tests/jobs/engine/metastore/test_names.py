"""A metastore on a real PostgreSQL: its tables made by Levee, entries by another engine, and read by Levee's JVM."""

import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.base.timeouts import timing
from console.management import metastore as command
from jobs.domain.errors import CommandRefused
from jobs.engine.metastore import names
from jobs.engine.metastore.connection import ANSWER_SECONDS, Metastore
from tests.factories import metastore_server
from tests.patience import limit

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine"), pytest.mark.timeout(900)]

REPOSITORY = Path(__file__).parents[4]


def statements(place):
    many = [
        f"CREATE TABLE shop.many_{number} (id bigint) USING parquet LOCATION '{place}/many/{number}'"
        for number in range(5)
    ]
    return [
        f"CREATE DATABASE shop LOCATION '{place}/shop.db'",
        f"CREATE TABLE shop.orders (id bigint, day date) USING delta PARTITIONED BY (day) LOCATION '{place}/orders'",
        f"CREATE TABLE shop.raw (id bigint COMMENT 'its number', p int) USING parquet PARTITIONED BY (p) LOCATION '{place}/raw'",
        f"CREATE TABLE shop.hives (id bigint) STORED AS PARQUET LOCATION '{place}/hives'",
        f"CREATE TABLE shop.texts (id bigint) USING csv LOCATION '{place}/texts'",
        "CREATE TABLE shop.own (id bigint) USING delta",
        "CREATE VIEW shop.seen AS SELECT id FROM shop.orders",
        *many,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def metastore(tmp_path_factory):
    """A metastore whose tables `create` made; an own engine's entries are in it."""
    directory = tmp_path_factory.mktemp("metastore")
    with metastore_server.running(directory / "home") as made:
        said = command.create(made)
        assert said == f"{made.address}: 44 tables made for a metastore"
        yield made


@pytest.fixture(scope="module")
def lake(tmp_path_factory, metastore):
    place = tmp_path_factory.mktemp("lake")
    scratch = tmp_path_factory.mktemp("other")
    given = {"conf": metastore.conf(), "statements": statements(place)}
    done = subprocess.run(
        [sys.executable, "-m", "tests.jobs.engine.metastore.other_engine", str(scratch)],
        cwd=REPOSITORY, input=json.dumps(given), text=True, capture_output=True, timeout=limit(145),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return place


@pytest.fixture
def ask(runtime, lake, metastore):
    """Levee's JVM with the metastore's settings, as its worker starts it; answers a question."""
    return asker(runtime, metastore)


def asker(runtime, metastore):
    session = runtime.new_session()
    context = session.sparkContext
    for key, value in metastore.conf().items():
        if key.startswith("spark.hadoop."):
            context._jsc.hadoopConfiguration().set(key.removeprefix("spark.hadoop."), value)
        context._conf.set(key, value)
    return lambda **question: names.read_metastore(session, question)


def test_check_says_what_is_there_and_create_changes_nothing_the_second_time(lake, metastore):
    assert command.state_of(metastore) == f"{metastore.address} holds a metastore of 2 databases and 11 tables"
    assert command.create(metastore).endswith("nothing was changed")


def test_the_databases_are_those_of_the_metastore(ask):
    assert ask() == {"databases": ["default", "shop"]}


def test_a_table_is_told_with_format_place_and_kind(ask, lake):
    answer = ask(database="shop")
    found = {table["name"]: table for table in answer["tables"]}
    kinds = {name: (table["type"], table["format"]) for name, table in found.items() if not name.startswith("many")}
    assert kinds == {
        "orders": ("external", "delta"),
        "raw": ("external", "parquet"),
        "hives": ("external", "parquet"),
        "texts": ("external", "csv"),
        "own": ("managed", "delta"),
        "seen": ("view", None),
    }
    assert found["orders"]["location"] == f"{lake}/orders"
    assert found["own"]["location"] == f"{lake}/shop.db/own"
    assert found["seen"]["location"] is None
    assert found["raw"]["partition_columns"] == ["p"]
    assert [field["name"] for field in found["raw"]["schema"]["fields"]] == ["id", "p"]
    assert found["orders"]["schema"] is None
    assert (answer["total"], answer["next"]) == (11, None)


def test_pages_follow_a_cursor_and_names_choose(ask, monkeypatch):
    monkeypatch.setattr(names, "PAGE", 4)
    first = ask(database="shop")
    second = ask(database="shop", cursor=first["next"])
    third = ask(database="shop", cursor=second["next"])
    pages = [[table["name"] for table in page["tables"]] for page in (first, second, third)]
    assert [len(page) for page in pages] == [4, 4, 3]
    every = [*pages[0], *pages[1], *pages[2]]
    assert every == sorted(every)
    assert third["next"] is None
    chosen = ask(database="shop", names=["raw", "gone", "orders"])
    assert [table["name"] for table in chosen["tables"]] == ["orders", "raw"]


def test_a_database_that_is_not_there_is_refused(ask):
    with pytest.raises(CommandRefused) as refused:
        ask(database="nowhere")
    assert refused.value.refusals[0].code == "no_database"


def test_a_metastore_that_is_away_is_one_line_and_stops_nothing_else(ask, runtime, metastore):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    away = Metastore(f"postgresql://hive@127.0.0.1:{port}/metastore", "x")
    gone = asker(runtime, away)
    with pytest.raises(CommandRefused) as refused:
        gone()
    [refusal] = refused.value.refusals
    assert refusal.code == "metastore_away"
    assert refusal.message == f"LEVEE_METASTORE: the metastore at {away.address} doesn’t answer: Connection refused."
    session = runtime.new_session()
    session.sql("CREATE DATABASE IF NOT EXISTS here")
    assert session.catalog.databaseExists("here")
    assert not session.catalog.databaseExists("shop")
    back = asker(runtime, metastore)
    assert back() == {"databases": ["default", "shop"]}


def test_a_refused_password_is_the_line_that_postgresql_says(ask, runtime, metastore):
    names._clients.clear()
    with pytest.raises(CommandRefused) as refused:
        asker(runtime, Metastore(metastore.address, "not this one"))()
    [refusal] = refused.value.refusals
    assert refusal.code == "metastore_away"
    assert 'password authentication failed for user "hive"' in refusal.message
    assert "not this one" not in refusal.message
    names._failures.clear()  # it is remembered for some seconds
    assert asker(runtime, metastore)() == {"databases": ["default", "shop"]}


def waiting_at(listener: socket.socket) -> Iterator[None]:
    """One for each connection that was made and not yet taken; each was given up after its time for an answer."""
    listener.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            listener.accept()[0].close()
            yield


def test_a_metastore_that_accepts_and_says_nothing_is_given_up_within_a_reads_limit(ask, runtime, metastore):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hung = Metastore(f"thrift://127.0.0.1:{silent.getsockname()[1]}")
        names._clients.clear()
        with pytest.raises(CommandRefused) as refused:
            asker(runtime, hung)()
        waits = len(list(waiting_at(silent)))
    assert refused.value.refusals[0].code == "metastore_away"
    assert 0 < waits * ANSWER_SECONDS < timing().read_limit + timing().listen
    runtime.session.sparkContext._jsc.hadoopConfiguration().unset("hive.metastore.uris")
    assert asker(runtime, metastore)() == {"databases": ["default", "shop"]}
