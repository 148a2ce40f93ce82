"""Which PostgreSQL a home gets: found, pinned, refused, copied."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.supervisor import tools
from console.supervisor.account import can_execute
from console.supervisor.errors import StartRefused
from console.supervisor.home import Home, open_home
from console.supervisor.servers import postgres
from tests.servers import remove


@pytest.fixture
def home() -> Iterator[Home]:
    directory = Path(tempfile.mkdtemp(prefix="levee-postgres-"))
    directory.chmod(0o711)
    home = open_home(directory / "home")
    yield home
    remove(home)


def install(bin_dir: Path, major: int) -> Path:
    """Programs that say their version, and an initdb that makes what looks like data."""
    bin_dir.mkdir(parents=True)
    scripts = {
        "postgres": f"echo 'postgres (PostgreSQL) {major}.4'",
        "initdb": f'mkdir -p "$2"; echo {major} >"$2/PG_VERSION"',
    }
    for name, script in scripts.items():
        (bin_dir / name).write_text(f"#!/bin/sh\n{script}\n")
        (bin_dir / name).chmod(0o755)
    return bin_dir


@pytest.fixture
def installed(home: Home, monkeypatch) -> list[Path]:
    """The places that are searched; empty until a test puts some in."""
    places: list[Path] = []
    monkeypatch.setattr(postgres, "_places", lambda: iter(places))
    return places


def test_the_version_of_the_first_start_stays(home, installed):
    installed.append(install(home.path / "old" / "bin", 15))
    first = postgres.prepare(home)
    assert (first.record.pg_major, first.record.pg_bin) == (15, str(home.path / "old" / "bin"))
    installed.insert(0, install(home.path / "new" / "bin", 17))
    assert postgres.prepare(open_home(home.path)).record == first.record


def test_another_major_version_is_refused_with_the_steps_to_move(home, installed):
    installed.append(install(home.path / "old" / "bin", 15))
    postgres.prepare(home)
    installed[:] = [install(home.path / "new" / "bin", 17)]
    (home.path / "old").rename(home.path / "gone")
    with pytest.raises(StartRefused, match=r"^LEVEE_HOME: .*PostgreSQL 15, installed: 17\..*docs/operating\.md"):
        postgres.prepare(open_home(home.path))


@pytest.mark.parametrize("majors", [(), (14,)])
def test_none_or_only_an_old_one_is_refused_naming_the_setting(home, installed, majors):
    installed.extend(install(home.path / str(major) / "bin", major) for major in majors)
    with pytest.raises(StartRefused, match=r"PostgreSQL 15 or newer.*LEVEE_DATABASE_URL"):
        postgres.prepare(home)


def test_an_initdb_that_was_cut_short_is_done_again(home, installed):
    installed.append(install(home.path / "old" / "bin", 15))
    half = Path(home.record.pg_data).with_name("data.new")
    half.mkdir()
    (half / "half").touch()
    data = Path(postgres.prepare(home).record.pg_data)
    assert (data / "PG_VERSION").read_text() == "15\n"
    assert not (data / "half").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as somebody else")
def test_programs_that_the_servers_user_cannot_reach_are_copied_with_their_libraries(home, installed, tmp_path):
    tmp_path.chmod(0o700)
    wheel = tmp_path / "carrier"
    installed.append(install(wheel / "pginstall18" / "bin", 18))
    (tmp_path / "carrier.libs").mkdir()
    (tmp_path / "carrier.libs" / "libfoo.so").touch()
    assert home.account is not None
    assert not can_execute(home.account, wheel / "pginstall18" / "bin" / "postgres")
    copied = Path(postgres.prepare(home).record.pg_bin or "")
    assert can_execute(home.account, copied / "postgres")
    assert (copied.parent.parent.parent / "carrier.libs" / "libfoo.so").exists()


def test_a_missing_java_names_the_setting(monkeypatch):
    monkeypatch.setattr("console.setup.system.java.find", lambda: None)
    with pytest.raises(StartRefused, match=r"^JAVA_HOME: no Java 17 or 21"):
        tools.java_home()
