"""A share of the tests: whole files, always the same ones in the same order, so that no run's order depends on how fast another part was.

A plugin of pytest: `-p tests.gate.share --share 1/2`.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.gate import weights


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--share", metavar="N/OF", help="run the files of this share alone")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """After everything else has chosen and ordered."""
    asked = config.getoption("--share")
    if asked:
        number, of = map(int, asked.split("/"))
        files = weights.of_files((item.location[0] for item in items), weights.kept())
        mine = files_of(files, number, of)
        left_out = [item for item in items if item.location[0] not in mine]
        items[:] = [item for item in items if item.location[0] in mine]
        config.hook.pytest_deselected(items=left_out)


def files_of(files: Mapping[str, float], number: int, of: int) -> set[str]:
    """The files of one share, given how long each takes: the longest first, each to the share that has least to do so far."""
    shares: list[set[str]] = [set() for _ in range(of)]
    sizes = [0.0] * of
    for file, seconds in sorted(files.items(), key=lambda each: (-each[1], each[0])):
        least = sizes.index(min(sizes))
        shares[least].add(file)
        sizes[least] += seconds
    return shares[number - 1]
