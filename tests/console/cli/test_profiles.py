"""Signing in: where tokens are kept, and which one is used."""

import json
import stat

import pytest

from console.base.known_settings import unknown
from console.cli import profiles
from console.cli.exits import Exit
from tests.console.cli.conftest import run


def test_a_token_is_kept_for_its_owner_alone_until_the_sign_out(olga, server, nobody_signed_in):
    token = olga.environment["LEVEE_TOKEN"]
    done = run("sign-in", server, "--name", "here", "--json", given=token + "\n")
    assert done.exit_code == 0, done.stderr
    assert token not in done.output
    assert stat.S_IMODE(nobody_signed_in.stat().st_mode) == 0o600
    assert stat.S_IMODE(nobody_signed_in.parent.stat().st_mode) == 0o700
    who = json.loads(run("whoami", "--json").stdout)
    assert who["name"] == "olga"
    assert who["grants"][0]["role"] == "operator"
    assert who["token"]["scopes"] == ["read", "request"]
    assert "operator on everything" in run("whoami").stdout
    assert run("sign-out").exit_code == 0
    assert token not in nobody_signed_in.read_text()
    assert run("whoami").exit_code == Exit.NOT_ALLOWED


def test_a_wrong_token_is_refused_and_not_kept(server, nobody_signed_in):
    done = run("sign-in", server, given="lv_00000000_wrong\n")
    assert done.exit_code == Exit.NOT_ALLOWED
    assert done.stderr == (
        "levee: This token is unknown, revoked or expired. Sign in: levee sign-in URL. [not_authenticated]\n"
    )
    assert not nobody_signed_in.exists()


def stored(file, **servers: str) -> None:
    file.parent.mkdir(parents=True)
    kept = {name: {"url": url, "token": f"token-of-{name}"} for name, url in servers.items()}
    file.write_text(json.dumps({"current": next(iter(servers)), "servers": kept}))


CHOICES = [
    ({}, None, "token-of-one"),
    ({}, "two", "token-of-two"),
    ({"LEVEE_SERVER": "two"}, None, "token-of-two"),
    ({"LEVEE_URL": "https://two.example.org/"}, None, "token-of-two"),
    ({"LEVEE_URL": "https://three.example.org", "LEVEE_TOKEN": "t3"}, None, "t3"),
    ({"LEVEE_URL": "https://three.example.org", "LEVEE_TOKEN": "t3"}, "one", "token-of-one"),
]


@pytest.mark.parametrize(("environment", "name", "token"), CHOICES)
def test_the_option_comes_before_the_environment_and_that_before_the_file(
    nobody_signed_in, monkeypatch, environment, name, token
):
    stored(nobody_signed_in, one="https://one.example.org", two="https://two.example.org")
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    assert profiles.chosen(name).token == token


def test_a_token_without_its_server_is_used_for_none(nobody_signed_in):
    stored(nobody_signed_in, one="https://one.example.org")
    for environment in ({"LEVEE_TOKEN": "t"}, {"LEVEE_URL": "https://other.example.org"}):
        done = run("tables", environment=environment)
        assert done.exit_code == Exit.NOT_ALLOWED
        assert "LEVEE_URL" in done.stderr or "https://other.example.org" in done.stderr


def test_servers_are_listed_without_their_tokens(nobody_signed_in):
    stored(nobody_signed_in, one="https://one.example.org", two="https://two.example.org")
    assert run("servers", "--use", "two").exit_code == 0
    shown = run("servers", "--json").stdout
    assert {row["name"]: row["current"] for row in json.loads(shown)["results"]} == {"one": False, "two": True}
    assert "token" not in shown


@pytest.mark.parametrize(
    "url", ["levee.example.org", "ftp://x", "https://ann:secret@x", "https://x?a=b", "https://x:abc", "http://[bad"]
)
def test_an_address_that_is_none_is_wrong_use(url):
    assert run("sign-in", url, given="t\n").exit_code == Exit.USAGE
    assert run("tables", environment={"LEVEE_URL": url, "LEVEE_TOKEN": "t"}).exit_code == Exit.USAGE


def test_the_api_and_a_last_stroke_in_an_address_make_no_difference():
    assert {profiles.address_of(f"https://x.example.org/levee{end}") for end in ("", "/", "/api/v1", "/api/v1/")} == {
        "https://x.example.org/levee"
    }


def test_an_instance_does_not_take_its_variables_for_misspelt_settings():
    assert unknown({"LEVEE_URL": "https://x", "LEVEE_TOKEN": "t", "LEVEE_SERVER": "one"}) == []
