"""What `manage.py metastore` says of an address where no metastore is, or none yet; the real thing is in tests/jobs/engine/metastore."""

import socket
from dataclasses import replace

import psycopg
import pytest
from django.core.management import CommandError, call_command

from console.management.metastore import MetastoreRefused, create, state_of
from jobs.engine.metastore.connection import Metastore
from tests.factories import metastore_server


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    with metastore_server.running(tmp_path_factory.mktemp("metastore") / "home") as made:
        yield made


@pytest.fixture
def away():
    with socket.socket() as mute:  # its port is nobody else's, and refuses connections
        mute.bind(("127.0.0.1", 0))
        yield Metastore(f"postgresql://hive@127.0.0.1:{mute.getsockname()[1]}/metastore", "x")


def connected(metastore):
    return psycopg.connect(metastore.address, password=metastore.password, autocommit=True)


@pytest.mark.parametrize("act", [state_of, create])
def test_nothing_answers(away, act):
    with pytest.raises(MetastoreRefused) as refused:
        act(away)
    assert str(refused.value) == f"LEVEE_METASTORE: the metastore at {away.address} doesn’t answer: Connection refused."


def test_an_empty_database_is_to_be_filled(empty):
    with pytest.raises(MetastoreRefused, match=r"has no tables yet; run manage\.py metastore create"):
        state_of(empty)


def test_a_wrong_password_is_told_in_one_line_without_it(empty):
    with pytest.raises(MetastoreRefused) as refused:
        state_of(replace(empty, password="not this one"))
    assert "password authentication failed" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "not this one" not in str(refused.value)


def test_a_database_with_other_tables_stays_as_it_is(empty):
    with connected(empty) as connection:
        connection.execute("create table clients (id int)")
        try:
            with pytest.raises(MetastoreRefused, match=r"already has 1 other table \(clients\)"):
                create(empty)
            with pytest.raises(MetastoreRefused, match="is no metastore: it lacks DBS"):
                state_of(empty)
            kept = connection.execute("select tablename from pg_tables where schemaname = 'public'").fetchall()
            assert kept == [("clients",)]
        finally:
            connection.execute("drop table clients")


def test_a_service_makes_its_own_tables():
    with pytest.raises(MetastoreRefused, match="a service makes its own tables"):
        create(Metastore("thrift://127.0.0.1:1"))


def test_the_command_needs_the_setting(settings):
    settings.ENV = replace(settings.ENV, metastore=None)
    with pytest.raises(CommandError, match="LEVEE_METASTORE: isn't set"):
        call_command("metastore", "check")


def test_the_command_fails_in_one_line(settings, away):
    settings.ENV = replace(settings.ENV, metastore=away.address, metastore_password="x")
    with pytest.raises(CommandError, match=r"LEVEE_METASTORE: .* Connection refused"):
        call_command("metastore", "check")


def test_a_service_that_answers_is_said(capsys, settings):
    with socket.create_server(("127.0.0.1", 0)) as there:
        address = f"thrift://127.0.0.1:{there.getsockname()[1]}"
        settings.ENV = replace(settings.ENV, metastore=f"thrift://127.0.0.1:1,{address}", metastore_password=None)
        call_command("metastore", "check")
    assert "a metastore service answers at" in capsys.readouterr().out


def test_no_password_shows_where_a_metastore_is_printed(empty):
    assert empty.password not in repr(empty)
