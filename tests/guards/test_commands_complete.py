"""A command that lacks one of its parts fails here: the list of docs/development.md, "To add a command"."""

import ast
import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from jobs.domain.commands import COMMANDS, command_from_json
from jobs.handling import HANDLINGS
from jobs.models import Job, PolicyRule
from jobs.serializers import BODIES, PREVIEWS
from jobs.titles import title_of
from tables.models import Table

ROOT = Path(__file__).parents[2]
# What Levee fills in from its catalog; nobody may send it.
FILLED_IN = {
    "convert": {"location", "declared_schema", "declared_partitions"},
    "delete": {"path", "tree"},
    "restore": {"path", "undoes", "accepted_commits"},
}
# Tests register commands of their own; these are the ones that ship.
KINDS = sorted(kind for kind, command in COMMANDS.items() if command.__module__.startswith("jobs."))


def dict_keys(path: str, name: str) -> set[str]:
    """The keys of a dict of the engine, which can't be imported without Spark: `Convert.kind` is read as its value."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name and isinstance(node.value, ast.Dict):
            return {_kind(ast.unparse(key)) for key in node.value.keys if key is not None}
    raise AssertionError(f"{path} has no {name}")


def _kind(text: str) -> str:
    classes = {command.__name__: kind for kind, command in COMMANDS.items()}
    return classes.get(text.removesuffix(".kind"), text.strip("'\""))


def test_there_are_commands():
    assert "convert" in KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_a_frozen_value_with_a_schema_version(kind):
    command: Any = COMMANDS[kind]
    assert command.__dataclass_params__.frozen
    assert command.kind == kind
    assert command.schema_version >= 1
    assert command.__doc__


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_refused_in_another_schema_version(kind):
    with pytest.raises(ValueError, match="schema version"):
        command_from_json(kind, COMMANDS[kind].schema_version + 1, {})


@pytest.mark.parametrize("kind", KINDS)
def test_the_engine_previews_and_runs_it(kind):
    assert kind in dict_keys("jobs/engine/registry.py", "RUNNERS")


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_handled_before_and_after_spark(kind):
    assert kind in HANDLINGS


@pytest.mark.django_db
@pytest.mark.parametrize("kind", KINDS)
def test_a_rule_is_shipped_that_says_how_many_approvals_it_needs(kind):
    assert PolicyRule.objects.filter(command=kind, enabled=True).exists()


@pytest.mark.parametrize("kind", KINDS)
def test_the_api_takes_all_its_parameters_and_no_others(kind):
    body, _ = BODIES[kind]
    parameters = {field.name for field in dataclasses.fields(COMMANDS[kind])}
    assert set(body().fields) == (parameters - FILLED_IN[kind]) | {"command", "reason"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_api_shows_its_preview(kind):
    assert kind in PREVIEWS


@pytest.mark.parametrize("kind", KINDS)
def test_it_has_a_title_of_its_own(kind):
    title = title_of(Job(command=kind, table=Table(name="orders")))
    assert "orders" in title
    assert title != title_of(Job(command="something", table=Table(name="orders"))).replace(
        "Something", kind.capitalize()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_it_has_a_section_in_the_handbook_of_jobs(kind):
    text = (ROOT / "docs" / "jobs.md").read_text()
    assert re.search(rf"^##+ {kind}\b", text, re.MULTILINE | re.IGNORECASE)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_tested_in_the_engine_and_over_http(kind):
    assert list((ROOT / "tests" / "engine").glob(f"test_{kind}*.py"))
    asked = (ROOT / "tests" / "jobs").glob("test_api*.py")
    assert any(f'"{kind}"' in path.read_text() for path in asked)


def test_the_handbook_names_every_place():
    """The list that a person follows and the list that this file holds are one."""
    text = (ROOT / "docs" / "development.md").read_text()
    section = text.split("## To add a command", 1)[1].split("\n## ", 1)[0]
    places = set(re.findall(r"`([\w./<>-]+)`", section))
    named = {place.replace("<kind>", "convert") for place in places if "/" in place}
    assert named >= {
        "jobs/domain/commands.py", "jobs/handling/convert.py", "jobs/migrations", "jobs/engine/registry.py", "jobs/serializers.py",
        "jobs/services.py", "jobs/titles.py", "docs/jobs.md", "tests/jobs/test_api.py",
    }  # fmt: skip
    assert not [place for place in named if not list(ROOT.glob(place))]
