"""A Hive metastore from the command line: what is there, and making its tables in an empty database of PostgreSQL."""

from __future__ import annotations

import subprocess
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg

from console.base.text.counted import counted
from console.setup.places import HERE
from console.supervisor.tools import java_home
from jobs.engine.metastore.connection import CONNECT_SECONDS, SETTING, Metastore, away, why_away

CREATE_SECONDS = 300
# What marks a database as a metastore; Hive's tables have names in capitals.
CORE = frozenset({"DBS", "TBLS", "SDS", "SERDES", "TABLE_PARAMS", "PARTITIONS", "VERSION"})
SCHEMA_TOOL = "org.datanucleus.store.schema.SchemaTool"


class MetastoreRefused(Exception):
    """Why a metastore can't be used or made, in one line."""


def state_of(metastore: Metastore) -> str:
    """What answers at the address, in one line. Raises MetastoreRefused if nothing does, or if it is no metastore."""
    if why := why_away(metastore.address):
        raise MetastoreRefused(away(metastore.address, why))
    if metastore.is_service:
        return f"a metastore service answers at {metastore.address}"
    tables = tables_of(metastore)
    if not tables:
        raise MetastoreRefused(f"{SETTING}: {metastore.address} has no tables yet; run manage.py metastore create")
    if missing := CORE - tables:
        raise MetastoreRefused(f"{SETTING}: {metastore.address} is no metastore: it lacks {', '.join(sorted(missing))}")
    databases, entries = _counted(metastore)
    return f"{metastore.address} holds a metastore of {counted(databases, 'database')} and {counted(entries, 'table')}"


def create(metastore: Metastore) -> str:
    """Makes Hive's tables, if the database is empty; says what was done. Raises MetastoreRefused for one with other tables."""
    if metastore.is_service:
        raise MetastoreRefused(f"{SETTING}: a service makes its own tables; create is for an address postgresql://…")
    if why := why_away(metastore.address):
        raise MetastoreRefused(away(metastore.address, why))
    tables = tables_of(metastore)
    if tables >= CORE:
        return f"{metastore.address} already has a metastore’s tables; nothing was changed"
    if tables:
        named = ", ".join(sorted(tables)[:5])
        text = f"{SETTING}: {metastore.address} already has {counted(len(tables), 'other table')} ({named}); give an empty database"
        raise MetastoreRefused(text)
    _run_schema_tool(metastore)
    made = tables_of(metastore)
    if not made >= CORE:
        raise MetastoreRefused(
            f"{SETTING}: Hive’s schema tool made {counted(len(made), 'table')}, and not all that it needs"
        )
    return f"{metastore.address}: {counted(len(made), 'table')} made for a metastore"


def tables_of(metastore: Metastore) -> frozenset[str]:
    """The names of the tables that the metastore's user finds in its schema."""
    query = "select tablename from pg_tables where schemaname = current_schema()"
    return frozenset(name for (name,) in _rows(metastore, query))


def _counted(metastore: Metastore) -> tuple[int, int]:
    databases, tables = _rows(metastore, 'select (select count(*) from "DBS"), (select count(*) from "TBLS")')[0]
    return databases, tables


def _rows(metastore: Metastore, query: str) -> list[tuple[Any, ...]]:
    try:
        with psycopg.connect(
            metastore.address, password=metastore.password, connect_timeout=CONNECT_SECONDS
        ) as connection:
            return connection.execute(query.encode()).fetchall()
    except psycopg.Error as error:
        why = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        raise MetastoreRefused(away(metastore.address, why)) from None


def _run_schema_tool(metastore: Metastore) -> None:
    """DataNucleus's own tool, with the mapping inside Hive's jar: made during a question, the tables would lock each other out."""
    spark = _spark_jars()
    with tempfile.TemporaryDirectory(prefix="levee-metastore-") as directory:  # its files are for this user alone
        place = Path(directory)
        with zipfile.ZipFile(next(spark.glob("hive-metastore-*.jar"))) as jar:
            jar.extract("package.jdo", place)
        _write_properties(metastore, place / "dn.properties")
        classes = ":".join([*map(str, sorted(HERE.jars.glob("postgresql-*.jar"))), f"{spark}/*"])
        command = [str(java_home() / "bin" / "java"), "-Xmx256m", "-cp", classes, SCHEMA_TOOL, "-create", "-api", "JDO"]
        command += ["-props", str(place / "dn.properties"), str(place / "package.jdo")]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=CREATE_SECONDS, cwd=place, check=False
            )
        except subprocess.TimeoutExpired:
            raise MetastoreRefused(
                f"{SETTING}: Hive’s schema tool took over {CREATE_SECONDS} s; drop what it made"
            ) from None
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()[-1]
        raise MetastoreRefused(f"{SETTING}: Hive’s schema tool failed: {last[:500]}")


def _write_properties(metastore: Metastore, file: Path) -> None:
    given = {
        **metastore.jdo(),
        "datanucleus.identifierFactory": "datanucleus1",
        "datanucleus.rdbms.useLegacyNativeValueStrategy": "true",
        "datanucleus.transactionIsolation": "read-committed",
        "datanucleus.schema.autoCreateAll": "true",
    }
    file.write_text("".join(f"{key}={_escaped(value)}\n" for key, value in given.items()), encoding="ascii")


def _escaped(text: str) -> str:
    """A value of a Java properties file, which is ASCII."""
    units = text.encode("utf-16-be")
    codes = [units[place] << 8 | units[place + 1] for place in range(0, len(units), 2)]
    return "".join(chr(code) if chr(code).isascii() and chr(code).isalnum() else f"\\u{code:04x}" for code in codes)


def _spark_jars() -> Path:
    """Spark's jars, found without importing it."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise MetastoreRefused("Spark isn’t installed: run make setup")
    return Path(found.origin).parent / "jars"
