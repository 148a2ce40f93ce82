"""What lies below a table's directory and is no file is refused before anybody opens it."""

import os
import socket
import stat

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from jobs.domain.errors import CommandRefused
from jobs.engine.directory import Directory, judged, kept


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
        with pytest.raises(CommandRefused, match="s is a socket"):
            Directory(str(tmp_path)).check()


def hidden_pipe(folder):
    os.mkfifo(folder / ".pipe")
    return folder / ".pipe"


@pytest.mark.parametrize(
    ("make", "code", "said"),
    [
        (os.mkfifo, "not_a_file", "is a named pipe"),
        (lambda place: os.mknod(place, 0o600 | stat.S_IFSOCK), "not_a_file", "is a socket"),
        (lambda place: place.symlink_to("/dev/zero"), "outside_roots", "is a link"),
        (lambda place: place.symlink_to(hidden_pipe(place.parent.parent)), "outside_roots", "is a link"),
    ],
    ids=["pipe", "socket", "link to a device", "link to a pipe"],
)
def test_a_read_is_refused_before_spark_opens_what_is_no_file(tmp_path, make, code, said):
    path = tmp_path / "t"
    write_deltalake(str(path), pa.table({"id": [1]}))
    (data,) = path.glob("*.parquet")
    data.unlink()
    make(data)
    for open_table in (judged, lambda place: kept(place).__enter__()):
        with pytest.raises(CommandRefused, match=said) as refused:
            open_table(str(path))
        found = refused.value.refusals[0]
        assert found.code == code
        assert data.name in found.message
