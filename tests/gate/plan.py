"""How light tests and second tries are laid out in lanes; the heavy lanes are in tests/gate/promises.py."""

from __future__ import annotations

from collections.abc import Iterable

from tests.gate.lanes import Lane
from tests.lanes import IS_HEAVY

# Of figures, long lives, other machines and pictures: none of their tests is in the gate but by name (tests/gate/promises.py).
BEYOND = ("tests/bench", "tests/cluster", "tests/containers", "tests/pictures", "tests/soak")
IS_LIGHT = f"not ({IS_HEAVY}) and not dear"
LIGHT_MINUTES = 8.0
ENOUGH_OF_LIGHT = 5


def light_lanes(shares: int) -> list[Lane]:
    """All tests without Spark, browser and servers, in so many processes side by side; each stops after five failures."""
    chosen = ("-m", IS_LIGHT, *(f"--ignore={folder}" for folder in BEYOND))
    options = ("-n", "0", "--maxfail", str(ENOUGH_OF_LIGHT), "-p", "tests.gate.share", "--share")
    return [
        Lane(f"light-{number}", chosen, LIGHT_MINUTES * 2 / shares, (*options, f"{number}/{shares}"))
        for number in range(1, shares + 1)
    ]


def by_file(tests: Iterable[str]) -> list[Lane]:
    """A second try: a fresh process for each file of these tests."""
    files: dict[str, list[str]] = {}
    for test in tests:
        files.setdefault(test.partition("::")[0], []).append(test)
    return [Lane(f"again-{number}", tuple(each), 5.0) for number, each in enumerate(files.values(), 1)]
