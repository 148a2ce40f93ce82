"""A command is six places with one name, and one row: one that lacks a place, or is named anywhere else, fails here."""

import ast
import dataclasses
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from jobs.commands.base import Handling
from jobs.commands.registry import ROWS, command_from_json, title_of
from jobs.models import Job, PolicyRule
from jobs.web.parts import Parts, Shape
from tables.models import Table

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "frontend" / "templates"
# What Levee fills in from its catalog; nobody may send it.
FILLED_IN = {
    "alter_schema": {"path"},
    "clone": {"path", "source", "source_name"},
    "convert": {"location", "declared_schema", "declared_partitions"},
    "delete": {"path", "tree"},
    "drop_feature": {"path"},
    "optimize": {"path", "tree"},
    "reorg": {"path", "tree"},
    "repair": {"path"},
    "restore": {"path", "undoes", "accepted_commits"},
    "set_properties": {"path"},
    "vacuum": {"path"},
}
# What a request calls otherwise: a command's own `kind` is its name.
NAMED_OTHERWISE = {"clone": {"depth": "kind"}}
# Tests register commands of their own; these are the ones that ship.
KINDS = sorted(kind for kind, row in ROWS.items() if row.value.__module__.startswith("jobs."))
PLACES = [
    "jobs/commands/{kind}/rules.py",
    "jobs/commands/{kind}/wording.py",
    "jobs/commands/{kind}/handling.py",
    "jobs/commands/{kind}/cli.py",
    "jobs/web/commands/{kind}/serializers.py",
    "jobs/web/commands/{kind}/pages.py",
    "jobs/web/commands/{kind}/urls.py",
    "frontend/templates/jobs/{kind}/page.html",
    "frontend/templates/jobs/{kind}/what.html",
    "tests/jobs/commands/{kind}/test_spark.py",
    "docs/jobs/{kind}.md",
]

# Files that name a command without being of one, and why they may.
ALLOWED = {
    "jobs/commands/registry.py": "the table itself",
    "jobs/worker/runners.py": "the table of what runs each on Spark, which the web never loads",
    "jobs/engine/commits/metadata_log.py": "`delete` is an action of the log that Spark's streams write",
    "jobs/engine/row_diff/multisets.py": "`delete` is a change type of Delta's change feed",
    "jobs/web/reads/row_lines.py": "the same",
    "frontend/templates/jobs/reads/_change.html": "the same",
    "tables/rules/destruction.py": "Delta's operations, whoever committed them",
    "tables/history/destructive_effects.py": "Delta's operations, whoever committed them",
    "jobs/targets/version_readers.py": "a vacuum and the clones of what it takes hold each other back",
    "console/base/setting_values.py": "the first parts of Levee's addresses, which a path in front of them can't have",
    "console/pages/home/bar.py": "the guided first story, which takes one of each",
    "console/pages/home/progress.py": "the same",
    "console/pages/home/steps.py": "the same",
    "console/pages/find/places.py": "the palette leads to the pages that are no table's",
    "console/management/commands/prepare.py": "asks for the two conversions of the sample lake as a person would",
    "frontend/templates/tables/list/add.html": "leads from what a scan found to its conversion, where that page is there",
    "jobs/models/stream.py": "the row of a stream's round has the name of the command that runs it",
}


# The rooms of what enters a command's jobs in place of its own pages: they know it as those would.
ENTERED_BY = {"stream_round": ("jobs/streams/", "jobs/web/streams/")}
# Of a command that another room enters: its pages and API are that room's.
REQUESTED = ("serializers.py", "urls.py", "page.html", "cli.py")


def places(kind: str) -> list[Path]:
    wanted = [place for place in PLACES if ROWS[kind].is_requested or not place.endswith(REQUESTED)]
    return [ROOT / place.format(kind=kind) for place in wanted]


def test_there_are_commands():
    assert {"convert", "delete", "restore"} <= set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_it_has_every_place(kind):
    assert not [str(place) for place in places(kind) if not place.exists()]
    assert list((ROOT / "tests" / "jobs" / "commands" / kind).glob("test_*.py"))


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_a_frozen_value_with_a_schema_version(kind):
    command: Any = ROWS[kind].value
    assert command.__dataclass_params__.frozen
    assert command.kind == kind
    assert command.__module__ == f"jobs.commands.{kind}.rules"
    assert command.schema_version >= 1
    assert command.__doc__


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_refused_in_another_schema_version(kind):
    with pytest.raises(ValueError, match="schema version"):
        command_from_json(kind, ROWS[kind].value.schema_version + 1, {})


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_handled_and_worded_by_its_own_package(kind):
    row: Any = ROWS[kind]
    assert isinstance(row.handling, Handling)
    assert type(row.handling).__module__ == f"jobs.commands.{kind}.handling"
    assert row.wording.__name__ == f"jobs.commands.{kind}.wording"


def spark_of(kind: str) -> Path:
    folder = ROOT / "jobs" / "commands" / kind
    return folder / "spark" / "run.py" if (folder / "spark").is_dir() else folder / "spark.py"


@pytest.mark.parametrize("kind", KINDS)
def test_it_has_a_runner_on_spark(kind):
    """Read, not imported: this process has no Spark."""
    assert re.search(r"^RUNNER = Runner\(", spark_of(kind).read_text(), re.MULTILINE)
    table = (ROOT / "jobs" / "worker" / "runners.py").read_text()
    assert re.search(rf'^    "{kind}": {kind}\.RUNNER,$', table, re.MULTILINE)
    assert ROWS[kind].is_rehearsable == bool(
        re.search(r"^RUNNER = Runner\(.*\brehearsal=", spark_of(kind).read_text(), re.M)
    )


@pytest.mark.django_db
@pytest.mark.parametrize("kind", KINDS)
def test_a_migration_ships_the_rule_that_says_how_many_approvals_it_needs(kind):
    assert PolicyRule.objects.filter(command=kind, enabled=True).exists()
    assert any(f'"{kind}"' in path.read_text() for path in (ROOT / "jobs" / "migrations").glob("*.py"))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if ROWS[kind].is_requested])
def test_the_api_takes_all_its_parameters_and_no_others(kind):
    shape = import_module(f"jobs.web.commands.{kind}.serializers").SHAPE
    assert isinstance(shape, Shape)
    otherwise = NAMED_OTHERWISE.get(kind, {})
    parameters = {otherwise.get(field.name, field.name) for field in dataclasses.fields(ROWS[kind].value)}
    wish = {"rehearse"} if ROWS[kind].is_rehearsable else set()
    assert set(shape.body().fields) == (parameters - FILLED_IN[kind]) | {"command", "reason"} | wish


@pytest.mark.parametrize("kind", KINDS)
def test_its_pages_say_what_was_asked_for(kind):
    parts = import_module(f"jobs.web.commands.{kind}.pages").PARTS
    assert isinstance(parts, Parts)
    own = [parts.what, parts.edit, parts.measured]
    assert parts.what == f"jobs/{kind}/what.html"
    assert all((TEMPLATES / name).exists() for name in [*own, parts.result] if name)
    assert bool(parts.edit) == bool(parts.edit_form) == ROWS[kind].handling.editable


@pytest.mark.parametrize("kind", [kind for kind in KINDS if ROWS[kind].is_requested])
def test_it_is_offered_on_tables_and_on_the_command_line(kind):
    offer = import_module(f"jobs.web.commands.{kind}.pages").PARTS.offer
    assert (offer.kind, offer.text.endswith("…"), bool(offer.words)) == (kind, True, True)
    requests = import_module(f"jobs.commands.{kind}.cli").REQUESTS
    assert {request.name.replace("-", "_") for request in requests} == {kind}


@pytest.mark.parametrize("kind", KINDS)
def test_it_has_a_title_of_its_own(kind):
    title = title_of(Job(command=kind, table=Table(name="orders")))
    assert "orders" in title
    assert title != title_of(Job(command="something", table=Table(name="orders"))).replace(
        "Something", kind.capitalize()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_asked_for_over_http_in_a_test(kind):
    asked = (ROOT / "tests" / "jobs").rglob("test_api*.py")
    assert any(f'"{kind}"' in path.read_text() for path in asked)


# --- nowhere else -----------------------------------------------------------------------------------------------------


def own(path: str) -> bool:
    """Whether a file is of a command's own packages."""
    roots = ("jobs/commands", "jobs/web/commands", "frontend/templates/jobs")
    entering = [room for rooms in ENTERED_BY.values() for room in rooms]
    return path.startswith((*entering, *(f"{root}/{kind}/" for root in roots for kind in KINDS)))


def sources() -> Iterator[tuple[str, Path]]:
    files = [p for room in ("console", "tables", "jobs") for p in (ROOT / room).rglob("*.py")]
    for path in [*files, *TEMPLATES.rglob("*.html")]:
        name = str(path.relative_to(ROOT))
        if not own(name) and "/migrations/" not in name:
            yield name, path


def names_in_code(text: str, kinds: list[str]) -> set[str]:
    """Which commands a program names: by kind, by the name of a page, in SQL, by the class of the value, or by their package."""
    one = "|".join(kinds)
    said = re.compile(rf"^(?:jobs:)?({one})$|'({one})'|^jobs\.(?:web\.)?commands\.({one})\b")
    tree = ast.parse(text)
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(value)) if id(node) not in docs:
                found |= {kind for groups in said.findall(value) for kind in groups if kind}
            case ast.Name(id=name) | ast.alias(name=name):
                found |= {kind for kind in kinds if name == kind.capitalize()}
            case ast.ImportFrom(module=str(module)):
                found |= {kind for groups in said.findall(module) for kind in groups if kind}
            case _:
                pass
    return found


def names_in_template(text: str, kinds: list[str]) -> set[str]:
    return set(re.findall(rf"""["'](?:jobs:|jobs/)?({"|".join(kinds)})(?:["']|/)""", text))


def named(path: Path, kinds: list[str]) -> set[str]:
    return (names_in_code if path.suffix == ".py" else names_in_template)(path.read_text(), kinds)


def test_no_other_file_names_a_command():
    found = {name: named(path, KINDS) for name, path in sources() if name not in ALLOWED}
    assert {name: kinds for name, kinds in found.items() if kinds} == {}


def test_every_exception_is_a_file_and_still_one():
    assert set(ALLOWED) == {name for name, path in sources() if name in ALLOWED and named(path, KINDS)}


@pytest.mark.parametrize(
    "text",
    [
        'if job.command == "delete": ...',
        "from jobs.commands.delete.rules import Delete as D",
        "import_module('jobs.web.commands.delete.pages')",
        "cursor.execute(\"select 1 where command = 'delete'\")",
        'reverse("jobs:delete")',
        "isinstance(command, Delete)",
    ],
)
def test_a_name_in_code_is_found(text):
    assert names_in_code(text, ["delete"]) == {"delete"}


def test_a_word_in_prose_is_no_name():
    assert names_in_code('"""A "delete" of rows."""\nrows.delete()\ntext = "delete rows"', ["delete"]) == set()


def test_the_handbook_names_every_place():
    """The list that a person follows and the list that this file holds are one."""
    text = (ROOT / "docs" / "development.md").read_text()
    section = text.split("## To add a command", 1)[1].split("\n## ", 1)[0]
    places = set(re.findall(r"`([\w./<>-]+)`", section))
    written = {place.replace("<kind>", "convert") for place in places if "/" in place}
    assert written >= {
        "jobs/commands/convert/", "jobs/commands/registry.py", "jobs/worker/runners.py", "jobs/web/commands/convert/", "jobs/migrations",
        "frontend/templates/jobs/convert/", "tests/jobs/commands/convert/",
        "tests/jobs/commands/convert/test_spark.py", "docs/jobs/convert.md",
    }  # fmt: skip
    assert not [place for place in written if not list(ROOT.glob(place))]
