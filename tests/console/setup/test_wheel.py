"""The wheel of the command line, installed where the server and its clone aren't."""

import os
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from console.base.version import VERSION
from console.cli.program import levee
from console.setup.places import HERE
from console.setup.wheel.backend import modules

BUILD = "import sys; from console.setup.wheel import backend; backend.build_wheel(sys.argv[1])"
PROGRAM = """
import sys
from importlib.metadata import entry_points
sys.path.insert(0, sys.argv.pop(1))
(program,) = entry_points(group="console_scripts", name="levee")
program.load()()
"""
LOADED = """
import importlib.util, sys
sys.path.insert(0, sys.argv[1])
import levee_cli.console.cli.program
print({"django", "rest_framework", "celery", "pyspark", "console", "jobs", "tables"} & set(sys.modules))
print(importlib.util.find_spec("django"), importlib.util.find_spec("console"))
"""


def built(place: Path) -> Path:
    subprocess.run([sys.executable, "-c", BUILD, str(place)], cwd=HERE.root, check=True, capture_output=True)
    (wheel,) = place.iterdir()
    return wheel


def required(distribution: metadata.Distribution) -> set[str]:
    """The packages that it declares for this Python."""
    declared = [Requirement(text) for text in distribution.requires or ()]
    return {each.name for each in declared if each.marker is None or each.marker.evaluate({"extra": ""})}


def put_beside(place: Path, distribution: metadata.Distribution, seen: set[str]) -> None:
    """All that the distribution requires, from this environment, into the directory."""
    for name in required(distribution) - seen:
        seen.add(name)
        needed = metadata.distribution(name)
        for top in {file.parts[0] for file in needed.files or ()} - {".."}:
            link = place / top
            if not link.exists():
                link.symlink_to(Path(str(needed.locate_file(top))))
        put_beside(place, needed, seen)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return built(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A directory of packages: the wheel, and what it declares that it needs."""
    place = tmp_path_factory.mktemp("packages")
    zipfile.ZipFile(wheel).extractall(place)
    (itself,) = metadata.distributions(name="levee-cli", path=[str(place)])
    put_beside(place, itself, set())
    return place


def run(program: str, installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """In a Python that sees the standard library and the installed packages alone, elsewhere than in the clone."""
    command = [sys.executable, "-I", "-S", "-c", program, str(installed), *arguments]
    environment = {"PATH": os.environ["PATH"], "HOME": str(installed)}
    return subprocess.run(command, cwd=installed.parent, env=environment, capture_output=True, text=True)


def test_it_has_the_command_line_alone_below_one_package(wheel):
    names = [name for name in zipfile.ZipFile(wheel).namelist() if "dist-info" not in name]
    assert {name.split("/")[0] for name in names} == {"levee_cli"}
    code = {name.removeprefix("levee_cli/") for name in names if not name.endswith("__init__.py")}
    assert code == {str(module) for module in modules() if module.name != "__init__.py"}
    assert {"console/cli/program.py", "jobs/commands/delete/cli.py"} <= code


def test_the_same_sources_make_the_same_bytes(wheel, tmp_path):
    assert built(tmp_path).read_bytes() == wheel.read_bytes()


def test_it_says_the_version_that_the_clone_states(installed, wheel):
    assert wheel.name == f"levee_cli-{VERSION}-py3-none-any.whl"
    done = run(PROGRAM, installed, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"levee {VERSION}\n", "")


def test_it_has_every_command_of_the_clone(installed):
    done = run(PROGRAM, installed, "--help")
    listed = {line.split()[0] for line in done.stdout.partition("Commands:\n")[2].splitlines() if line[2:3].strip()}
    assert (done.returncode, listed) == (0, set(levee.commands))


def test_a_commands_own_words_are_in_it(installed):
    done = run(PROGRAM, installed, "delete", "--help")
    assert done.returncode == 0, done.stderr
    assert "--whole-table" in done.stdout


def test_a_command_runs_as_far_as_the_sign_in(installed):
    done = run(PROGRAM, installed, "tables")
    assert (done.returncode, done.stdout) == (5, "")
    assert "levee sign-in" in done.stderr


def test_it_neither_loads_nor_finds_the_server(installed):
    done = run(LOADED, installed)
    assert (done.stdout, done.stderr) == ("set()\nNone None\n", "")
