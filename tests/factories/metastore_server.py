"""A PostgreSQL of its own that speaks TCP, as a metastore on PostgreSQL needs it: JDBC has no unix sockets."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from console.supervisor.home import open_home
from console.supervisor.servers import postgres
from jobs.engine.metastore.connection import Metastore
from tests import servers

PASSWORD = "pässword:1"
USER = "hive"


@contextlib.contextmanager
def running(directory: Path) -> Iterator[Metastore]:
    """An empty database `metastore` whose owner is admitted by its password, on a loopback address of this process."""
    number = os.getpid()
    host = f"127.77.{number >> 8 & 255}.{number & 255}"
    with servers.running_postgres(open_home(directory), (*servers.QUICK, f"listen_addresses={host}")) as home:
        rules = Path(home.record.pg_data) / "pg_hba.conf"
        rules.write_text(rules.read_text() + "host metastore hive 127.0.0.0/8 scram-sha-256\n")
        with postgres.connect(home, "postgres") as connection:
            connection.execute(f"create role {USER} login password '{PASSWORD}'".encode())
            connection.execute(f"create database metastore owner {USER}".encode())
            connection.execute(b"select pg_reload_conf()")
        yield Metastore(f"postgresql://{USER}@{host}:5432/metastore", PASSWORD)
