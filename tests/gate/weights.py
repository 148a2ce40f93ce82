"""How long the tests of each file take, alone on two quiet cores: what the processes are balanced by until a run here knows better.

`python -m tests.gate.weights` renews them from the last run of the gate, and those of heavy tests from the last one of everything. They
may be out of date: a process takes longer then, and is as sound.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.gate.folder import RESULTS

KEPT = Path(__file__).with_name("weights.json")
HEAVY_KEPT = Path(__file__).with_name("heavy_weights.json")
MEASURED = RESULTS / "seconds.json"
EVERYTHING = RESULTS / "all.json"
LEAST_S = 1.0  # of a file that is named
OF_ANOTHER_S = 0.3


def kept(place: Path = KEPT) -> dict[str, float]:
    """Seconds by file: of its light tests, or with HEAVY_KEPT of its heavy ones."""
    return dict(json.loads(place.read_text()))


def of_files(files: Iterable[str], known: Mapping[str, float]) -> dict[str, float]:
    """Seconds by file."""
    return {file: known.get(file, OF_ANOTHER_S) for file in files}


def remember(took: Mapping[str, float]) -> None:
    """Keeps what a run has measured, until it is asked for."""
    MEASURED.parent.mkdir(exist_ok=True)
    MEASURED.write_text(json.dumps(took))


def keep(place: Path, took: Mapping[str, float]) -> None:
    """Writes those of files that take long enough to count."""
    named = {file: round(s, 1) for file, s in sorted(took.items()) if s >= LEAST_S}
    place.write_text(json.dumps(named, indent=1) + "\n")


def main() -> int:
    """0, or 2 while nothing has been measured."""
    if not MEASURED.is_file() and not EVERYTHING.is_file():
        print("nothing was measured here yet: run `make test`, then `make weights`", file=sys.stderr)
        return 2
    if MEASURED.is_file():
        keep(KEPT, json.loads(MEASURED.read_text()))
    if EVERYTHING.is_file():
        heavy = json.loads(EVERYTHING.read_text()).get("heavy", {})
        keep(HEAVY_KEPT, {file: found["seconds"] for file, found in heavy.items()})
    return 0


if __name__ == "__main__":
    sys.exit(main())
