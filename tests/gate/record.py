"""Writes down what a test process means to run and how each test ends, as it happens: a process that dies leaves a true record.

A plugin of pytest: `-p tests.gate.record --record FILE`. The file has a JSON object a line: first `{"planned": [ids]}`, then
`{"began": id}` and `{"ended": id, "outcome", "seconds", "text"}` for each test, where an outcome is `passed`, `failed` or `skipped`, and
`text` the failure's own words or the reason of a skip.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", metavar="FILE", help="write what is planned and how each test ends into FILE")


def pytest_configure(config: pytest.Config) -> None:
    place = config.getoption("--record")
    if place:
        config.pluginmanager.register(_Record(Path(place)), "record")


class _Record:
    def __init__(self, place: Path) -> None:
        self._file = place.open("a")
        self._parts: dict[str, list[pytest.TestReport]] = {}

    def _write(self, **line: Any) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.items:
            self._write(planned=[item.nodeid for item in session.items])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._write(began=nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test has up to three parts and has ended with its teardown."""
        parts = self._parts.setdefault(report.nodeid, [])
        parts.append(report)
        if report.when == "teardown":
            self._write(ended=report.nodeid, **_told(self._parts.pop(report.nodeid)))

    def pytest_unconfigure(self) -> None:
        self._file.close()


def _told(parts: list[pytest.TestReport]) -> dict[str, Any]:
    failed = [part for part in parts if part.failed]
    worst = next(iter(failed or [part for part in parts if part.skipped]), None)
    return {
        "outcome": worst.outcome if worst else "passed",
        "seconds": round(sum(part.duration for part in parts), 3),
        "text": worst.longreprtext if worst else "",
    }


def read(place: Path) -> Iterator[dict[str, Any]]:
    """The lines of a record; none without a file. A line that was cut off as its process died is left out."""
    if place.is_file():
        for line in place.read_text().splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                yield json.loads(line)
