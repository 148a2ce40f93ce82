"""A table with old files: removed 20 days ago, 3 days ago, and a day ago."""

import json
import os
import time
from pathlib import Path

import pytest

from tests import factories
from tests.jobs import small_delta

DAYS = {0: 30, 1: 20, 2: 3, 3: 1}


def grow_old(path: Path, days: dict[int, float] | None = None) -> None:
    """Makes the versions of a small table, their files and tombstones as many days old."""
    for version, ago in (days or DAYS).items():
        at = time.time() - ago * 86_400
        commit = path / "_delta_log" / f"{version:020d}.json"
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for action in actions:
            if "remove" in action:
                action["remove"]["deletionTimestamp"] = int(at * 1000)
                action["remove"]["size"] = (path / action["remove"]["path"]).stat().st_size
            if "add" in action:
                os.utime(path / action["add"]["path"], (at, at))
            if "commitInfo" in action:
                action["commitInfo"]["timestamp"] = int(at * 1000)
        commit.write_text("\n".join(map(json.dumps, actions)))
        os.utime(commit, (at, at))


def old_table(path: Path, properties: dict[str, str] | None = None) -> None:
    """Version 0 has two files; each of 1 to 3 joins all files into two new ones."""
    small_delta.create(path, [{"id": n, "p": "FR" if n % 2 else "DE"} for n in range(10)], properties)
    for _ in range(3):
        small_delta.compact(path)
    grow_old(path)


@pytest.fixture
def sales(db, tmp_path):
    root = factories.RootFactory(uri=str(tmp_path))
    old_table(tmp_path / "sales")
    return factories.TableFactory(root=root, path=str(tmp_path / "sales"), name="sales")
