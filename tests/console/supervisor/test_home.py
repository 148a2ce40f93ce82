"""The home: made once, kept as it is, refused when it can't be used."""

import json
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.base.env import Env
from console.supervisor.errors import StartRefused
from console.supervisor.home import (
    LONGEST_SOCKET_NAME,
    SOCKET_PATH_LIMIT,
    lock_home,
    make_directories,
    open_home,
    refuse_half_restored,
)
from console.supervisor.instance import Instance
from tests.servers import remove


@pytest.fixture
def place() -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="levee-home-"))
    directory.chmod(0o711)
    yield directory / "home"
    if (directory / "home" / "home.json").exists():
        remove(open_home(directory / "home"))


def test_a_home_opened_twice_is_the_same(place):
    first = open_home(place)
    key = (place / "secret_key").read_text()
    assert open_home(place) == first
    assert (place / "secret_key").read_text() == key
    assert len(key.strip()) >= 50


def test_its_secrets_and_logs_are_closed_to_others(place):
    home = open_home(place)
    for path in (place / "secret_key", home.logs, home.state):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077
    assert not stat.S_IMODE(place.stat().st_mode) & 0o066


def test_the_sockets_paths_are_short_whatever_the_temporary_directory(place, tmp_path, monkeypatch):
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    home = open_home(place)
    assert len(os.fsencode(home.record.pg_socket_dir + "/.s.PGSQL.5432")) <= SOCKET_PATH_LIMIT
    assert LONGEST_SOCKET_NAME.endswith("/.s.PGSQL.5432")


def test_a_cleaned_temporary_directory_is_replaced(place):
    first = open_home(place)
    (first.run_dir / "pg").rmdir()
    first.run_dir.rmdir()
    second = open_home(place)
    assert second.run_dir.is_dir()
    assert second.run_dir != first.run_dir
    assert json.loads((place / "home.json").read_text())["run_dir"] == str(second.run_dir)


def test_a_run_directory_that_others_may_write_is_not_used(place):
    first = open_home(place)
    first.run_dir.chmod(0o777)
    assert open_home(place).run_dir != first.run_dir
    (first.run_dir / "pg").rmdir()
    first.run_dir.rmdir()


def test_a_home_in_use_is_refused_naming_the_process(place):
    with lock_home(place), pytest.raises(StartRefused, match=rf"LEVEE_HOME: .*pid {os.getpid()}\b"):
        lock_home(place)


def test_the_lock_is_free_once_it_is_closed(place):
    lock_home(place).close()
    lock_home(place).close()


def test_a_home_that_is_a_file_is_refused_in_one_line(place):
    place.write_text("not a directory")
    for act in (lock_home, open_home):
        with pytest.raises(StartRefused, match=r"^LEVEE_HOME: .*(exists|directory).*$"):
            act(place)


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 1}'])
def test_a_damaged_record_is_refused_and_left_alone(place, text):
    open_home(place)
    good = (place / "home.json").read_text()
    (place / "home.json").write_text(text)
    with pytest.raises(StartRefused, match="damaged"):
        open_home(place)
    assert (place / "home.json").read_text() == text
    (place / "home.json").write_text(good)


def test_the_record_of_a_newer_levee_is_refused(place):
    open_home(place)
    good = (place / "home.json").read_text()
    (place / "home.json").write_text(good.replace('"version": 1', '"version": 2'))
    with pytest.raises(StartRefused, match="another Levee"):
        open_home(place)
    (place / "home.json").write_text(good)


def test_a_home_whose_restore_was_cut_short_starts_no_empty_instance(place):
    refuse_half_restored(place)
    (place / "restoring").mkdir(parents=True)
    with pytest.raises(StartRefused, match=r"restore into .* was cut short: run `manage.py restore_backup` again"):
        refuse_half_restored(place)
    with pytest.raises(StartRefused, match="was cut short"):
        Instance(Env.read({"LEVEE_HOME": str(place)}), sample=False).run()


def test_what_is_left_of_a_restore_that_had_put_its_database_in_place_goes(place):
    home = open_home(place)
    (place / "restoring").mkdir()
    Path(home.record.pg_data).mkdir()
    refuse_half_restored(place)
    assert not (place / "restoring").exists()


def test_two_starts_at_once_may_both_try_whether_the_home_can_be_written(place, monkeypatch):
    monkeypatch.setattr(Path, "write_text", lambda *_, **__: 0)  # the other one has removed the file already
    make_directories(place, None)
