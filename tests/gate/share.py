"""A share of the tests: whole files, always the same ones in the same order, so that no run's order depends on how fast another part was.

A plugin of pytest: `-p tests.gate.share --share 1/2`. Files of other shares aren't even loaded: that took a quarter of a minute.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.gate import weights


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--share", metavar="N/OF", help="run the files of this share alone")


def pytest_configure(config: pytest.Config) -> None:
    asked = config.getoption("--share")
    if asked:
        number, of = map(int, asked.split("/"))
        found = (config.rootpath / "tests").rglob("test_*.py")
        files = [path.relative_to(config.rootpath).as_posix() for path in found]
        mine = files_of(weights.of_files(files, weights.kept()), number, of)
        config.pluginmanager.register(_Share({config.rootpath / file for file in mine}), "share")


class _Share:
    def __init__(self, files: set[Path]) -> None:
        self._files = files

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """None leaves it to pytest's own rules."""
        return True if collection_path.suffix == ".py" and collection_path not in self._files else None


def files_of(files: Mapping[str, float], number: int, of: int) -> set[str]:
    """The files of one share, given how long each takes: the longest first, each to the share that has least to do so far."""
    shares: list[set[str]] = [set() for _ in range(of)]
    sizes = [0.0] * of
    for file, seconds in sorted(files.items(), key=lambda each: (-each[1], each[0])):
        least = sizes.index(min(sizes))
        shares[least].add(file)
        sizes[least] += seconds
    return shares[number - 1]
