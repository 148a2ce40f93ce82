"""Set-up runs on the system's Python before anything is installed, and the second time it is done at once."""

import subprocess
import sys
from pathlib import Path

import pytest

from console.setup import cli
from console.setup.places import HERE


def test_it_imports_nothing_but_the_standard_library():
    """-S and -I leave out every installed package; -c stands for the -m that -I forbids."""
    code = f"import sys; sys.path.insert(0, {str(HERE.root)!r}); import console.setup.cli, console.setup.later; print('ok')"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("ok\n", "")


@pytest.mark.parametrize("purpose", cli.PURPOSES)
def test_each_part_stands_after_what_it_needs(purpose):
    seen: set[str] = set()
    for part in cli.parts_for(purpose, HERE):
        assert set(part.needs) <= seen
        seen.add(part.name)


def test_only_the_tests_want_a_browser():
    wanting = [purpose for purpose in cli.PURPOSES if "Chromium" in str(cli.parts_for(purpose, HERE))]
    assert wanting == ["test", "test-all"]


def test_only_all_tests_want_other_writers_of_tables():
    wanting = [purpose for purpose in cli.PURPOSES if "ForeignWriters" in str(cli.parts_for(purpose, HERE))]
    assert wanting == ["test-all"]


def test_the_web_needs_no_pyspark():
    lock = (HERE.requirements / "web.txt").read_text()
    assert "pyspark" not in lock
    assert "delta-spark" not in lock


def test_no_lock_names_an_address():
    locks = [*HERE.requirements.glob("*.txt"), HERE.frontend / "package-lock.json"]
    assert len(locks) == 15
    assert [lock.name for lock in locks if "://" in lock.read_text()] == []


def test_every_target_of_the_makefile_is_explained():
    lines = (HERE.root / "Makefile").read_text().splitlines()
    phony = next(line for line in lines if line.startswith(".PHONY:")).split()[1:]
    explained = [line.split(":")[0] for line in lines if ": ## " in line]
    assert sorted(explained) == sorted(phony)


def test_help_prints_every_target():
    done = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=HERE.root, capture_output=True, text=True, check=True
    )
    phony = next(line for line in Path(HERE.root / "Makefile").read_text().splitlines() if line.startswith(".PHONY:"))
    assert [line.split()[1] for line in done.stdout.splitlines()] == phony.split()[1:]
