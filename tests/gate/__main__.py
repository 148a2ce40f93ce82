"""`make test`: runs the gate. The light tests first, then each heavy lane by itself, then second tries."""

from __future__ import annotations

import argparse
import sys
import time

from tests.gate import folder, lanes, plan, promises, verdict, weights


def main() -> int:
    """0 when the gate has passed."""
    parser = argparse.ArgumentParser(prog="tests.gate", description=__doc__)
    parser.add_argument("--workers", type=int, default=2, help="processes of the light tests")
    asked = parser.parse_args()
    began, of_tree = time.monotonic(), verdict.tree()
    with folder.opened() as place:

        def run(lane: lanes.Lane) -> lanes.Result:
            print(f"\n==== {lane.name}, about {lane.minutes:g} min ====", flush=True)
            return lanes.run(lane, place)

        found = verdict.judged(plan.light_lanes(asked.workers), promises.heavy_lanes(), run)
    seconds = time.monotonic() - began
    verdict.keep(found, seconds, of_tree if of_tree == verdict.tree() else None)
    # The light ones come first.
    weights.remember({file: s for result in found.results[: asked.workers] for file, s in result.took.items()})
    print("\n".join(["", *verdict.told(found, seconds)]), flush=True)
    return 0 if found.passed else 1


if __name__ == "__main__":
    sys.exit(main())
