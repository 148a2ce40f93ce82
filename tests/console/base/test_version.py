"""The version is stated once, and everything that says it says the same."""

import re
import tomllib
from pathlib import Path

import pytest
from django.test import Client

from console.accounts.roles import Role
from console.base.version import VERSION
from console.pages.find.places import PLACES, Shelf
from tests import factories
from tests.clients import browser
from tests.console.cli.conftest import run

ROOT = Path(__file__).parents[3]


def test_it_is_the_projects():
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == VERSION


def test_the_changelogs_newest_release_is_it_and_has_a_date():
    heads = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert heads[0] == "Unreleased"
    assert re.fullmatch(rf"{re.escape(VERSION)} - \d{{4}}-\d\d-\d\d", heads[1])


def test_the_command_line_says_it():
    done = run("--version")
    assert (done.exit_code, done.stdout) == (0, f"levee {VERSION}\n")


def test_it_is_told_with_the_state_of_the_parts(client: Client, db, redis_server):
    assert client.get("/health/ready").json()["version"] == VERSION


@pytest.mark.parametrize(
    "place", [place for place in PLACES if place.shelf is Shelf.ADMINISTRATION], ids=lambda place: place.text
)
def test_each_page_of_administration_says_it(place, db, redis_server):
    ada = browser(factories.person_with(Role.ADMIN))
    assert f"Levee {VERSION}</li>" in ada.get(place.url).content.decode()
