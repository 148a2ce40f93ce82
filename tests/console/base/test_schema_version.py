"""Whether the database is older or newer than the code, by their migrations."""

import subprocess
import sys
from pathlib import Path

import pytest
from django.db import OperationalError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from console.base import schema_version
from console.base.schema_version import MigrationDifference


@pytest.mark.django_db
def test_they_are_the_same_after_a_migration():
    assert schema_version.difference() == MigrationDifference()
    assert schema_version.report("web") == MigrationDifference()


def test_the_migrations_of_the_code_are_those_that_django_loads():
    assert schema_version._of_code() == set(MigrationLoader(None).disk_migrations)


@pytest.mark.django_db
def test_each_way_to_differ_is_named_and_another_applications_migrations_are_not_counted():
    recorder = MigrationRecorder(connection)
    newest = recorder.migration_qs.filter(app="jobs").order_by("name").last()
    assert newest is not None
    newest.delete()
    for number in range(5):
        recorder.record_applied("tables", f"900{number}_newer")
    recorder.record_applied("somebody_elses", "0001_initial")
    found = schema_version.report("web")
    assert found.missing == (f"jobs.{newest.name}",)
    assert found.unknown == tuple(f"tables.900{number}_newer" for number in range(5))
    assert found.texts["database_behind"].startswith(
        f"the database lacks migrations of this version, jobs.{newest.name};"
    )
    assert "tables.9000_newer, tables.9001_newer, tables.9002_newer and 2 more;" in found.texts["database_ahead"]


@pytest.mark.django_db
def test_a_database_that_is_away_is_not_its_matter(monkeypatch):
    def away():
        raise OperationalError("no socket")

    monkeypatch.setattr(schema_version, "difference", away)
    assert schema_version.report("web") == MigrationDifference()


WEB_PROCESS = """
import threading
from django.apps import apps
from console.base import schema_version
asked, difference = [], schema_version.difference
def seen():
    asked.append(apps.ready)
    return difference()
schema_version.difference = seen
import console.wsgi
assert threading.active_count() == 1, "importing the application starts nothing"
from console.server.hooks import post_worker_init
post_worker_init(None)
for thread in threading.enumerate():
    if thread is not threading.current_thread():
        thread.join(30)
print(asked)
"""


@pytest.mark.django_db
def test_the_web_process_asks_once_its_applications_are_there():
    root = Path(__file__).parents[3]
    ran = subprocess.run([sys.executable, "-c", WEB_PROCESS], cwd=root, capture_output=True, text=True, timeout=300)
    assert (ran.returncode, ran.stdout.strip(), ran.stderr.strip()) == (0, "[True]", "")
