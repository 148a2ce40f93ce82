"""Which files have light tests and which have heavy ones, and which of these share a process.

A plugin of pytest: `-p tests.gate.survey --survey=FILE`. It writes `{"light": {file: tests}, "heavy": {file: lane}}`, where a lane is the
name that files share, or the file itself.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.lanes import HEAVY, lane_of


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--survey", metavar="FILE", help="write which files have light and heavy tests into FILE")


def pytest_collection_finish(session: pytest.Session) -> None:
    place = session.config.getoption("--survey")
    if place:
        light: Counter[str] = Counter()
        heavy: dict[str, str] = {}
        for item in session.items:
            file = item.location[0]
            if any(item.get_closest_marker(name) for name in HEAVY):
                heavy[file] = lane_of(item)
            else:
                light[file] += 1
        Path(place).write_text(json.dumps({"light": light, "heavy": heavy}))
