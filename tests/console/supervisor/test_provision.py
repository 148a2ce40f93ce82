"""Roles, and the checks a start doesn't go without, on the tests' own PostgreSQL and Redis."""

import contextlib
from collections.abc import Iterator

import psycopg
import pytest
import redis

from console.supervisor import provision
from console.supervisor.errors import StartRefused
from console.supervisor.home import Home
from console.supervisor.leftovers import wait_until
from console.supervisor.servers import postgres
from console.supervisor.servers import redis as own_redis


@pytest.fixture
def durable_server(postgres_server: Home, monkeypatch) -> dict[str, str]:
    """Connection arguments without a user; the tests' server is durable in nothing, so that check is left out."""
    monkeypatch.setattr(provision, "DURABILITY", ())
    return {"host": postgres_server.record.pg_socket_dir, "dbname": postgres.DATABASE}


@contextlib.contextmanager
def changed(home: Home, statement: str, undo: str) -> Iterator[None]:
    with postgres.connect(home) as connection:
        connection.execute(statement.encode())
        try:
            yield
        finally:
            connection.execute(undo.encode())


def check(server: dict[str, str], app: str = "levee_app", admin: str = "levee_migrate") -> None:
    provision.check({**server, "user": app}, {**server, "user": admin})


def test_the_roles_it_makes_pass_its_own_checks(durable_server):
    check(durable_server)


def test_making_them_again_changes_nothing(postgres_server, durable_server):
    provision.provision(postgres_server)
    check(durable_server)


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes", "synchronous_commit"])
def test_it_refuses_a_server_that_may_lose_commits(postgres_server, monkeypatch, setting):
    monkeypatch.setattr(provision, "DURABILITY", (setting,))
    with pytest.raises(StartRefused, match=f"^LEVEE_DATABASE_URL: .*{setting} = off"):
        check({"host": postgres_server.record.pg_socket_dir, "dbname": postgres.DATABASE})


@pytest.mark.parametrize(
    ("app", "admin", "words"),
    [
        ("levee_super", "levee_migrate", "LEVEE_DATABASE_URL: the role levee_super is a superuser"),
        ("levee_migrate", "levee_migrate", "LEVEE_DATABASE_URL: the role levee_migrate may become levee_audit"),
        ("levee_app", "levee_app", "LEVEE_DATABASE_ADMIN_URL: is the application's own role"),
        ("levee_app", "levee_super", "LEVEE_DATABASE_ADMIN_URL: its role is levee_super"),
        ("nobody_at_all", "levee_migrate", "LEVEE_DATABASE_URL: .*nobody_at_all"),
        ("levee_app", "nobody_at_all", "LEVEE_DATABASE_ADMIN_URL: .*nobody_at_all"),
    ],
)
def test_it_refuses_roles_that_could_rewrite_the_audit_or_do_not_exist(durable_server, app, admin, words):
    with pytest.raises(StartRefused, match=f"^{words}"):
        check(durable_server, app, admin)


@pytest.mark.parametrize(
    ("statement", "undo", "words"),
    [
        ("grant levee_audit to levee_app", "revoke levee_audit from levee_app", "may become levee_audit"),
        ("grant levee_migrate to levee_app", "revoke levee_migrate from levee_app", "may become levee_audit"),
        ("alter role levee_app createrole", "alter role levee_app nocreaterole", "able to make roles"),
        ("alter role levee_app superuser", "alter role levee_app nosuperuser", "a superuser"),
    ],
)
def test_it_refuses_an_application_role_that_was_given_more(postgres_server, durable_server, statement, undo, words):
    with changed(postgres_server, statement, undo), pytest.raises(StartRefused, match=words):
        check(durable_server)
    check(durable_server)


def test_it_refuses_two_addresses_of_two_databases(durable_server):
    app = {**durable_server, "user": "levee_app"}
    with pytest.raises(StartRefused, match=r"^LEVEE_DATABASE_ADMIN_URL: leads to another database"):
        provision.check(app, {**durable_server, "user": "levee_migrate", "dbname": "postgres"})


def test_the_application_may_write_rows_but_change_no_table(durable_server):
    arguments = {**durable_server, "autocommit": True}
    with psycopg.connect(**arguments, user="levee_migrate") as migrate:
        migrate.execute("create table pens (id bigint generated always as identity, colour text)")
        try:
            with psycopg.connect(**arguments, user="levee_app") as app:
                app.execute("insert into pens (colour) values ('blue')")
                app.execute("update pens set colour = 'red'")
                assert app.execute("delete from pens returning colour").fetchone() == ("red",)
                for forbidden in ("truncate pens", "drop table pens", "create table more ()", "create schema more"):
                    with pytest.raises(psycopg.errors.InsufficientPrivilege):
                        app.execute(forbidden.encode())
        finally:
            migrate.execute("drop table pens")


def test_it_refuses_a_redis_that_forgets(redis_server):
    own_redis.check(redis_server, "LEVEE_REDIS_URL")
    with redis.Redis.from_url(redis_server) as client:
        client.config_set("appendonly", "no")
        try:
            with pytest.raises(StartRefused, match=r"^LEVEE_REDIS_URL: .*append-only"):
                own_redis.check(redis_server, "LEVEE_REDIS_URL")
        finally:
            client.config_set("appendonly", "yes")
            assert wait_until(lambda: not client.info("persistence")["aof_rewrite_in_progress"], 20)


def test_it_names_a_redis_that_does_not_answer(tmp_path):
    with pytest.raises(StartRefused, match=r"^LEVEE_REDIS_URL: Redis doesn't answer"):
        own_redis.check(f"unix://{tmp_path}/no.sock", "LEVEE_REDIS_URL")
