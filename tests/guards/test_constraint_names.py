"""No page, answer of the API or command names a constraint of the database: what it refuses is said in words, or stays in the log."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import IntegrityError
from django.forms import ModelForm

from console.accounts import services
from console.accounts.sign_in import first_links
from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.dispatcher import rounds
from jobs.dispatcher.rounds import Round, run_round
from tables.sync import table as syncing
from tests import factories
from tests.clients import Caller, confirmed_browser

ROOT = Path(__file__).parents[2]
OURS = [model for model in apps.get_models() if model.__module__.split(".")[0] in {"console", "jobs", "tables"}]
NAMES = sorted({constraint.name for model in OURS for constraint in model._meta.constraints})
REFUSED = ["a b", "-x", "eve", "EVE", "é", "x" * 65, ""]


def broken(*_args, **_more):
    raise IntegrityError(f'duplicate key value violates unique constraint "{NAMES[0]}"')


def names_in(text: str) -> list[str]:
    return [name for name in NAMES if name in text] + re.findall(r"Constraint “\S+|violates \S+ constraint", text)


@pytest.fixture
def admin(db):
    factories.PersonFactory(name="eve")
    return factories.person_with("admin")


@pytest.mark.parametrize("name", REFUSED)
def test_a_person_s_name_is_refused_in_words_at_every_door(admin, name, capsys):
    page = confirmed_browser(admin).post("/people/add/", {"name": name})
    api = Caller(admin).post("/people", {"name": name})
    assert (page.status_code, api.status_code) == (400, 400)
    assert "lv-field-error" in page.content.decode()
    assert api.json()["fields"].keys() == {"name"}
    assert names_in(page.content.decode() + api.content.decode()) == []
    with pytest.raises(Problem) as refused:
        services.add_person(Actor.system("tests"), name, None)
    assert names_in(refused.value.detail) == []


@pytest.mark.parametrize("name", ["a b", "-x"])
def test_the_command_says_it_in_words_too(db, name):
    with pytest.raises(CommandError, match="only letters, digits") as refused:
        call_command("person", "add", "--", name)
    assert names_in(str(refused.value)) == []


def test_what_nobody_expected_stays_in_the_log(admin, monkeypatch):
    monkeypatch.setattr(first_links, "add_people", broken)
    monkeypatch.setattr(services, "add_person", broken)
    client, program = confirmed_browser(admin), Caller(admin)
    client.raise_request_exception = program.client.raise_request_exception = False
    page, api = client.post("/people/add/", {"name": "ida"}), program.post("/people", {"name": "ida"})
    assert (page.status_code, api.status_code) == (500, 500)
    assert names_in(page.content.decode() + api.content.decode()) == []


def test_a_round_that_breaks_one_says_on_the_page_of_workers_where_to_look(admin, monkeypatch):
    monkeypatch.setattr(rounds, "connection", type("Connection", (), {"close": lambda self: None})())
    monkeypatch.setattr(rounds, "close_old_connections", lambda: None)
    assert run_round(Round("broken", lambda: 1.0, broken)) is False
    page = confirmed_browser(admin).get("/workers/").content.decode()
    assert "IntegrityError. The log has the details." in page
    assert names_in(page) == []


def test_a_sync_that_breaks_one_says_on_the_table_where_to_look(db, tmp_path, monkeypatch):
    table = factories.table_in(factories.root_at(tmp_path), "orders")
    monkeypatch.setattr(syncing, "_follow", broken)
    assert syncing.sync(table.pk).sync_error == (
        "Levee couldn’t process this log: IntegrityError. The log has the details."
    )


def _asks_django(call: ast.Call) -> bool:
    """Whether the call has Django check a model's constraints: its refusal would name them."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name == "validate_constraints":
        return True
    off = [word.value for word in call.keywords if word.arg == "validate_constraints"]
    return name == "full_clean" and not (off and isinstance(off[0], ast.Constant) and off[0].value is False)


def test_no_code_has_django_check_constraints():
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for app in ("console", "jobs", "tables")
        for path in (ROOT / app).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and _asks_django(node)
    ]
    assert found == []


def _forms(kind: Any) -> list[Any]:
    return [form for child in kind.__subclasses__() for form in (child, *_forms(child))]


def test_no_form_of_a_row_holds_a_field_that_a_constraint_is_about():
    import console.urls  # noqa: F401  # so that all forms are there

    ours = [form for form in _forms(ModelForm) if form.__module__.split(".")[0] in {"console", "jobs", "tables"}]
    assert ours
    for form in ours:
        constraints = " ".join(map(repr, form._meta.model._meta.constraints))
        assert [field for field in form._meta.fields if re.search(rf"\b{field}(__|\b)", constraints)] == [], form
