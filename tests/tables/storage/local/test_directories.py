"""Directories are entered over no link, told by device and inode, and hold nothing that can't be read to its end."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from tables.storage.local import directories as places
from tables.storage.local.directories import Irregular, Linked, PlaceError, Swapped


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "root" / "sub" / "t" / "_delta_log").mkdir(parents=True)
    (tmp_path / "outside" / "t" / "_delta_log").mkdir(parents=True)
    (tmp_path / "root" / "sub" / "t" / "_delta_log" / "0.json").write_text("ours")
    (tmp_path / "outside" / "t" / "_delta_log" / "0.json").write_text("theirs")
    return tmp_path / "root" / "sub" / "t"


def swap(place: Path, outside: Path) -> None:
    """Puts a link in the place of a directory."""
    place.rename(place.parent / "kept")
    place.symlink_to(outside)


@pytest.mark.parametrize("which", ["t", "sub", "root"])
def test_a_link_at_any_component_is_refused_and_seen_by_a_second_walk(table: Path, tmp_path: Path, which: str) -> None:
    place = places.walk(str(table))
    place.check()
    target = {"t": table, "sub": table.parent, "root": table.parents[1]}[which]
    swap(target, {"t": tmp_path / "outside" / "t"}.get(which, tmp_path / "outside"))
    for look in (place.check, lambda: places.walk(str(table)), lambda: os.close(places.directory(str(table)))):
        with pytest.raises(Linked, match=f"{target.name} is a link"):
            look()


def test_another_directory_in_its_place_is_seen(table: Path) -> None:
    place = places.walk(str(table))
    table.rename(table.parent / "kept")
    with pytest.raises(FileNotFoundError):
        place.check()
    table.mkdir()
    with pytest.raises(Swapped):
        place.check()
    table.rmdir()
    (table.parent / "kept").rename(table)
    place.check()


def test_an_open_directory_stays_what_it_is(table: Path, tmp_path: Path) -> None:
    with places.opened(str(table)) as descriptor:
        swap(table, tmp_path / "outside" / "t")
        found = places.file(descriptor, "_delta_log/0.json")
        assert os.read(found, 10) == b"ours"
        os.close(found)


def test_a_link_below_an_open_directory_is_not_followed(table: Path, tmp_path: Path) -> None:
    swap(table / "_delta_log", tmp_path / "outside" / "t" / "_delta_log")
    with places.opened(str(table)) as descriptor:
        for look in (
            lambda: places.file(descriptor, "_delta_log/0.json"),
            lambda: places.below(descriptor, "_delta_log"),
        ):
            with pytest.raises(Linked):
                look()
    with pytest.raises(Linked):
        places.check_tree(str(table))


def pipe(path: Path) -> None:
    os.mkfifo(path)


def plug(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made, pytest.MonkeyPatch.context() as patch:
        patch.chdir(path.parent)  # a socket's name is short
        made.bind(path.name)


@pytest.mark.parametrize("make", [pipe, plug])
def test_what_is_no_file_is_not_opened(table: Path, make: Callable[[Path], None]) -> None:
    make(table / "_delta_log" / "1.json")
    with (
        places.opened(str(table)) as descriptor,
        pytest.raises(Irregular, match=r"1\.json is not a regular file but a "),
    ):
        places.file(descriptor, "_delta_log/1.json")
    with pytest.raises(Irregular, match=r"_delta_log/1\.json"):
        places.check_tree(str(table))


def test_what_is_no_file_and_goes_away_meanwhile_hides_nothing(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = SimpleNamespace(
        name="pipe", is_dir=lambda **_: False, is_file=lambda **_: False, is_symlink=lambda: False, stat=missing
    )
    monkeypatch.setattr(os, "scandir", lambda _: nullcontext([gone]))
    with pytest.raises(Irregular, match="pipe is not a regular file"):
        places.check_tree(str(table))


def missing(**_: object) -> None:
    raise FileNotFoundError


@pytest.mark.parametrize("path", ["/a/../b", "/.."])
def test_nothing_climbs(path: str) -> None:
    with pytest.raises(PlaceError):
        places.walk(path)


def test_no_descriptor_is_left_open(table: Path, tmp_path: Path) -> None:
    swap(table / "_delta_log", tmp_path / "outside")
    os.mkfifo(table / "pipe")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        places.walk(str(table))
        for look in (
            lambda: places.directory(str(table / "_delta_log" / "x")),
            lambda: places.check_tree(str(table)),
            lambda: places.walk(str(table / "nothing" / "x")),
        ):
            with pytest.raises((PlaceError, FileNotFoundError)):
                look()
        with places.opened(str(table)) as descriptor, pytest.raises(Irregular):
            places.file(descriptor, "pipe")
    assert len(list(Path("/proc/self/fd").iterdir())) == before
