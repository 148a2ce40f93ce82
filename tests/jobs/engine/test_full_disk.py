"""Real Delta on a table's disk without space."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.domain.engine import UNCHECKED
from jobs.domain.errors import EngineFailed
from jobs.domain.storage_causes import NO_SPACE
from jobs.lifecycle.endings import engine_failed
from tests import small_disks
from tests.factories.lakes import Lake
from tests.jobs.engine.deltas import deletion, ids, make

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]


@pytest.fixture
def disk() -> Iterator[Path]:
    with small_disks.small_disk(16) as place:
        yield place


def files(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*")} - {small_disks.BALLAST}


@pytest.mark.parametrize("room", [0, 4096])
def test_a_convert_leaves_the_directory_as_it_was(convert, disk, room):
    path = Lake(disk).write("plain")
    before = files(disk)
    small_disks.fill(disk, leave=room)
    with pytest.raises(EngineFailed):
        convert(path)
    assert files(disk) == before
    small_disks.relieve(disk)
    assert convert(path).version == 0


def test_a_delete_leads_with_the_cause_and_not_with_its_wrapping(runtime, engine, marks, report, disk):
    path = make(runtime.new_session(), disk / "t")
    command, rows = deletion(path, "id IN (3, 5)"), ids(path)
    small_disks.fill(disk)
    with pytest.raises(EngineFailed) as failed:
        engine.run(command, {}, UNCHECKED, marks, report)
    assert failed.value.failure.message.startswith(NO_SPACE.words), failed.value.failure
    assert engine_failed(failed.value.failure, "")["what_to_do"] == NO_SPACE.remedy
    small_disks.relieve(disk)
    assert ids(path) == rows
    assert engine.run(command, {}, UNCHECKED, marks, report).version == 1


def test_a_delete_on_a_read_only_disk_says_so(runtime, engine, marks, report, disk):
    path = make(runtime.new_session(), disk / "t")
    command = deletion(path, "id IN (3, 5)")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with pytest.raises(EngineFailed) as failed:
        engine.run(command, {}, UNCHECKED, marks, report)
    assert failed.value.failure.message.startswith("The disk is mounted read-only"), failed.value.failure
