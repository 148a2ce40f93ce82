"""What every test may use: Levee's own embedded servers, migrated once per test process.

`db` and `transactional_db` are pytest-django's, on that server: the application's alias `default` connects as
levee_app, so a test meets the privileges of real life.
"""

import contextlib
import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from django.contrib.auth.hashers import Argon2PasswordHasher
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from whitenoise import WhiteNoise
from whitenoise.responders import StaticFile

from console.supervisor.home import Home
from tests import servers
from tests.environment import HOME
from tests.hdfs import hdfs_cluster, on_hdfs
from tests.jobs.engine.fixtures import engine, runtime
from tests.lanes import HEAVY
from tests.pristine import Pristine, as_new

# Of one JVM for the whole run: a session's fixtures are made once for each place that defines them.
__all__ = ["engine", "hdfs_cluster", "on_hdfs", "runtime"]

# How long an example takes is the machine's business, and how busy it is with other tests. Every run tries the same examples: a new one
# that fails belongs to who looks for it (`make soak`), not to whoever hands in a change that day.
IS_SOAK = os.environ.get("LEVEE_SOAK_SIZE") == "full"
settings.register_profile(
    "levee",
    settings.default,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not IS_SOAK,
    database=None,
)
settings.load_profile("levee")
if not IS_SOAK:
    # Values drawn from the constants of every module that is loaded by then would hang on which tests share the process, and reading those
    # modules takes seconds. Hypothesis has no public switch for it.
    providers._get_local_constants = lambda: providers._local_constants

# What a password's hash costs: Django's own, and the least that Argon2 takes. It changes nothing but the time.
DEAR = {name: getattr(Argon2PasswordHasher, name) for name in ("time_cost", "memory_cost", "parallelism")}
CHEAP = {"time_cost": 1, "memory_cost": 8, "parallelism": 1}


def pytest_collection_finish() -> None:
    """Garbage is looked for seldom: what was imported and collected is never any, and took a sixth of a run to look through."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before the fixtures of a test: a heavy one has servers and browsers beside it, to which a cheap hash would be one to renew."""
    is_heavy = any(item.get_closest_marker(name) for name in HEAVY)
    for name, value in (DEAR if is_heavy else CHEAP).items():
        setattr(Argon2PasswordHasher, name, value)


@pytest.fixture(scope="session", autouse=True)
def static_files_once() -> Iterator[None]:
    """Each client of a test loads the middlewares anew, and WhiteNoise would make up the headers of two hundred files each time."""
    make = WhiteNoise.get_static_file
    known: dict[tuple[Any, ...], StaticFile] = {}

    def made(self: WhiteNoise, path: str, url: str, stat_cache: dict[str, os.stat_result] | None = None) -> StaticFile:
        changed = stat_cache[path].st_mtime_ns if stat_cache else None
        asked = (path, url, changed, self.max_age, self.allow_all_origins, self.charset)
        if changed is None or asked not in known:
            known[asked] = make(self, path, url, stat_cache)
        return known[asked]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoise, "get_static_file", made)
        yield


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
def django_db_setup(postgres_server: Home, django_test_environment, django_db_blocker) -> Iterator[Pristine]:
    """The database as the migrations leave it, made by the migrations' role."""
    from django.core.management import call_command
    from django.db import connections

    with django_db_blocker.unblock():
        call_command("migrate", database="admin", verbosity=0)
        connections["admin"].close()
    servers.set_trigger(postgres_server, "jobs_job", "job_begins", on=False)  # factories enter jobs in any state
    with contextlib.closing(Pristine(postgres_server)) as pristine, _truncating_teardown(pristine):
        yield pristine
    with django_db_blocker.unblock():
        connections.close_all()


@pytest.fixture(scope="module")
def rows_of_module(django_db_setup: Pristine, django_db_blocker: Any) -> Iterator[Any]:
    """For a module's fixtures that make rows for all of its tests, inside a block of what this yields.

    A transaction around those of the tests: what one of them changes is undone before the next, and the rows go after the last.
    """
    from django.db import transaction

    around = transaction.atomic()
    with django_db_blocker.unblock():
        around.__enter__()
    yield django_db_blocker.unblock
    with django_db_blocker.unblock():
        transaction.set_rollback(True)
        around.__exit__(None, None, None)


@pytest.fixture(scope="session", autouse=True)
def patient_stores() -> Iterator[None]:
    """The dispatcher waits for stores as long as it takes: a busy machine is no store that says nothing.

    Inside a test's own transaction, which no other thread sees into, it asks one store after the other.
    """
    from django.db import connection

    from jobs.dispatcher.stores import Stores, by_store

    ask = Stores.ask

    def asked(stores: Stores, rows: Any, act: Any) -> int:
        if connection.in_atomic_block:
            return sum(act(part, store) for store, part in by_store(rows).items())
        stores.looks.seconds = 60.0
        return ask(stores, rows, act)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stores, "ask", asked)
        yield


@contextlib.contextmanager
def _truncating_teardown(pristine: Pristine) -> Iterator[None]:
    """Django ends a test with real transactions by a TRUNCATE, which the application's role may not do.

    And connects anew, which loads the catalog and plans every query again: a connection that is well is made as if new instead.
    """
    from django.db import DEFAULT_DB_ALIAS, connections
    from django.test import TransactionTestCase

    def restore(case: TransactionTestCase) -> None:
        pristine.restore()

    def connects_anew(case: TransactionTestCase) -> bool:
        for alias in set(connections) - {DEFAULT_DB_ALIAS}:
            connections[alias].close()
        return DEFAULT_DB_ALIAS not in case.databases or not as_new(connections[DEFAULT_DB_ALIAS])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", restore)
        patch.setattr(TransactionTestCase, "_should_reload_connections", connects_anew)
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
