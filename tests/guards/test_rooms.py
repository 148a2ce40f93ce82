"""Rooms stay small enough to know: a folder that grows past its bound is two rooms."""

import re
from collections import Counter
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
LARGEST = 22


def rooms() -> list[Path]:
    found = {module.parent for app in ("console", "tables", "jobs") for module in (PROJECT / app).rglob("*.py")}
    return sorted(room for room in found if room.name != "migrations")


@pytest.mark.parametrize("room", rooms(), ids=lambda room: str(room.relative_to(PROJECT)))
def test_a_room_holds_22_modules_at_most(room):
    assert len([module for module in room.glob("*.py") if module.name != "__init__.py"]) <= LARGEST


TEMPLATES = PROJECT / "frontend" / "templates"
NAMED = re.compile(r"""(?:include|extends|render\(request,|template =|inclusion_tag\()\s*"([\w/]+\.html)\"""")


def test_every_template_that_is_named_is_there():
    files = [
        *TEMPLATES.rglob("*.html"),
        *(m for app in ("console", "tables", "jobs") for m in (PROJECT / app).rglob("*.py")),
    ]
    named = {(name, file) for file in files for name in NAMED.findall(file.read_text())}
    assert len(named) > 100
    assert {f"{file.relative_to(PROJECT)}: {name}" for name, file in named if not (TEMPLATES / name).is_file()} == set()


def test_a_room_of_templates_holds_22_at_most_and_none_lies_between_rooms():
    found = Counter(file.parent.relative_to(TEMPLATES) for file in TEMPLATES.rglob("*.html"))
    assert max(found.values()) <= LARGEST, found.most_common(1)
    assert not found.keys() & {Path("jobs"), Path("tables")}


# Their tests are those of what uses them: rows of the acts on them, requests of the commands and their pages, tags of the pages.
WITHOUT = {"jobs/models", "jobs/requests", "jobs/templatetags", "tables/models", "tables/templatetags"}

# Folders of tests that are about no one room.
OF_NO_ROOM = {"tests/jobs/corpus", "tests/jobs/foreign"}


def test_tests_lie_in_the_folder_of_a_room():
    """A room's tests are found by its path; a room that nobody looks for by itself is tested in the folder of the room around it."""
    tests = PROJECT / "tests"
    folders = {
        file.parent.relative_to(PROJECT)
        for app in ("console", "tables", "jobs")
        for file in (tests / app).rglob("test_*.py")
    }
    strange = {str(folder) for folder in folders if not (PROJECT / folder.relative_to("tests")).is_dir()}
    assert strange == OF_NO_ROOM


def test_every_room_at_the_top_has_tests_of_its_own():
    found = {
        str(room.relative_to(PROJECT))
        for app in ("console", "tables", "jobs")
        for room in (PROJECT / app).iterdir()
        if any(room.rglob("*.py")) and not any((PROJECT / "tests" / app / room.name).rglob("test_*.py"))
    }
    assert found - {f"{app}/migrations" for app in ("tables", "jobs")} == WITHOUT
