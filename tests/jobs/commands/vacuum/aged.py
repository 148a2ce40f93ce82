"""Delta tables that look as if they had been written days ago: a copy of one, its log and its files made older."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

DAY_MS = 86_400_000


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def aged(source: Path, target: Path, days_ago: Callable[[int], float]) -> Path:
    """A copy in which version v was committed `days_ago(v)` days ago, with its files. Checkpoints are left out."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.checkpoint*", "_last_checkpoint", "*.crc"))
    for path in target.rglob("*"):  # what no commit names is as old as the oldest
        if path.is_file():
            _touch(path, now_ms() - int(days_ago(0) * DAY_MS))
    for path in sorted((target / "_delta_log").glob("*.json")):
        at = now_ms() - int(days_ago(int(path.stem)) * DAY_MS)
        actions = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("\n".join(json.dumps(_older(action, target, at)) for action in actions))
        _touch(path, at)
    return target


def _older(action: dict[str, Any], table: Path, at: int) -> dict[str, Any]:
    for kind in ("add", "cdc"):
        if kind in action:
            _touch(table / action[kind]["path"], at)
    if "add" in action:
        action["add"]["modificationTime"] = at
    if "remove" in action:
        action["remove"]["deletionTimestamp"] = at
    if "commitInfo" in action:
        action["commitInfo"]["timestamp"] = at
    return action


def _touch(path: Path, at: int) -> None:
    os.utime(path, (at / 1000, at / 1000))
