"""How long the tests of each file take, alone on two quiet cores: what shares of the light tests are balanced by.

`python -m tests.gate.weights` renews them from the last run of the gate. They may be out of date: a share is longer then, and as sound.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.gate.folder import RESULTS

KEPT = Path(__file__).with_name("weights.json")
MEASURED = RESULTS / "seconds.json"
LEAST_S = 1.0  # of a file that is named
OF_ANOTHER_S = 0.3


def kept() -> dict[str, float]:
    """Seconds by file."""
    return dict(json.loads(KEPT.read_text()))


def of_files(files: Iterable[str], known: Mapping[str, float]) -> dict[str, float]:
    """Seconds by file."""
    return {file: known.get(file, OF_ANOTHER_S) for file in files}


def remember(took: Mapping[str, float]) -> None:
    """Keeps what a run has measured, until it is asked for."""
    MEASURED.parent.mkdir(exist_ok=True)
    MEASURED.write_text(json.dumps(took))


def main() -> int:
    """0, or 2 while nothing has been measured."""
    if not MEASURED.is_file():
        print("nothing was measured here yet: run `make test`, then `make weights`", file=sys.stderr)
        return 2
    named = {file: round(s, 1) for file, s in sorted(json.loads(MEASURED.read_text()).items()) if s >= LEAST_S}
    KEPT.write_text(json.dumps(named, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
