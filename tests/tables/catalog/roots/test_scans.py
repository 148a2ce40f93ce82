"""A scan goes on where it stopped until it has seen its root; a root's schedule begins scans by itself."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from console.audit.actor import Actor
from console.audit.models import Event
from tables.catalog.roots import changes as root_changes
from tables.catalog.roots import scans
from tables.models import Finding, Root
from tables.rules import discovery
from tables.rules.discovery import Limits, ResumePoint, scan
from tests.clients import Caller

DELTA = "_delta_log/00000000000000000000.json"


def lay(base: Path, *names: str) -> Path:
    for name in names:
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).touch()
    return base


def in_turns(base: Path, skip: tuple[str, ...] = (), **limits: int) -> tuple[list[tuple[str, str]], int, list[str]]:
    """What a scan finds in as many turns as it takes, how many these are, and what was crowded."""
    found: list[tuple[str, str]] = []
    crowded: list[str] = []
    place: ResumePoint | None = None
    for turns in range(1, 5_000):
        turn = scan(str(base), skip, limits=Limits(**limits), place=place)
        found += [(item.path, item.kind) for item in turn.found]
        crowded += turn.crowded
        place = turn.place
        if place is None:
            return found, turns, crowded
    raise AssertionError("the scan never ends")


def a_lake(base: Path, seed: int) -> Path:
    """Directories, tables, partitions and files of any depth."""
    chance = random.Random(seed)
    names = ["a", "b", "a b", "a-b", "day=1", "day=2", "env=x", "z", "ä"]
    for _ in range(60):
        way = "/".join(chance.choice(names) for _ in range(chance.randrange(1, 6)))
        lay(base, f"{way}/{chance.choice(['x.parquet', 'x.txt', DELTA, 'y.txt'])}")
    return base


@pytest.mark.parametrize("seed", range(12))
def test_turns_of_any_length_find_what_one_look_finds(tmp_path: Path, seed: int) -> None:
    whole, turns, _ = in_turns(a_lake(tmp_path, seed))
    assert turns == 1
    for entries in (13, 20, 40):
        found, turns, crowded = in_turns(tmp_path, entries=entries)
        assert turns > 1
        if not crowded:
            assert found == whole
        assert set(found) <= set(whole)


def test_a_directory_that_takes_more_than_a_turn_is_named_and_left_behind(tmp_path: Path) -> None:
    lay(tmp_path, *(f"b/{n}.txt" for n in range(50)), f"b/t/{DELTA}", "a/x.parquet", "c/x.parquet")
    found, _, crowded = in_turns(tmp_path, entries=20)
    assert [Path(path).name for path, _ in found] == ["a", "c"]
    assert crowded == [f"{tmp_path}/b"]


def test_what_vanishes_between_turns_ends_no_scan(tmp_path: Path) -> None:
    lay(tmp_path, "a/x.parquet", "b/c/x.parquet", "d/x.parquet")
    first = scan(str(tmp_path), limits=Limits(entries=5))
    assert first.place is not None
    (tmp_path / "b" / "c" / "x.parquet").unlink()
    (tmp_path / "b" / "c").rmdir()
    (tmp_path / "b").rmdir()
    rest = scan(str(tmp_path), place=first.place)
    assert [Path(item.path).name for item in (*first.found, *rest.found)] == ["a", "d"]


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns of a few names."""
    monkeypatch.setattr("tables.rules.discovery.scan", partial(discovery.scan, limits=Limits(entries=8)))


@pytest.fixture
def ines(admin: Actor) -> Caller:
    assert admin.person is not None
    return Caller(admin.person)


def test_a_scan_goes_on_and_judges_what_is_gone_at_its_end(
    turns: None, ines: Caller, admin: Actor, root: Root, lake: Path
) -> None:
    lay(lake, *(f"t{n}/x.parquet" for n in range(6)))
    gone = Finding.objects.create(root=root, path=f"{lake}/a", kind="parquet", seen_at=timezone.now())
    scans.ask_scan(admin, root)
    assert scans.scan_next_asked()
    shown = ines.get(f"/roots/{root.pk}").json()
    assert shown["scanned_at"] is None
    assert shown["scan_progress"]["entries"] > 0
    assert shown["scan_progress"]["next"].startswith(f"{lake}/t")
    assert 0 < Finding.objects.count() - 1 < 6
    assert Finding.objects.filter(pk=gone.pk, gone_at=None).exists()
    rounds = 1
    while scans.scan_next_asked():
        rounds += 1
    assert rounds == 2
    root.refresh_from_db()
    assert (root.scan_pass, root.scan_stopped, root.is_scanning) == (None, "", False)
    assert not Finding.objects.filter(pk=gone.pk, gone_at=None).exists()
    assert Finding.objects.filter(gone_at=None).count() == 6
    assert root.scan_entries == 12


def dies(*_: Any) -> None:
    raise KeyboardInterrupt


def test_a_turn_that_dies_is_done_again_from_the_same_place(
    turns: None, admin: Actor, root: Root, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(lake, *(f"t{n}/x.parquet" for n in range(6)))
    scans.ask_scan(admin, root)
    scans.scan_next_asked()
    stored = Root.objects.get().scan_pass
    with monkeypatch.context() as patched:
        patched.setattr("tables.catalog.roots.scans._keep", dies)
        with pytest.raises(KeyboardInterrupt):
            scans.scan_next_asked()
    assert Root.objects.get().scan_pass == stored
    assert not scans.scan_next_asked()  # its claim hasn't lapsed
    Root.objects.update(scan_claimed_at=timezone.now() - scans.SCAN_CLAIM - timedelta(seconds=1))
    while scans.scan_next_asked():
        pass
    assert Finding.objects.count() == 6


def test_a_paused_root_keeps_its_place(turns: None, admin: Actor, root: Root, lake: Path) -> None:
    lay(lake, *(f"t{n}/x.parquet" for n in range(6)))
    scans.ask_scan(admin, root)
    scans.scan_next_asked()
    stored = Root.objects.get().scan_pass
    root_changes.pause(admin, root)
    assert not scans.scan_next_asked()
    root_changes.resume(admin, root)
    assert Root.objects.get().scan_pass == stored
    assert scans.scan_next_asked()


def test_a_schedule_begins_scans_by_itself(admin: Actor, root: Root, lake: Path, write: Callable[..., Any]) -> None:
    assert not scans.scan_next_asked()
    root_changes.change(admin, root, {"scan_hours": 2})
    assert scans.scan_next_asked()
    assert not scans.scan_next_asked()
    Root.objects.update(scanned_at=timezone.now() - timedelta(hours=1, minutes=59))
    assert not scans.scan_next_asked()
    Root.objects.update(scanned_at=timezone.now() - timedelta(hours=2, minutes=1))
    write("new")
    assert scans.scan_next_asked()
    assert Finding.objects.count() == 1
    events = Event.objects.filter(action="root.scan")
    assert [(event.actor_kind, event.after) for event in events] == [("system", {"scan_hours": 2})] * 2
