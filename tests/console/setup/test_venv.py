"""The environment is made anew exactly when it can't be trusted."""

import sys
from pathlib import Path

import pytest

from console.setup import stamps, venv
from console.setup.places import Places
from console.setup.troubles import CommandFailed
from console.setup.venv import BEGUN, FOREIGN, Environment, ForeignWriters, Packages, Wheel


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """A clone with empty locks and an environment."""
    places = Places(tmp_path)
    places.requirements.mkdir()
    for lock in ("build", "web", "node"):
        (places.requirements / f"{lock}.txt").write_text("")
    fill(places.venv)
    return places


def fill(directory: Path) -> None:
    """What `python -m venv` leaves of itself."""
    (directory / "bin").mkdir(parents=True)
    (directory / "bin" / "python").symlink_to(sys.executable)
    command = f"{sys.executable} -m venv {directory}"
    (directory / "pyvenv.cfg").write_text(f"version = {venv.version()}.2\ncommand = {command}\n")


@pytest.fixture
def pip(monkeypatch) -> list[list[str]]:
    """Stands in for running pip: keeps the commands."""
    commands: list[list[str]] = []
    monkeypatch.setattr(venv, "run", lambda command, *_, **__: commands.append(command))
    return commands


def test_an_environment_of_this_python_in_this_place_is_kept(places):
    assert Environment(places).ready()


def test_an_environment_of_another_python_is_not(places):
    config = places.venv / "pyvenv.cfg"
    config.write_text(config.read_text().replace(f"version = {venv.version()}.", "version = 3.99."))
    assert not Environment(places).ready()


def test_an_environment_copied_from_another_clone_is_not(places, tmp_path):
    moved = Places(tmp_path / "moved")
    moved.root.mkdir()
    places.venv.rename(moved.venv)
    assert not Environment(moved).ready()


def test_an_environment_whose_python_is_gone_is_not(places):
    places.python.unlink()
    assert not Environment(places).ready()


def test_an_environment_that_a_kill_left_half_filled_is_not(places):
    stamps.write(places.stamps, BEGUN, "")
    assert not Environment(places).ready()


def test_making_it_anew_forgets_the_packages_of_the_old_one(places, monkeypatch):
    stamps.write(places.stamps, "packages-web", "x")
    stamps.write(places.stamps, BEGUN, "")
    monkeypatch.setattr(venv, "run", lambda command, *_: fill(Path(command[-1])))
    Environment(places).install()
    assert Environment(places).ready()
    assert not list(places.stamps.glob("packages-*"))


def test_packages_are_there_until_a_lock_changes(places, pip):
    packages = Packages(places, ("web",))
    assert not packages.ready()
    packages.install()
    assert packages.ready()
    (places.requirements / "web.txt").write_text("# another\n")
    assert not packages.ready()


def test_every_package_must_match_its_hash_and_builds_fetch_nothing(places, pip):
    Packages(places, ("web",)).install()
    assert all("--require-hashes" in command for command in pip)
    assert "--no-build-isolation" in pip[-1]


@pytest.mark.parametrize(
    ("said", "trusted"),
    [("ERROR: No matching distribution found", True), ("Installing collected packages: django\nKilled", False)],
)
def test_a_failed_pip_spoils_the_environment_only_once_it_writes(places, monkeypatch, said, trusted):
    def fail(command, log, **_):
        raise CommandFailed(command, 1, log, said)

    monkeypatch.setattr(venv, "run", fail)
    with pytest.raises(CommandFailed):
        Packages(places, ("web",)).install()
    assert Environment(places).ready() is trusted


def target(command: list[str]) -> Path:
    return Path(command[command.index("--target") + 1])


def test_a_wheel_of_an_older_lock_no_longer_serves(places, monkeypatch):
    monkeypatch.setattr(venv, "run", lambda command, *_: target(command).mkdir(parents=True))
    wheel, program = Wheel(places, "node"), places.tools / "node" / "bin" / "node"
    wheel.install()
    assert wheel.serves(program)
    (places.requirements / "node.txt").write_text("# newer\n")
    assert not wheel.serves(program)
    assert wheel.serves(Path("/usr/bin/node"))
    assert not wheel.serves(None)


def test_each_other_writer_of_tables_is_installed_for_itself_and_again_when_its_lock_changes(places, monkeypatch):
    commands: list[list[str]] = []

    def run(command, *_):
        commands.append(command)
        target(command).mkdir(parents=True)

    monkeypatch.setattr(venv, "run", run)
    for lock in FOREIGN:
        (places.requirements / f"{lock}.txt").write_text("")
    ForeignWriters(places).install()
    assert ForeignWriters(places).ready()
    assert [target(command).name for command in commands] == [f"{lock}.part" for lock in FOREIGN]
    assert all("--no-deps" in command and "--require-hashes" in command for command in commands)
    (places.requirements / "foreign-duckdb.txt").write_text("# newer\n")
    assert not ForeignWriters(places).ready()
    ForeignWriters(places).install()
    assert [target(command).name for command in commands[len(FOREIGN) :]] == ["foreign-duckdb.part"]
