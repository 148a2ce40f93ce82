"""A command that nothing knows but its row gets preview, review, decision, result, API, an act on tables' pages, and the command line.

Its packages lie in a temporary place: rules, wording, handling and the words of the command line; serializers and pages; its template.
"""

import dataclasses
import importlib
import sys
import threading
from pathlib import Path
from textwrap import dedent
from typing import Any

import click
import pytest
from click.testing import CliRunner
from django.conf import settings
from django.urls import get_resolver

import jobs.commands
import jobs.web.commands
from console.cli.program import with_commands
from jobs.commands.registry import ROWS, Row
from jobs.domain.results import Result
from jobs.models import Job
from jobs.web import parts
from jobs.worker.claims import claim_preview, claim_run
from jobs.worker.execution import Execution, work
from tests import factories
from tests.clients import Caller, browser, confirmed_browser
from tests.console.cli.conftest import server
from tests.factories import lakes
from tests.jobs import small_delta
from tests.jobs.conftest import no_wakes
from tests.jobs.small_delta import SmallEngine

__all__ = ["no_wakes", "server"]

pytestmark = pytest.mark.django_db(transaction=True)

RULES = '''
    from dataclasses import dataclass
    from typing import ClassVar
    from jobs.domain.comparison import Expected, Unit, line

    @dataclass(frozen=True, slots=True)
    class Squash:
        """Fewer, larger files."""
        kind: ClassVar[str] = "squash"
        schema_version: ClassVar[int] = 1
        table: str
        target: int
        path: str = ""

    def compare(preview, result):
        written = int(result.operation_metrics["numAddedFiles"])
        yield line("numAddedFiles", "Files written", Unit.COUNT, Expected(preview["files"]), written, False)
'''
WORDING = """
    from jobs.domain.wording import Figure

    TITLED_BY = ("files",)

    def title(table, parameters, preview):
        return f"Squash {preview.get('files', 'the')} files of {table}"

    def figures(preview):
        return [Figure("Files to join", preview["files"], "by the log")] if "files" in preview else []

    def weight(preview):
        return Figure("Joins", preview.get("files"), noun="file")

    def outcome(result):
        return [Figure("Files joined", int(result.operation_metrics["numAddedFiles"]), "numAddedFiles")]

    def facts(preview):
        return {"Order": "by size"}
"""
HANDLING = """
    import uuid
    from dataclasses import replace
    from jobs.commands.squash.rules import Squash
    from jobs.commands.base import Found, Handling, Prepared, stored
    from jobs.targets.access import table_to_change
    from jobs.targets.subject import subject_of

    class SquashHandling(Handling[Squash]):
        not_undone = "Squashing changes no row."

        def asked(self, command):
            return {"table": command.table, "target": command.target}

        def prepare(self, actor, command, seen):
            table = table_to_change(actor, uuid.UUID(command.table))
            return Prepared(replace(command, path=table.path), table.path, lambda: table)

        def preview(self, job, measured):
            assert stored(Squash, job).target == 7
            subject = subject_of(job.table_id)
            return Found({"files": subject.snapshot.files().num_rows, "internal": 1}, subject.version)
"""
SERIALIZERS = """
    from rest_framework import serializers
    from console.base.rest import Body, LiteralText, Whole
    from jobs.commands.squash.rules import Squash
    from jobs.web.parts import Shape

    class SquashBody(Body):
        command = serializers.ChoiceField(["squash"])
        table = serializers.UUIDField()
        target = Whole(min_value=1)
        reason = LiteralText(max_length=2000)

    class SquashPreview(serializers.Serializer):
        files = serializers.IntegerField()

    SHAPE = Shape(SquashBody, lambda given: Squash(str(given["table"]), given["target"]), SquashPreview)
"""
PAGES = """
    from jobs.web.parts import Parts
    from tables.ports import Offer

    PARTS = Parts(
        what="jobs/squash/what.html",
        ask_again=lambda job: "/squash-again/",
        offer=Offer(
            "squash", "Squash files…", lambda table: f"/squash/{table.pk}/", words="press flatten", beside="schema",
            mends={"skew": ""},
        ),
    )
"""
URLS = """
    from django.http import HttpResponse
    from django.urls import path

    urlpatterns = [path("squash/", lambda request: HttpResponse("which files?"), name="squash")]
    api_urlpatterns = []
"""
CLI = '''
    import click
    from console.cli.acts import Act, pass_session
    from console.cli.requesting import open_for_table, requested

    @click.command(cls=Act)
    @click.argument("table")
    @click.option("--target", type=int, default=7)
    @requested
    @pass_session
    def squash(session, table, target, **asked):
        """Request that files are squashed. Example: levee squash sales"""
        return open_for_table(session, "squash", table, {"target": target}, asked)

    REQUESTS = (squash,)
'''
WHAT = '<h2 id="h-what">Files of about {{ job.parameters.target }} MiB</h2>'


OWN = "jobs.commands.squash"


class Engine(SmallEngine):
    """Runs it as Spark would: the other commands don't know it either."""

    def run(self, command: Any, *rest: Any) -> Result:
        assert type(command).__name__ == "Squash"
        version = small_delta.compact(Path(command.path))
        return Result(version, "OPTIMIZE", {}, {"numAddedFiles": "2"}, details={"text": "Joined."})


@pytest.fixture
def fourth(tmp_path, monkeypatch):
    """Its packages, its template and its row. The addresses are read before: what it adds must not stay behind for other tests."""
    assert get_resolver().url_patterns
    for room, files in (
        (jobs.commands, {"rules": RULES, "wording": WORDING, "handling": HANDLING, "cli": CLI}),
        (jobs.web.commands, {"serializers": SERIALIZERS, "pages": PAGES, "urls": URLS}),
    ):
        package = tmp_path / room.__name__ / "squash"
        package.mkdir(parents=True)
        for name, text in {"__init__": "", **files}.items():
            (package / f"{name}.py").write_text(dedent(text))
        monkeypatch.setattr(room, "__path__", [*room.__path__, str(package.parent)])
    what = tmp_path / "templates" / "jobs" / "squash" / "what.html"
    what.parent.mkdir(parents=True)
    what.write_text(WHAT)
    rules, handling, wording = (importlib.import_module(f"{OWN}.{name}") for name in ("rules", "handling", "wording"))
    named: Any = wording
    row = Row(rules.Squash, named, handling.SquashHandling(), "jobs.web.commands.squash", rules.compare)
    monkeypatch.setitem(ROWS, "squash", row)
    yield row
    for name in [name for name in sys.modules if ".commands.squash" in name]:
        del sys.modules[name]
    for room in (jobs.commands, jobs.web.commands):
        room.__dict__.pop("squash", None)


@pytest.fixture
def templates(tmp_path, settings):
    engine = settings.TEMPLATES[0]
    settings.TEMPLATES = [engine | {"DIRS": [*engine["DIRS"], str(tmp_path / "templates")]}]


@pytest.fixture
def table(tmp_path):
    root = factories.RootFactory(uri=str(tmp_path / "lake"))
    return lakes.sales_in(root, lakes.SALES[:6])


def work_on(claiming) -> Job:
    engine: Any = Engine()
    claim = claiming(factories.holder())
    assert claim is not None
    work(Execution(claim, engine, threading.Event(), engine.end_hard))
    return Job.objects.get(pk=claim.job.pk)


def text_of(client, address) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return str(answer.content.decode())


@pytest.mark.usefixtures("templates", "redis_server")
def test_it_lives_from_request_to_result(fourth, table):
    factories.PolicyRuleFactory(name="squashing", command="squash")
    olga, anna = factories.person_with("operator"), factories.person_with("approver")
    body = {"command": "squash", "table": str(table.pk), "target": 7, "reason": "many small files"}

    asked = Caller(olga).post("/jobs", body)
    assert asked.status_code == 201, asked.content
    job = work_on(claim_preview)
    assert (job.state, job.preview) == ("awaiting_approval", {"files": 2, "internal": 1})

    waiting = text_of(browser(anna), "/approvals/")
    assert "Squash 2 files of sales" in waiting
    assert "<dt>Joins</dt><dd>2 files</dd>" in waiting
    review = text_of(browser(anna), f"/jobs/{job.pk}/")
    assert "Files of about 7 MiB" in review
    assert "Files to join" in review
    assert "<dt>Order</dt><dd>by size</dd>" in review
    approve = {"act": "approve", "digest": job.digest}
    assert confirmed_browser(anna).post(f"/jobs/{job.pk}/review/", approve).status_code == 302

    job = work_on(claim_run)
    assert (job.state, job.version) == ("succeeded", 1)
    page = text_of(browser(olga), f"/jobs/{job.pk}/")
    assert "Squash 2 files of sales" in page
    assert "<dt>Files joined</dt><dd>2</dd>" in page
    assert "as predicted" in page
    shown = Caller(olga).get(f"/jobs/{job.pk}").json()
    assert (shown["command"], shown["preview"]) == ("squash", {"files": 2})
    assert shown["result"]["operation"] == "OPTIMIZE"
    assert Caller(olga).get("/jobs", command="squash").json()["results"][0]["id"] == str(job.pk)
    assert "Squash 2 files of sales" in text_of(browser(olga), "/jobs/")


@pytest.mark.usefixtures("templates", "redis_server")
def test_what_it_cant_do_it_says_itself(fourth, table):
    olga = factories.person_with("operator")
    body = {"command": "squash", "table": str(table.pk), "target": 7, "reason": "many small files"}
    job = Caller(olga).post("/jobs", body).json()["id"]
    work_on(claim_preview)
    edit = Caller(olga).post(f"/jobs/{job}/edit", {"predicate": None, "reason": "other"})
    assert (edit.status_code, edit.json()["code"]) == (409, "wrong_state")
    assert Caller(olga).post("/jobs", {**body, "command": "unheard"}).status_code == 400


@pytest.mark.usefixtures("templates")
def test_each_page_of_a_table_that_offers_acts_offers_it(fourth, table):
    table.health = [
        {"code": "skew", "severity": "warning", "value": 0.9, "threshold": 0.4, "text": "", "recommendation": ""}
    ]
    table.version = 0
    table.save(update_fields=["health", "version"])
    client, link = browser(factories.person_with("operator")), f'href="/squash/{table.pk}/"'
    assert text_of(client, f"/tables/{table.pk}/").count(link) == 2, "in the menu, and where it mends a finding"
    assert text_of(client, f"/tables/{table.pk}/history/").count(link) == 1
    assert text_of(client, f"/tables/{table.pk}/schema/").count(link) == 2
    at = f"/tables/{table.pk}/"
    assert link in client.get("/find/", {"q": "flatten", "at": at}).content.decode(), "by its own words"
    assert link not in text_of(browser(factories.person_with("viewer")), f"/tables/{table.pk}/")


def test_the_command_line_asks_for_it(fourth, table, server):
    olga = factories.person_with("operator")
    environment = {"LEVEE_URL": server, "LEVEE_TOKEN": factories.token_text(olga, "read", "request")}
    line = ["squash", str(table.pk), "--target", "9", "--reason", "many small files", "--id"]
    asked = CliRunner().invoke(with_commands(click.Group()), line, env=environment, catch_exceptions=False)
    assert asked.exit_code == 0, asked.stderr
    job = Job.objects.get(pk=asked.stdout.strip())
    assert (job.command, job.parameters["target"], job.reason) == ("squash", 9, "many small files")


def test_its_pages_have_addresses(fourth):
    assert "squash" in {path.name for path in parts.pages()}


def test_it_is_nowhere_else(fourth):
    """The proof proves something: no file of the product names it."""
    root = Path(str(settings.BASE_DIR))
    files = [p for room in ("console", "tables", "jobs") for p in (root / room).rglob("*.py")]
    assert not [p for p in files if '"squash"' in p.read_text()]
    assert dataclasses.is_dataclass(fourth.value)
