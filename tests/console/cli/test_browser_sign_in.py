"""`levee sign-in` by a code that a person confirms in a browser, and the sign-out that ends its token."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import httpx
import pytest

from console.accounts.models import Person, SignInRequest, Token
from console.accounts.sign_in import program_sign_ins
from console.audit.actor import Actor
from console.cli.exits import Exit
from tests import clock, factories
from tests.console.cli.conftest import Somebody, run

CODE = re.compile(r"enter the code ([A-Z]{4}-[A-Z]{4})\.")


@pytest.fixture
def ines(server: str) -> Person:
    return factories.person_named("ines", "operator")


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happens in the browser while the program waits for the first time: `confirm`, `deny`, or nothing, as the list says."""
    decisions: list[str] = []

    def decide(_seconds: float) -> None:
        person, asked = Person.objects.get(name="ines"), SignInRequest.objects.get(decided_at=None)
        act = {"confirm": program_sign_ins.grant, "deny": program_sign_ins.deny}[decisions.pop(0)]
        act(Actor.acting_for(person), person, asked)

    clock.replace(monkeypatch, "console.cli.browser_sign_in", sleep=decide)
    monkeypatch.setattr("console.cli.browser_sign_in.socket.gethostname", lambda: "laptop-3")
    return decisions


def test_it_waits_for_the_word_and_keeps_the_token_for_its_owner(
    server: str, ines: Person, meanwhile: list[str], nobody_signed_in: Path
) -> None:
    meanwhile.append("confirm")
    done = run("sign-in", server, "--browser", "--name", "here", "--scope", "read", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["name"] == "ines"
    assert f"Open {server}/sign-in/program/" in done.stderr
    assert CODE.search(done.stderr)
    assert stat.S_IMODE(nobody_signed_in.stat().st_mode) == 0o600
    token = Token.objects.get()
    assert (token.label, token.scopes) == ("laptop-3", ["read"])
    assert json.loads(nobody_signed_in.read_text())["servers"]["here"]["token"].startswith(f"lv_{token.prefix}_")
    assert "ines" in run("whoami").stdout


def test_the_sign_out_revokes_it(server: str, ines: Person, meanwhile: list[str], nobody_signed_in: Path) -> None:
    meanwhile.append("confirm")
    run("sign-in", "--server", server, "--browser")
    done = run("sign-out", "--json")
    assert (done.exit_code, json.loads(done.stdout)["revoked"]) == (0, True)
    assert Token.objects.get().revoked_at is not None
    assert json.loads(nobody_signed_in.read_text())["servers"] == {}


def test_signing_in_again_ends_the_earlier_token(server: str, ines: Person, meanwhile: list[str]) -> None:
    meanwhile += ["confirm", "confirm"]
    assert run("sign-in", server, "--browser").exit_code == 0
    assert run("sign-in", "--browser").exit_code == 0, "to the same server, without its address"
    assert Token.objects.filter(revoked_at=None).count() == 1
    assert "ines" in run("whoami").stdout


def test_a_denied_sign_in_stores_nothing(
    server: str, ines: Person, meanwhile: list[str], nobody_signed_in: Path
) -> None:
    meanwhile.append("deny")
    done = run("sign-in", server, "--browser")
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (
        Exit.NOT_ALLOWED,
        "levee: The sign-in was denied in the browser. Nothing was stored.",
    )
    assert not nobody_signed_in.exists()


def test_a_code_that_nobody_confirms_ends_the_wait(
    server: str, ines: Person, monkeypatch: pytest.MonkeyPatch, nobody_signed_in: Path
) -> None:
    monkeypatch.setattr("console.accounts.sign_in.program_sign_ins.LIFE", -program_sign_ins.LIFE)
    done = run("sign-in", server, "--browser")
    assert done.exit_code == Exit.NOT_ALLOWED
    assert "Nobody confirmed the code in time" in done.stderr
    assert not nobody_signed_in.exists()


def test_an_address_that_is_no_page_is_not_opened(
    server: str, ines: Person, monkeypatch: pytest.MonkeyPatch, nobody_signed_in: Path
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("console.cli.browser_sign_in.webbrowser.open", opened.append)
    answer = {
        "id": "x",
        "code": "WDJB-MJHT",
        "token": "lv_x_y",
        "confirm_url": "file:///etc/passwd",
        "interval_seconds": 1,
    }
    monkeypatch.setattr("console.cli.client.Api.post", lambda *_args: answer)
    done = run("sign-in", server, "--open")
    assert (done.exit_code, opened) == (Exit.UNREACHABLE, [])
    assert not nobody_signed_in.exists()


def test_a_server_that_begins_none_says_why(server: str, ines: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_sign_ins, "MOST_BEGUN", 1)
    monkeypatch.setattr("console.cli.client.MOST_PAUSES_S", 0.0)
    program_sign_ins.begin("x", [], "127.0.0.1")
    done = run("sign-in", server, "--browser")
    assert done.exit_code == Exit.UNREACHABLE
    assert "Too many sign-ins of programs from here" in done.stderr


def test_a_token_of_ones_own_is_forgotten_and_revoked_on_request_alone(olga: Somebody, server: str) -> None:
    token = olga.environment["LEVEE_TOKEN"] + "\n"
    assert run("sign-in", server, given=token).exit_code == 0
    done = run("sign-out")
    assert "its token still works: revoke it on the page of your API tokens" in done.stdout
    assert Token.objects.filter(revoked_at=None).exists()
    run("sign-in", server, given=token)
    assert "its token is revoked" in run("sign-out", "--revoke").stdout
    assert not Token.objects.filter(revoked_at=None).exists()


def test_the_token_of_a_sign_in_that_is_given_once_more_goes_on_working(
    server: str, ines: Person, meanwhile: list[str], nobody_signed_in: Path
) -> None:
    meanwhile.append("confirm")
    assert run("sign-in", server, "--browser", "--name", "here").exit_code == 0
    token = json.loads(nobody_signed_in.read_text())["servers"]["here"]["token"]
    assert run("sign-in", server, "--name", "here", given=f"{token}\n").exit_code == 0
    assert run("whoami").exit_code == 0
    assert "its token is revoked" in run("sign-out").stdout, "it is still the sign-in's own"


def test_a_token_that_works_no_more_is_forgotten(server: str, ines: Person, meanwhile: list[str]) -> None:
    meanwhile.append("confirm")
    run("sign-in", server, "--browser")
    Token.objects.update(revoked_at="2026-01-01T00:00:00Z")
    assert run("sign-out").exit_code == 0


def test_a_server_that_is_away_keeps_the_token_until_it_is_told_to_be_forgotten(
    server: str, ines: Person, meanwhile: list[str], monkeypatch: pytest.MonkeyPatch, nobody_signed_in: Path
) -> None:
    meanwhile.append("confirm")
    run("sign-in", server, "--browser", "--name", "here")

    def away(*_args: object, **_more: object) -> None:
        raise httpx.ReadError("gone")

    monkeypatch.setattr(httpx.Client, "request", away)
    done = run("sign-out")
    assert done.exit_code == Exit.UNREACHABLE
    assert "levee sign-out --forget does that" in done.stderr
    assert "here" in json.loads(nobody_signed_in.read_text())["servers"]
    assert run("sign-out", "--forget").exit_code == 0
    assert "here" not in json.loads(nobody_signed_in.read_text())["servers"]


@pytest.mark.parametrize(
    "wrong",
    [
        ("sign-in",),
        ("sign-in", "https://a.example.org", "--server", "https://b.example.org"),
        ("sign-in", "https://a.example.org", "--token", "--scope", "read"),
        ("sign-in", "https://a.example.org", "--scope", "all"),
        ("sign-out", "--revoke", "--forget"),
    ],
)
def test_wrong_use_is_said(wrong: tuple[str, ...]) -> None:
    assert run(*wrong).exit_code == Exit.USAGE
