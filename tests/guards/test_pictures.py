"""The pictures of docs/ are there and small, and it is told which of them are out of date (tests/pictures/test_up_to_date.py)."""

from __future__ import annotations

import shutil

import pytest
from PIL import Image

from console.pages.help import build
from tests.pictures import small, staleness
from tests.pictures.scenes import SCENES, pictures

LARGEST = 150_000


def test_every_picture_is_of_a_scene_and_small():
    files = {file.name: file.stat().st_size for file in staleness.PICTURES.glob("*.png")}
    assert set(files) == set(pictures())
    assert {name: size for name, size in files.items() if size > LARGEST} == {}


def test_every_picture_has_a_small_one_of_it():
    files = list(staleness.PICTURES.glob("*.png"))
    assert {build.small_of(file) for file in files} == set(staleness.PICTURES.glob("small/*"))
    assert [file.name for file in files if not small.is_of(build.small_of(file), file)] == [], "`make docs` makes it"


def test_the_help_reads_the_size_of_a_small_picture():
    for file in list(staleness.PICTURES.glob("small/*"))[:4]:
        with Image.open(file) as opened:
            assert build.size_of(file.read_bytes()) == opened.size
    with pytest.raises(ValueError, match="not a plain lossless WebP"):
        build.size_of(b"RIFF\0\0\0\0WEBPVP8 ")


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """The sources of the pictures in a place where a test may change them."""
    for folder in ("templates", "styles", "js"):
        shutil.copytree(staleness.ROOT / "frontend" / folder, tmp_path / "frontend" / folder)
    shutil.copy(staleness.ROOT / "frontend" / "icons.txt", tmp_path / "frontend" / "icons.txt")
    for file in {*staleness.tag_files(), *(staleness.ROOT / name for scene in SCENES for name in scene.code)}:
        copied = tmp_path / file.relative_to(staleness.ROOT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copied)
    tags = staleness.inclusion_tags()
    monkeypatch.setattr(staleness, "ROOT", tmp_path)
    monkeypatch.setattr(staleness, "TEMPLATES", tmp_path / "frontend" / "templates")
    monkeypatch.setattr(staleness, "inclusion_tags", lambda: tags)
    return tmp_path


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("frontend/templates/tables/table/history.html", {"history", "history_phone"}),
        ("frontend/templates/tables/drawings/_reach_drawing.html", {"history", "history_phone", "vacuum"}),
        (
            "frontend/templates/tables/table/table.html",
            {"overview", "commit", "history", "history_phone", "schema", "layout", "finding", "capabilities"},
        ),
        ("frontend/templates/jobs/commands/rewrite.html", {"optimize", "vacuum"}),
        ("jobs/web/commands/vacuum/drawing.py", {"vacuum"}),
        ("frontend/templates/base.html", {scene.name for scene in SCENES}),
        ("frontend/styles/tokens.css", {scene.name for scene in SCENES}),
        ("frontend/templates/accounts/person.html", set()),
        (
            "tables/web/charts/axes.py",
            {"home", "overview", "history", "history_phone", "schema", "layout", "streams", "vacuum"},
        ),
        ("tables/web/charts/strip.py", {"history", "history_phone", "vacuum"}),
        ("tables/web/table/timelines.py", {"history", "history_phone", "schema"}),
        ("console/pages/home/drawings.py", {"home"}),
        ("console/templatetags/help.py", {scene.name for scene in SCENES}),
        ("console/templatetags/formatting/times.py", {scene.name for scene in SCENES}),
    ],
)
def test_a_change_makes_the_pictures_stale_that_show_it_and_no_others(copy, file, changed):
    before = {scene.name: staleness.digest(scene) for scene in SCENES}
    with (copy / file).open("a") as text:
        text.write("\n.changed { color: red; }\n")
    now = {scene.name: staleness.digest(scene) for scene in SCENES}
    found = {name for name in now if now[name] != before[name]}
    assert found == changed


def test_a_comment_or_a_blank_line_makes_no_picture_stale(copy):
    before = {scene.name: staleness.digest(scene) for scene in SCENES}
    for file, comment in (
        ("frontend/templates/base.html", "{# said #}"),
        ("frontend/styles/tokens.css", "/* said\n*/"),
        ("tables/web/charts/axes.py", "# said"),
    ):
        text = (copy / file).read_text()
        (copy / file).write_text(f"\n\n{comment}\n{text}")
    assert {scene.name: staleness.digest(scene) for scene in SCENES} == before
