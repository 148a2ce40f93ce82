"""A newer version takes over part by part while jobs come and one runs: nothing is lost, no attempt counts as failed, nobody is signed out.

The newer version is a copy of this code with one migration more. A fake engine commits real files; the rest is real.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.supervisor import command_lines
from console.supervisor.programs import page_answers
from console.supervisor.tools import PROJECT
from console.templatetags.formatting.looks import STATE_LOOKS
from tests.console.running import free_port
from tests.jobs import fake_table, truth
from tests.jobs.instance import Instance, Part, opened
from tests.patience import limit, wait_for

pytestmark = [pytest.mark.servers, pytest.mark.timeout(600)]

ROOMS = ("console", "jobs", "tables", "frontend", "tests")
NOT_COPIED = shutil.ignore_patterns("__pycache__", "node_modules")
PASSWORD = "an upgrade is not a person"
WEB_S = 60.0  # a first page, of a web process that has just been started
PARTS = ("dispatcher", "spark", "web")
RUNS = ("Append long", STATE_LOOKS["running"].word)
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
        shutil.copytree(PROJECT / room, code / room, ignore=NOT_COPIED)
    for file in ("manage.py", "pyproject.toml"):
        shutil.copy(PROJECT / file, code)
    migrations = code / "jobs" / "migrations"
    newest = max(path.stem for path in migrations.glob("[0-9]*.py"))
    (migrations / f"{NEWER}.py").write_text(MIGRATION.format(newest=newest))
    return code


@pytest.fixture
def instance(folder: Path) -> Iterator[Instance]:
    """The older version, at work."""
    with opened(Path(tempfile.mkdtemp(prefix="instance", dir=folder))) as made:
        made.add_dispatcher()
        made.add_worker()
        made.wait_ready()
        yield made


class Browser:
    """Pages as a person sees them who signs in once: cookies and redirects, no scripts."""

    def __init__(self, port: int) -> None:
        self.port, self.address = port, f"http://127.0.0.1:{port}"
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())

    def sign_in(self, name: str) -> None:
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', self.page("/sign-in/"))
        assert token
        form = {"username": name, "password": PASSWORD, "csrfmiddlewaretoken": token[1]}
        data = urllib.parse.urlencode(form).encode()
        self._opener.open(f"{self.address}/sign-in/", data=data, timeout=limit(WEB_S)).close()

    def page(self, path: str) -> str:
        """The page at the path. Fails where it leads to another, as to the sign-in."""
        with self._opener.open(self.address + path, timeout=limit(WEB_S)) as response:
            assert response.url == self.address + path
            return str(response.read().decode())

    def job(self, job: str) -> tuple[str, str]:
        """Title and state as the job's page shows them."""
        shown = re.search(
            r"<h1>([^<]+)</h1>.*?lv-pill[^>]*>(?:<svg.*?</svg>)?([^<]+)</span>", self.page(f"/jobs/{job}/"), re.S
        )
        assert shown
        return shown[1], shown[2]


def add_web(instance: Instance, port: int) -> None:
    """The web process as `manage.py up` and `serve` start it. Returns once it answers."""
    more = {"LEVEE_PROCESS": "web", "LEVEE_PORT": str(port), **command_lines.WEB_ENVIRONMENT}
    command = command_lines.web(f"127.0.0.1:{port}")
    instance.add(Part("web", command, instance.environment(**more), code=instance.code))
    wait_for(lambda: page_answers(port), "the page answers", WEB_S, instance.tail)


@pytest.fixture
def visitor(instance: Instance) -> Browser:
    """Signed in at a web process of the older version."""
    add_person(instance, "vera")
    made = Browser(free_port())
    add_web(instance, made.port)
    made.sign_in("vera")
    return made


def add_person(instance: Instance, name: str) -> None:
    """An operator of everything, with PASSWORD."""
    command = (*("person", "add", name), *("--role", "operator", "--on", "everything", "--password-stdin"))
    subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=PROJECT, env=instance.environment(), input=PASSWORD, text=True, check=True, timeout=limit(30),
    )  # fmt: skip


def migrate(instance: Instance, code: Path) -> None:
    command = [sys.executable, "manage.py", "migrate", "-v", "0"]
    environment = instance.environment(PYTHONPATH=str(code))
    subprocess.run(command, cwd=code, env=environment, check=True, timeout=limit(30))


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


def test_a_newer_version_takes_over_part_by_part_while_a_job_runs(
    instance: Instance, newer: Path, visitor: Browser
) -> None:
    long = asked(instance, "long", seconds=600)
    instance.wait_state(long[0], "running")
    jobs = asked(instance, "before", 2)

    migrate(instance, newer)  # first: it adds, and the older parts go on
    jobs += asked(instance, "migrated", 2)
    assert instance.job(long[0])["state"] == "running"
    assert visitor.job(long[0]) == RUNS, "by the older web, of a newer database"

    instance.code = newer
    instance.remove("dispatcher", signal.SIGTERM)
    jobs += asked(instance, "without_dispatcher", 2)
    instance.add_dispatcher()
    assert instance.job(long[0])["state"] == "running", "the dispatcher's end touches no run"

    instance.remove("spark", signal.SIGTERM)
    wait_for(
        lambda: any(kind == "released" for _, kind, *_ in instance.story(long[0])),
        "the long job is released",
        told=instance.tail,
    )
    jobs += asked(instance, "without_worker", 2)
    instance.add_worker()
    instance.wait_ready()

    instance.wait_state(long[0], "running")  # again, by the newer worker
    assert visitor.job(long[0]) == RUNS
    told = instance.story(long[0])
    instance.remove("web", signal.SIGTERM)
    add_web(instance, visitor.port)
    assert visitor.job(long[0]) == RUNS, "by the newer web, in the session that the older one opened"
    assert instance.story(long[0]) == told, "web's end touches no run"

    (instance.lake / "long" / "enough").touch()
    instance.replace_requester()
    jobs += asked(instance, "after", 2)
    assert {code_of(instance, name) for name in PARTS} == {str(newer)}

    for job in [*long, *jobs]:
        ended = instance.wait_state(job)
        assert (ended["state"], ended["attempt"]) == ("succeeded", 1), (instance.error(job), instance.story(job))
    assert visitor.job(long[0]) == ("Append long", STATE_LOOKS["succeeded"].word)
    assert fake_table.rows(instance.lake / "long") == 1
    assert truth.mismatches(instance) == []
    assert not any(logged(instance, "database_behind", name) for name in PARTS)
    # Of the older web a second worker process may have come up after the migration.
    assert not any(logged(instance, "database_ahead", name) for name in ("dispatcher", "spark"))


def test_each_part_reports_that_the_database_is_newer_or_older_than_its_code(instance: Instance, newer: Path) -> None:
    instance.remove("dispatcher", signal.SIGTERM)
    instance.code = newer
    instance.add_dispatcher()
    wait_for(
        lambda: logged(instance, "database_behind", "dispatcher"),
        "the dispatcher says that the database is behind",
        told=instance.tail,
    )

    migrate(instance, newer)
    instance.remove("spark", signal.SIGTERM)
    instance.code = PROJECT  # an older worker comes back, as after a rollback
    instance.add_worker()
    instance.wait_ready()
    wait_for(
        lambda: logged(instance, "database_ahead", "spark"),
        "the worker says that the database is ahead",
        told=instance.tail,
    )
    (job,) = asked(instance, "older_code")
    assert instance.wait_state(job)["state"] == "succeeded", "older code goes on beside a migration that adds"
