"""A newer version takes over part by part while jobs come and one runs: nothing is lost, and no attempt counts as failed.

The newer version is a copy of this code with one migration more. A fake engine commits real files; the rest is real.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.supervisor.tools import PROJECT
from tests.jobs import fake_table, truth
from tests.jobs.instance import Instance, opened, wait_for

pytestmark = [pytest.mark.servers, pytest.mark.timeout(240)]

ROOMS = ("console", "jobs", "tables", "tests")
NEWER = "9999_of_a_newer_version"
MIGRATION = """
from django.db import migrations

class Migration(migrations.Migration):
    dependencies = [("jobs", "{newest}")]
    operations = [migrations.RunSQL("alter table jobs_job add column newer text", migrations.RunSQL.noop)]
"""


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="levee-upgrade-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="module")
def newer(folder: Path) -> Path:
    """The code of the next version, with a migration that adds."""
    code = folder / "newer"
    for room in ROOMS:
        shutil.copytree(PROJECT / room, code / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PROJECT / "manage.py", code)
    migrations = code / "jobs" / "migrations"
    newest = max(path.stem for path in migrations.glob("[0-9]*.py"))
    (migrations / f"{NEWER}.py").write_text(MIGRATION.format(newest=newest))
    return code


@pytest.fixture
def instance(folder: Path, request: pytest.FixtureRequest) -> Iterator[Instance]:
    """The older version, at work."""
    place = folder / f"instance{abs(hash(request.node.name)) % 1000}"
    place.mkdir()
    with opened(place) as made:
        made.add_dispatcher()
        made.add_worker()
        made.wait_ready()
        yield made


def migrate(instance: Instance, code: Path) -> None:
    command = [sys.executable, "manage.py", "migrate", "-v", "0"]
    environment = instance.environment(PYTHONPATH=str(code))
    subprocess.run(command, cwd=code, env=environment, check=True, timeout=120)


def asked(instance: Instance, name: str, count: int = 1, **values: float) -> list[str]:
    table = instance.table(name)
    return [instance.ask("append", path=str(table), **values)["job"] for _ in range(count)]


def code_of(instance: Instance, name: str) -> str:
    """The directory that a part's process works in."""
    process = instance.parts[name].process
    assert process is not None
    return str(Path(f"/proc/{process.pid}/cwd").readlink())


def logged(instance: Instance, event: str, process: str) -> bool:
    texts = [path.read_text(errors="replace") for path in instance.home.logs.glob(f"{process}.*")]
    return any(event in text for text in texts)


def test_a_newer_version_takes_over_part_by_part_while_a_job_runs(instance: Instance, newer: Path) -> None:
    long = asked(instance, "long", seconds=600)
    instance.wait_state(long[0], "running")
    jobs = asked(instance, "before", 2)

    migrate(instance, newer)  # first: it adds, and the older parts go on
    jobs += asked(instance, "migrated", 2)
    assert instance.job(long[0])["state"] == "running"

    instance.code = newer
    instance.remove("dispatcher", signal.SIGTERM)
    jobs += asked(instance, "without_dispatcher", 2)
    instance.add_dispatcher()
    assert instance.job(long[0])["state"] == "running", "the dispatcher's end touches no run"

    instance.remove("spark", signal.SIGTERM)
    wait_for(lambda: any(kind == "released" for _, kind, *_ in instance.story(long[0])), told=instance.tail)
    jobs += asked(instance, "without_worker", 2)
    instance.add_worker()
    instance.wait_ready()

    instance.wait_state(long[0], "running")  # again, by the newer worker
    (instance.lake / "long" / "enough").touch()
    instance.replace_requester()
    jobs += asked(instance, "after", 2)
    assert {code_of(instance, name) for name in ("dispatcher", "spark")} == {str(newer)}

    for job in [*long, *jobs]:
        ended = instance.wait_state(job)
        assert (ended["state"], ended["attempt"]) == ("succeeded", 1), (instance.error(job), instance.story(job))
    assert fake_table.rows(instance.lake / "long") == 1
    assert truth.mismatches(instance) == []
    assert not any(
        logged(instance, event, name)
        for name in ("dispatcher", "spark")
        for event in ("database_ahead", "database_behind")
    )


def test_each_part_reports_that_the_database_is_newer_or_older_than_its_code(instance: Instance, newer: Path) -> None:
    instance.remove("dispatcher", signal.SIGTERM)
    instance.code = newer
    instance.add_dispatcher()
    wait_for(lambda: logged(instance, "database_behind", "dispatcher"), told=instance.tail)

    migrate(instance, newer)
    instance.remove("spark", signal.SIGTERM)
    instance.code = PROJECT  # an older worker comes back, as after a rollback
    instance.add_worker()
    instance.wait_ready()
    wait_for(lambda: logged(instance, "database_ahead", "spark"), told=instance.tail)
    (job,) = asked(instance, "older_code")
    assert instance.wait_state(job)["state"] == "succeeded", "older code goes on beside a migration that adds"
