"""The tests' database as the migrations left it: what every table had is kept beside it, and put back after a test with real transactions.

One function in the database does it, written once for the tables that there are; its connection is kept, and with it every plan.
"""

from __future__ import annotations

from dataclasses import dataclass

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.pq import TransactionStatus

from console.supervisor.home import Home
from console.supervisor.servers import postgres

# Every table with rows of the application: its name with its schema, its copy's, its columns, those of them that count with what they count
# by, and the triggers that fire always.
TABLES = """
select t.name, format('pristine.%I', replace(t.name, '"', '')), c.columns, c.identities, t.triggers
from (
    select r.oid, format('%I.%I', r.relnamespace::regnamespace, r.relname) as name,
           array(select quote_ident(tgname) from pg_trigger where tgrelid = r.oid and tgenabled = 'A' and not tgisinternal) as triggers
    from pg_class r
    where r.relkind = 'r' and r.relnamespace in ('public'::regnamespace, 'audit'::regnamespace) and r.relname <> 'django_migrations'
) t, lateral (
    select array_agg(quote_ident(attname) order by attnum) filter (where attgenerated = '') as columns,
           coalesce(jsonb_object_agg(quote_ident(attname), pg_get_serial_sequence(t.name, attname)) filter (where attidentity <> ''), '{}')
               as identities
    from pg_attribute where attrelid = t.oid and attnum > 0 and not attisdropped
) c
order by 1
"""


@dataclass(frozen=True, slots=True)
class _Table:
    name: str
    copy: str
    columns: list[str]
    identities: dict[str, str]
    always: list[str]


class Pristine:
    """What the migrations wrote, kept for `restore`.

    Only a superuser can put it back: the application's role may not delete everywhere, and the audit's triggers fire always.
    """

    def __init__(self, home: Home) -> None:
        self._connection = postgres.connect(home)
        self._connection.execute("create schema pristine")
        tables = [_Table(*row) for row in self._connection.execute(TABLES).fetchall()]
        for table in tables:
            self._connection.execute(f"create table {table.copy} as table {table.name}".encode())
        self._connection.execute("\n".join([BEGIN, *map(self._restored, tables), END]).encode())

    def restore(self) -> None:
        """Make every table what it was after the migrations.

        A request of a page that the test has left may still be at work, and the two wait for each other: then once more.
        """
        try:
            self._connection.execute("select pristine.restore()")
        except psycopg.errors.DeadlockDetected:
            self._connection.execute("select pristine.restore()")

    def close(self) -> None:
        self._connection.close()

    def _restored(self, table: _Table) -> str:
        """The statements for one table. Rows are deleted: to truncate makes new files for a table and each of its indexes."""
        has_rows = self._connection.execute(f"select from {table.copy} limit 1".encode()).rowcount == 1
        columns = ", ".join(table.columns)
        rows, copied = f"select {columns} from {table.name}", f"select {columns} from {table.copy}"
        is_other = f"exists ({rows} except all {copied}) or exists ({copied} except all {rows})"
        return "\n".join(
            [
                f"if {is_other if has_rows else f'exists (select from {table.name})'} then",
                *(f"alter table {table.name} disable trigger {trigger};" for trigger in table.always),
                f"delete from {table.name};",
                *([f"insert into {table.name} ({columns}) overriding system value {copied};"] if has_rows else []),
                *(f"alter table {table.name} enable always trigger {trigger};" for trigger in table.always),
                *([] if has_rows else _counted(table, "1, false")),
                "end if;",
                *(_counted(table, "(select max({column}) from {copy})") if has_rows else []),
            ]
        )


BEGIN = """create function pristine.restore() returns void language plpgsql
set lock_timeout = '60s' set session_replication_role = replica as $restore$ begin"""
END = "end $restore$"


def as_new(connection: BaseDatabaseWrapper) -> bool:
    """Whether the application's connection, if it has one, is well between transactions: then with no lock or setting of its past."""
    if connection.connection is None:
        return True
    if connection.in_atomic_block or connection.connection.info.transaction_status != TransactionStatus.IDLE:
        return False
    with connection.cursor() as cursor:
        cursor.execute("select pg_advisory_unlock_all(); unlisten *; reset role; reset all")
    connection.ensure_timezone()
    return True


def _counted(table: _Table, newest: str) -> list[str]:
    """Its identities go on after the newest row."""
    return [
        f"perform setval('{sequence}', {newest.format(column=column, copy=table.copy)});"
        for column, sequence in table.identities.items()
    ]
