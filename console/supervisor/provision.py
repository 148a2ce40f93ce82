"""The database, its roles, and the checks that a start doesn't go without."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from console.base.env import Env
from console.supervisor.errors import StartRefused
from console.supervisor.home import Home
from console.supervisor.servers import postgres

ROLES = Path(__file__).resolve().parent.parent / "roles.sql"
DURABILITY = ("fsync", "full_page_writes", "synchronous_commit")


def provision(home: Home) -> None:
    """Make database and roles in the home's own server. Idempotent."""
    with postgres.connect(home, "postgres") as connection:
        exists = connection.execute("select 1 from pg_database where datname = %s", [postgres.DATABASE]).fetchone()
        if not exists:
            connection.execute(sql.SQL("create database {}").format(sql.Identifier(postgres.DATABASE)))
    with postgres.connect(home) as connection, connection.transaction():
        connection.execute(ROLES.read_text(encoding="utf-8").encode())


def arguments(env: Env, role: str) -> dict[str, Any]:
    """psycopg's connection arguments of a role, as Django's settings say them. Raises SettingError."""
    names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    database = env.database(role)
    found = {names[key]: value for key, value in database.items() if key in names and value}
    return {**database.get("OPTIONS", {}), **found}


def check(app: Mapping[str, Any], admin: Mapping[str, Any] | None) -> None:
    """Refuse a server that may lose commits, and roles that could rewrite the audit.

    `app` and `admin` are psycopg's connection arguments of the two roles; a part that doesn't migrate has none of `admin`.
    Raises StartRefused.
    """
    with _connect("LEVEE_DATABASE_URL", app) as app_connection:
        _check_server(app_connection)
        _check_app_role(app_connection)
        if admin is None:
            return
        with _connect("LEVEE_DATABASE_ADMIN_URL", admin) as admin_connection:
            _check_pair(app_connection, admin_connection)


def _connect(setting: str, arguments: Mapping[str, Any]) -> psycopg.Connection:
    try:
        return psycopg.connect(**{"connect_timeout": 5, **arguments}, autocommit=True)
    except psycopg.Error as error:
        first = (str(error).strip().splitlines() or ["no reason given"])[0]
        raise StartRefused(f"{setting}: {first}") from error


def _one(connection: psycopg.Connection, query: str) -> tuple[Any, ...]:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None, query  # nosec B101  # noqa: S101 (every query here answers one row)
    return row


def _check_server(connection: psycopg.Connection) -> None:
    if connection.info.server_version < postgres.OLDEST_MAJOR * 10_000:
        version = connection.info.server_version // 10_000
        raise StartRefused(f"LEVEE_DATABASE_URL: PostgreSQL {version} is too old, Levee needs {postgres.OLDEST_MAJOR}")
    for name in DURABILITY:
        (value,) = _one(connection, f"show {name}")
        if value in ("off", "local"):
            raise StartRefused(f"LEVEE_DATABASE_URL: the server runs with {name} = {value}; a crash would lose commits")


def _check_app_role(connection: psycopg.Connection) -> None:
    setting = "LEVEE_DATABASE_URL"
    name, superuser, creates_roles = _one(
        connection, "select rolname, rolsuper, rolcreaterole from pg_roles where rolname = current_user"
    )
    if superuser or creates_roles:
        power = "a superuser" if superuser else "able to make roles"
        raise StartRefused(f"{setting}: the role {name} is {power}; the application's role must not be")
    for role in ("levee_audit", "levee_migrate", "levee_app"):
        exists = connection.execute("select 1 from pg_roles where rolname = %s", [role]).fetchone()
        if not exists:
            raise StartRefused(f"{setting}: the server has no role {role}; run console/roles.sql there")
    for role in ("levee_audit", "levee_migrate"):
        if _one(connection, f"select pg_has_role(current_user, '{role}', 'member')") == (True,):
            raise StartRefused(f"{setting}: the role {name} may become {role}; the application's role must not")
    if _one(connection, "select pg_has_role(current_user, 'levee_app', 'usage')") != (True,):
        raise StartRefused(f"{setting}: the role {name} is neither levee_app nor a member of it")


def _check_pair(app: psycopg.Connection, admin: psycopg.Connection) -> None:
    setting = "LEVEE_DATABASE_ADMIN_URL"
    same_server = "select current_database(), pg_postmaster_start_time()"
    if _one(app, same_server) != _one(admin, same_server):
        raise StartRefused(f"{setting}: leads to another database than LEVEE_DATABASE_URL")
    if _one(app, "select current_user") == _one(admin, "select current_user"):
        raise StartRefused(f"{setting}: is the application's own role; migrations need a role of their own")
    (name,) = _one(admin, "select current_user")
    if name != "levee_migrate":  # what the application may do with new tables hangs on who made them
        raise StartRefused(f"{setting}: its role is {name}, it must be levee_migrate")
    if _one(admin, "select pg_has_role(current_user, 'levee_audit', 'member')") != (True,):
        raise StartRefused(f"{setting}: levee_migrate may not become levee_audit; run console/roles.sql there")
