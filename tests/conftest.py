"""What every test may use: Levee's own embedded servers, migrated once per test process.

`db` and `transactional_db` are pytest-django's, on that server: the application's alias `default` connects as
levee_app, so a test meets the privileges of real life.
"""

import contextlib
from collections.abc import Iterator

import pytest
import redis

from console.supervisor.home import Home
from tests import servers
from tests.environment import HOME
from tests.hdfs import hdfs_cluster, on_hdfs
from tests.jobs.engine.fixtures import engine, runtime

# Of one JVM for the whole run: a session's fixtures are made once for each place that defines them.
__all__ = ["engine", "hdfs_cluster", "on_hdfs", "runtime"]


@pytest.fixture(scope="session")
def levee_home() -> Home:
    """The home of this test process; its servers run only once a fixture below asked for them."""
    return HOME


@pytest.fixture(scope="session")
def postgres_server(levee_home: Home) -> Iterator[Home]:
    """The tests' PostgreSQL, with roles and an empty database."""
    with servers.running_postgres(levee_home) as home:
        yield home


@pytest.fixture(scope="session")
def django_db_setup(postgres_server: Home, django_test_environment, django_db_blocker) -> Iterator[None]:
    """The database as the migrations leave it, made by the migrations' role."""
    from django.core.management import call_command
    from django.db import connections

    with django_db_blocker.unblock():
        call_command("migrate", database="admin", verbosity=0)
        connections["admin"].close()
    servers.set_trigger(postgres_server, "jobs_job", "job_begins", on=False)  # factories enter jobs in any state
    servers.remember_rows(postgres_server)
    with _truncating_teardown(postgres_server):
        yield
    with django_db_blocker.unblock():
        connections.close_all()


@contextlib.contextmanager
def _truncating_teardown(home: Home) -> Iterator[None]:
    """Django ends a test with real transactions by a TRUNCATE, which the application's role may not do."""
    from django.test import TransactionTestCase

    def restore(case: TransactionTestCase) -> None:
        servers.restore_rows(home)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", restore)
        yield


@pytest.fixture(scope="session")
def _redis_address(levee_home: Home) -> Iterator[str]:
    with servers.running_redis(levee_home) as address:
        yield address


@pytest.fixture
def redis_server(_redis_address: str) -> str:
    """The address of an empty Redis of the tests' own, the one the settings name."""
    with redis.Redis.from_url(_redis_address) as client:
        client.flushall()
    return _redis_address
