"""The executables that pyproject.toml names run the code where it lies."""

import subprocess

import pytest

from console.setup.launchers import Launchers
from console.setup.places import Places
from tests.console.setup.test_venv import fill

PROJECT = '[project]\nname = "x"\n[project.scripts]\nhello = "greeting:say"\n'
GREETING = "import sys\ndef say():\n    print(*sys.argv[1:], sep='|')\n"


@pytest.fixture
def places(tmp_path) -> Places:
    """A clone with an environment, at a path that a shell would take apart."""
    places = Places(tmp_path / "a clone's")
    places.root.mkdir()
    fill(places.venv)
    (places.root / "pyproject.toml").write_text(PROJECT)
    (places.root / "greeting.py").write_text(GREETING)
    return places


def test_one_runs_from_anywhere_with_its_arguments_as_they_are(places, tmp_path):
    assert not Launchers(places).ready()
    Launchers(places).install()
    assert Launchers(places).ready()
    program = places.python.with_name("hello")
    done = subprocess.run([program, "a b", "$HOME"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("a b|$HOME\n", "")


def test_it_is_written_again_when_the_entry_changes_or_the_environment_is_made_anew(places):
    Launchers(places).install()
    (places.root / "pyproject.toml").write_text(PROJECT.replace(":say", ":shout"))
    assert not Launchers(places).ready()
    Launchers(places).install()
    (places.venv / "pyvenv.cfg").write_text("version = 3.99.1\n")
    assert not Launchers(places).ready()


def test_it_is_among_the_parts_of_whoever_runs_levee():
    from console.setup import cli
    from console.setup.places import HERE

    having = [purpose for purpose in cli.PURPOSES if "Launchers" in str(cli.parts_for(purpose, HERE))]
    assert having == ["run", "test", "test-all", "check", "cli", "bench"]
