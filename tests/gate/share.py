"""A share of the tests: whole files, always the same ones in the same order, so that no run's order depends on how fast another part was.

A plugin of pytest: `-p tests.gate.share --share 1/2`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--share", metavar="N/OF", help="run the files of this share alone")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """After everything else has chosen and ordered."""
    asked = config.getoption("--share")
    if asked:
        number, of = map(int, asked.split("/"))
        mine = files_of((item.location[0] for item in items), number, of)
        left_out = [item for item in items if item.location[0] not in mine]
        items[:] = [item for item in items if item.location[0] in mine]
        config.hook.pytest_deselected(items=left_out)


def files_of(tests: Iterable[str], number: int, of: int) -> set[str]:
    """The files of one share, given the file of each test: the largest first, each to the share that has the fewest tests so far."""
    shares: list[set[str]] = [set() for _ in range(of)]
    sizes = [0] * of
    for file, count in sorted(Counter(tests).items(), key=lambda each: (-each[1], each[0])):
        least = sizes.index(min(sizes))
        shares[least].add(file)
        sizes[least] += count
    return shares[number - 1]
