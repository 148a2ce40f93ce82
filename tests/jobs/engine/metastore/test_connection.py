"""The settings by which a JVM reaches a metastore, and whether anything answers at its address; no JVM."""

import socket
from dataclasses import replace

import pytest

from console.base.env import Env
from jobs.engine.metastore.connection import Metastore, why_away
from jobs.worker import jvm_host

SECRET = "hunter2hunter2"
URL = "spark.hadoop.javax.jdo.option.ConnectionURL"
ON_POSTGRESQL = Metastore("postgresql://h%40ve@db.example:5433/meta", SECRET)


def test_a_service_is_reached_by_its_addresses():
    conf = Metastore("thrift://one:9083,thrift://two:9083").conf()
    assert conf["spark.hadoop.hive.metastore.uris"] == "thrift://one:9083,thrift://two:9083"
    assert not [key for key in conf if "jdo" in key]


def test_postgresql_is_reached_by_jdbc_and_never_gets_tables_by_the_way():
    conf = ON_POSTGRESQL.conf()
    assert conf[URL].startswith("jdbc:postgresql://db.example:5433/meta?connectTimeout=")
    assert conf["spark.hadoop.javax.jdo.option.ConnectionUserName"] == "h@ve"
    assert conf["spark.hadoop.datanucleus.schema.autoCreateAll"] == "false"
    assert SECRET not in conf[URL]
    assert SECRET not in repr(ON_POSTGRESQL)


@pytest.fixture
def host(monkeypatch, tmp_path):
    """The host of a JVM whose set-up is complete, under some settings."""
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "one.jar").touch()
    monkeypatch.setattr(jvm_host, "TOOLS", tmp_path)

    def make(**settings):
        made = jvm_host.SparkHost("interactive", "interactive@here")
        made.env = replace(Env.read({"LEVEE_HOME": str(tmp_path)}), **settings)
        return made

    return make


def test_an_ipv6_host_keeps_its_brackets():
    assert Metastore("postgresql://hive@[::1]:5432/meta").conf()[URL].startswith("jdbc:postgresql://[::1]:5432/meta?")


def test_sessions_keep_their_catalog_in_memory_beside_a_metastore(host):
    without, beside = host()._conf(), host(metastore=ON_POSTGRESQL.address, metastore_password=SECRET)._conf()
    assert beside["spark.sql.catalogImplementation"] == "in-memory"
    assert beside == {**without, **ON_POSTGRESQL.conf()}


def test_a_line_of_ones_own_wins(host, tmp_path):
    (tmp_path / "spark.conf").write_text("spark.hadoop.hive.metastore.connect.retries 5\n")
    conf = host(metastore="thrift://one:9083", spark_conf=tmp_path / "spark.conf")._conf()
    assert conf["spark.hadoop.hive.metastore.connect.retries"] == "5"


def test_an_address_answers_if_one_of_its_hosts_does():
    with socket.create_server(("127.0.0.1", 0)) as there:
        port = there.getsockname()[1]
        assert why_away(f"thrift://127.0.0.1:1,thrift://127.0.0.1:{port}") is None
    assert why_away("thrift://127.0.0.1:1") == "Connection refused"


def test_a_postgresql_that_accepts_and_says_nothing_is_away():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert why_away(f"postgresql://hive@127.0.0.1:{silent.getsockname()[1]}/meta") == "timed out"


def test_what_speaks_otherwise_is_no_postgresql(monkeypatch):
    here, there = socket.socketpair()
    there.sendall(b"H")
    monkeypatch.setattr(socket, "create_connection", lambda *_: here)
    assert why_away("postgresql://hive@127.0.0.1:1/meta") == "what listens there is no PostgreSQL"
    there.close()


def test_a_host_that_has_no_address_is_away():
    assert why_away("thrift://nowhere.invalid:9083")
