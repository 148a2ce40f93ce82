"""`manage.py person add` and `root add`: what automation relies on, from a shell of the host."""

import io
import re

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, ProgrammingError
from django.test import Client
from psycopg.errors import UndefinedTable

from console.accounts.models import Grant, Person, Token
from console.audit.models import Event
from tables.models import Root
from tests import factories

pytestmark = pytest.mark.django_db


def run(*arguments, given=None, monkeypatch=None):
    out = io.StringIO()
    if given is not None:
        monkeypatch.setattr("sys.stdin", io.StringIO(given))
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_it_adds_a_person_with_roles_and_a_token_that_works():
    root = factories.RootFactory(name="lake")
    out = run("person", "add", "ana", "--role", "operator", "--on", "root:lake", "--role", "viewer", "--on", "everything",
              "--token", "ci")  # fmt: skip
    *_, text = out.splitlines()
    assert re.fullmatch(r"lv_[0-9a-f]{8}_[\w-]{43}", text)
    assert set(Grant.objects.values_list("role", "scope", "root")) == {
        ("operator", "root", root.pk),
        ("viewer", "everything", None),
    }
    assert Token.objects.get().scopes == ["read", "request"]
    assert Client().get("/api/v1/jobs", headers={"authorization": f"Bearer {text}"}).status_code == 200
    assert set(Event.objects.values_list("action", flat=True)) == {"person.add", "grant.add", "token.add"}


def test_the_token_is_nowhere_in_the_database():
    *_, text = run("person", "add", "ana", "--token", "ci").splitlines()
    token = Token.objects.get()
    assert text.split("_", 2)[2] not in str(vars(token))
    assert not any(text.split("_", 2)[2] in str(vars(event)) for event in Event.objects.all())


def test_it_updates_a_person_and_does_nothing_twice(monkeypatch):
    run("person", "add", "ana", "--role", "viewer", "--on", "everything")
    run("person", "add", "Ana", "--role", "viewer", "--on", "everything", "--password-stdin", given="a fine long one\n",
        monkeypatch=monkeypatch)  # fmt: skip
    assert Person.objects.get().check_password("a fine long one")
    assert Grant.objects.count() == 1


def test_a_token_that_approves_lives_ninety_days_at_most():
    run("person", "add", "ana", "--token", "ci", "--scope", "approve", "--scope", "read")
    token = Token.objects.get()
    assert sorted(token.scopes) == ["approve", "read"]
    assert (token.expires_at - token.created_at).days <= 90


def test_a_table_is_named_by_its_path(tmp_path):
    table = factories.TableFactory(path=str(tmp_path))
    run("person", "add", "ana", "--role", "viewer", "--on", f"table:file:{tmp_path}/")
    assert Grant.objects.get().table == table


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--role", "viewer"], "--on"),
        (["--on", "everything"], "--role"),
        (["--role", "king", "--on", "everything"], "king"),
        (["--role", "viewer", "--role", "operator", "--on", "everything"], "--on"),
        (["--role", "viewer", "--on", "root:none"], "no root is named none"),
        (["--role", "viewer", "--on", "table:/none"], "no table is known at /none"),
        (["--role", "viewer", "--on", "table:none"], "absolute"),
        (["--role", "viewer", "--on", "somewhere"], "somewhere"),
        (["--scope", "read"], "--token"),
        (["--token", "ci", "--scope", "all"], "all"),
    ],
)
def test_a_mistake_is_one_line_and_changes_nothing(arguments, words):
    with pytest.raises(CommandError) as error:
        run("person", "add", "ana", *arguments)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    assert not Person.objects.exists()


@pytest.mark.parametrize("password", ["short\n", "\n", ""])
def test_a_weak_or_missing_password_changes_nothing(password, monkeypatch):
    with pytest.raises(CommandError):
        run("person", "add", "ana", "--password-stdin", given=password, monkeypatch=monkeypatch)
    assert not Person.objects.exists()


@pytest.mark.parametrize("name", ["", "a b", "<b>", "x" * 65, "-a"])
def test_an_odd_name_is_refused(name):
    with pytest.raises(CommandError):
        run("person", "add", "--", name)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OperationalError("connection refused"), "start it (make run)"),
        (ProgrammingError("no such relation"), "wait until the instance says that it is ready"),
    ],
)
@pytest.mark.parametrize("arguments", [("person", "add", "ana"), ("root", "add", "lake", "/tmp")])
def test_an_instance_that_is_not_there_is_said_in_one_line(arguments, error, words, monkeypatch):
    error.__cause__ = UndefinedTable() if isinstance(error, ProgrammingError) else None

    def broken(*_arguments, **_options):
        raise error

    monkeypatch.setattr("django.db.models.query.QuerySet.filter", broken)
    with pytest.raises(CommandError) as said:
        run(*arguments)
    assert words in str(said.value).lower()
    assert "\n" not in str(said.value)


def test_a_root_is_added_once(tmp_path):
    assert "added" in run("root", "add", "lake", str(tmp_path))
    assert "already" in run("root", "add", "lake", f"file:{tmp_path}/")
    assert Root.objects.get().uri == str(tmp_path.resolve())
    assert Event.objects.get().action == "root.add"


@pytest.mark.parametrize("uri", ["/", "relative", "/nowhere/at/all", "/tmp/../etc"])
def test_an_odd_root_is_refused_in_one_line(uri):
    with pytest.raises(CommandError) as error:
        run("root", "add", "lake", uri)
    assert "\n" not in str(error.value)
    assert not Root.objects.exists()


def test_a_name_that_is_taken_is_refused(tmp_path):
    (tmp_path / "a").mkdir()
    run("root", "add", "lake", str(tmp_path))
    with pytest.raises(CommandError, match="exists already"):
        run("root", "add", "lake", str(tmp_path / "a"))
