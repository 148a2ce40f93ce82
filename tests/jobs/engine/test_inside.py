"""What lies below a table's directory and is no file is refused before anybody opens it."""

import os
import socket

import pytest

from jobs.domain.errors import CommandRefused
from jobs.engine.directory import Directory


def test_files_in_directories_are_taken(tmp_path):
    (tmp_path / "p=1").mkdir()
    (tmp_path / "p=1" / "a.parquet").touch()
    Directory(str(tmp_path)).check()


@pytest.mark.parametrize("name", ["p=1/a.parquet", "_delta_log/00000000000000000000.json"])
def test_a_pipe_is_refused_by_its_name(tmp_path, name):
    place = tmp_path / name
    place.parent.mkdir()
    os.mkfifo(place)
    with pytest.raises(CommandRefused, match=name) as refused:
        Directory(str(tmp_path)).check()
    assert refused.value.refusals[0].code == "not_a_file"


def test_a_socket_is_refused(tmp_path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        with pytest.raises(CommandRefused, match="socket or device"):
            Directory(str(tmp_path)).check()
