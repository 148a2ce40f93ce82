"""What every answer says beside its content: nobody keeps it, nobody frames it, and its links lead to Levee's own address."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys

import pytest
from django.contrib.staticfiles.finders import get_finders
from django.test import Client

from console.supervisor.tools import PROJECT
from tests import factories
from tests.clients import API, browser
from tests.factories import token_text

PUBLIC = "https://levee.example.org"
# As a start with these settings answers: they are read once, so a process of its own reads them.
ASK = """
import json, sys, django
django.setup()
from django.conf import settings
from django.test import Client

found = []
for host, path in json.load(sys.stdin):
    answer = Client().get(path, headers={"host": host})
    found.append([answer.status_code, dict(answer.headers), [m.OutputString() for m in answer.cookies.values()]])
json.dump(found, sys.stdout)
"""


@pytest.fixture
def viewer(db):
    return factories.person_with("viewer")


def asked(*questions: tuple[str, str], **settings: str) -> list[tuple[int, dict[str, str], list[str]]]:
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        cwd=PROJECT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "console.settings", **settings},
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        check=True,
    )
    return [(status, headers, cookies) for status, headers, cookies in json.loads(done.stdout)]


@pytest.mark.parametrize("path", ["/", "/tables/", "/account/tokens/", "/people/", "/nowhere/", "/tables"])
def test_no_page_is_kept(viewer, path):
    assert "no-store" in browser(viewer).get(path)["Cache-Control"]


@pytest.mark.parametrize("path", ["/tables", "/jobs", "/nowhere", "/audit"])
def test_no_answer_of_the_api_is_kept(viewer, path):
    token = {"authorization": f"Bearer {token_text(viewer)}"}
    for headers in (token, {}):
        assert "no-store" in Client(headers=headers).get(f"{API}{path}")["Cache-Control"]


def test_every_answer_refuses_to_be_framed_also_redirects_and_refusals(client, db):
    answers = [
        client.get("/tables"),  # to the address with its slash
        client.get("/tables/"),  # to sign in
        client.get("/sign-in/", headers={"host": "elsewhere.example"}),
        client.get("/nowhere/"),
        client.post("/sign-in/", {"file": "x" * 1024 * 1024}),
        Client(enforce_csrf_checks=True).post("/sign-in/", {}),
    ]
    assert [answer.status_code for answer in answers] == [301, 302, 400, 404, 413, 403]
    for answer in answers:
        assert (answer["X-Frame-Options"], answer["X-Content-Type-Options"]) == ("DENY", "nosniff")
        assert answer["Content-Security-Policy"]
        assert answer["Cache-Control"]


@pytest.mark.parametrize("path", ["/sign-in/", "/confirm/", "/account/password/"])
def test_nobody_is_told_how_long_a_password_took(viewer, path):
    assert "Server-Timing" not in browser(viewer).post(path, {"username": viewer.name, "password": "x"})
    assert "Server-Timing" in browser(viewer).get("/tables/")


def test_no_file_is_served_that_no_page_of_levee_uses():
    files = [file for finder in get_finders() for file in finder.list([])]
    found = [f"{storage.prefix}/{path}" if storage.prefix else path for path, storage in files]
    assert found
    assert [path for path in found if not path.startswith("levee/")] == []


def test_another_name_is_refused(client):
    for host in ("elsewhere.example", "levee.example.org", "127.0.0.1.nip.io"):
        assert client.get("/health/live", headers={"host": host}).status_code == 400
    for host in ("127.0.0.1:8000", "localhost", "[::1]:80"):
        assert client.get("/health/live", headers={"host": host}).status_code == 200


def test_the_public_address_is_answered_and_cookies_and_transport_are_safe():
    by_name, by_number, elsewhere = asked(
        ("levee.example.org", "/sign-in/"),
        ("127.0.0.1:8000", "/tables"),
        ("elsewhere.example", "/sign-in/"),
        LEVEE_PUBLIC_URL=PUBLIC,
    )
    assert (by_name[0], by_number[0], elsewhere[0]) == (200, 301, 400)
    assert by_name[1]["Strict-Transport-Security"] == "max-age=31536000"
    assert by_name[2]
    assert all(cookie.startswith("__Host-") and "; Secure" in cookie for cookie in by_name[2])


def test_links_lead_to_the_public_address_by_whatever_name_one_came(viewer, settings):

    for _ in range(2):
        factories.TableFactory()
    settings.ENV = dataclasses.replace(settings.ENV, public_url=PUBLIC)
    settings.ALLOWED_HOSTS = settings.ENV.hosts
    answer = browser(viewer).get(f"{API}/tables?limit=1", headers={"host": "127.0.0.1:9"})
    assert answer.json()["next"].startswith(f"{PUBLIC}{API}/tables?")


@pytest.mark.parametrize(
    ("public", "warnings"),
    [
        pytest.param("", 4, marks=pytest.mark.dear),
        (PUBLIC, 0),
        pytest.param(f"{PUBLIC}/levee", 0, marks=pytest.mark.dear),
    ],
)
def test_djangos_check_of_a_deployment_finds_nothing_once_the_address_is_known(public, warnings):
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy"],
        cwd=PROJECT,
        # Tests in a browser set Django's switch for their own process.
        env={k: v for k, v in os.environ.items() if k != "DJANGO_ALLOW_ASYNC_UNSAFE"} | {"LEVEE_PUBLIC_URL": public},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("(security.W") == warnings, done.stderr
