"""The program against the real application: a server in a thread, people with tokens, a Delta table, and a worker without Spark."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from django.core.servers.basehttp import ThreadedWSGIServer
from django.test.testcases import LiveServerThread

from console.accounts.models import Person
from console.accounts.roles import Role
from console.cli.program import levee
from jobs.models import Job
from jobs.worker.claims import claim_preview, claim_run
from jobs.worker.execution import Execution, work
from tests import factories
from tests.clients import Caller
from tests.jobs import small_delta
from tests.jobs.conftest import lake, no_wakes, timing
from tests.jobs.small_delta import SmallEngine

__all__ = ["lake", "no_wakes", "timing"]

ROWS = [{"id": n, "p": "FR" if n % 2 else "DE"} for n in range(10)]


@pytest.fixture(autouse=True)
def nobody_signed_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of settings of its own; the file below it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("LEVEE_URL", "LEVEE_TOKEN", "LEVEE_SERVER", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "config" / "levee" / "servers.json"


class _Server(ThreadedWSGIServer):
    """Django's, which looks for its end each half second."""

    def serve_forever(self, poll_interval: float = 0.02) -> None:
        super().serve_forever(poll_interval)


class _Thread(LiveServerThread):
    server_class = _Server


@pytest.fixture
def server(transactional_db: None, no_wakes: list[str]) -> Iterator[str]:
    """The address of the application in a thread."""
    thread = _Thread("127.0.0.1", static_handler=lambda application: application)  # type: ignore[arg-type]
    thread.daemon = True
    thread.start()
    thread.is_ready.wait()
    assert thread.error is None
    yield f"http://127.0.0.1:{thread.port}"
    thread.terminate()


def run(*args: str, environment: dict[str, str] | None = None, given: str | None = None) -> Result:
    """The program in this process; an unexpected error is raised."""
    return CliRunner().invoke(levee, list(args), env=environment or {}, input=given, catch_exceptions=False)


class Somebody:
    """A person with a token, at the command line."""

    def __init__(self, person: Person, url: str, *scopes: str) -> None:
        self.person = person
        self.environment = {"LEVEE_URL": url, "LEVEE_TOKEN": factories.token_text(person, *scopes)}

    def __call__(self, *args: str, given: str | None = None) -> Result:
        return run(*args, environment=self.environment, given=given)


@pytest.fixture
def olga(server: str) -> Somebody:
    """Asks; her token may not approve."""
    return Somebody(factories.appointed(), server, "read", "request")


@pytest.fixture
def anna(server: str) -> Somebody:
    return Somebody(factories.appointed("anna", Role.APPROVER), server, "read", "approve")


@pytest.fixture
def sales(server: str, lake: Any) -> str:
    """The path of a Delta table of ten rows, five of them French, known to the catalog."""
    place = Path(lake.uri) / "sales"
    small_delta.create(place, ROWS)
    added = Caller(factories.appointed("adam", Role.OPERATOR)).post("/tables", {"path": str(place)})
    assert added.status_code == 201, added.content
    return str(place)


@pytest.fixture
def worker(server: str, timing: Any) -> Callable[[], Job]:
    """Does what the next job waits for, its preview or its run, as a worker does; the job afterwards."""
    timing(watch=0.3, lease=5, record_retry=5)
    engine = SmallEngine()

    def work_once() -> Job:
        claim = claim_preview(factories.holder()) or claim_run(factories.holder())
        assert claim is not None, "there is nothing to claim"
        work(Execution(claim, engine, threading.Event(), engine.end_hard))
        return Job.objects.get(pk=claim.job.pk)

    return work_once
