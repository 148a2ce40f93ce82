"""What runs: the gate's lanes, and those of everything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.gate.lanes import Lane
from tests.gate.promises import heavy_lanes

# Of figures, long lives, other machines and pictures: none of their tests is in the gate but by name (tests/gate/promises.py).
BEYOND = ("tests/bench", "tests/cluster", "tests/containers", "tests/pictures", "tests/soak")
IS_LIGHT = "not spark and not browser and not servers"
LIGHT_MINUTES = 10.0
ENOUGH_OF_LIGHT = 5


def light_lane(workers: int) -> Lane:
    """All tests without Spark, browser and servers; they stop after five failures.

    A process that dies fails its test, and another goes on.
    """
    ignored = [f"--ignore={folder}" for folder in BEYOND]
    options = (
        "-n",
        str(workers),
        "--dist",
        "worksteal",
        "--max-worker-restart",
        "2",
        "--maxfail",
        str(ENOUGH_OF_LIGHT),
    )
    return Lane("light", ("-m", IS_LIGHT, *ignored), LIGHT_MINUTES, options)


def gate() -> Sequence[Lane]:
    """The heavy lanes of the gate."""
    return heavy_lanes()


def by_file(tests: Iterable[str]) -> list[Lane]:
    """A second try: a fresh process for each file of these tests."""
    files: dict[str, list[str]] = {}
    for test in tests:
        files.setdefault(test.partition("::")[0], []).append(test)
    return [Lane(f"again-{number}", tuple(each), 5.0) for number, each in enumerate(files.values(), 1)]
