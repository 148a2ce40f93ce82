"""How fast the log answers what a predicate would touch.

`python -m tests.bench.preview` measures at full size and writes the section "The log's preview" of docs/benchmarks.md; `--tiny` runs the
same steps on a small log in seconds. A cold preview is a process of its own that reads the log first.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench import logs
from tests.bench.document import put_into

DOCUMENT = Path(__file__).parents[2] / "docs" / "benchmarks.md"
TITLE = "## The log’s preview"
FULL, TINY = 100_000, 2_000
TIMES = 9
PREDICATES = {
    "whole table": None,
    "a partition": "day = 'day-007'",
    "partitions, worked out": "lower(day) LIKE '%-00_'",
    "one key": "id = 12345",
    "keys and text": "id BETWEEN 1000 AND 900000 AND (name LIKE 'name 9%' OR name IS NULL) AND NOT (day = 'day-001')",
    "1,000 keys": f"id IN ({', '.join(str(number * 997) for number in range(1_000))})",
}


def predict_once(files: Path, text: str | None) -> tuple[float, int]:
    """Milliseconds from the text to the prediction, with the live files mapped; and the files that may match."""
    from jobs.predicates.reading import parse
    from jobs.predicates.table_schema import schema_of
    from jobs.pruning.prediction import see
    from tables.deltalog.rules.schema import parse_schema
    from tables.deltalog.state.snapshot import load

    snapshot = load(files)
    assert snapshot.metadata
    start = time.perf_counter()
    struct = parse_schema(snapshot.metadata.schema_json)
    schema = schema_of(struct)
    found, _, _ = see(snapshot, struct, schema, None if text is None else parse(text, schema))
    return (time.perf_counter() - start) * 1000, found.files_matched


def cold(table: str, files: str) -> float:
    """Seconds of a preview that has to read the log first."""
    from tables.deltalog.replay.log import open_log

    start = time.perf_counter()
    open_log(table).snapshot(None, Path(files))
    predict_once(Path(files), PREDICATES["keys and text"])
    return time.perf_counter() - start


def measure_cold(table: Path, files: Path) -> float:
    command = [sys.executable, "-m", "tests.bench.preview", "--cold", str(table), str(files)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=DOCUMENT.parents[1])
    return float(json.loads(done.stdout))


def run(count: int, times: int) -> str:
    with tempfile.TemporaryDirectory(prefix="levee-bench-") as folder:
        table, files = Path(folder) / "wide", Path(folder) / "wide.arrow"
        logs.write_checkpoint(table, count)
        seconds = statistics.median(measure_cold(table, files) for _ in range(3))
        rows = [row(name, [predict_once(files, text) for _ in range(times)]) for name, text in PREDICATES.items()]
    load = f"{os.getloadavg()[0]:.1f}"
    how = f"`python -m tests.bench.preview`: {count:,} live files, medians of {times}, on {os.cpu_count()} processors under a load average"
    how += f' of {load}. "In memory" is with the live-files file mapped.'
    lines = "\n".join([*rows, f"| cold: the log is read first, in a process of its own | {seconds:.2f} s | | ≤ 3 s |"])
    return f"{TITLE}\n\n{how}\n\n| predicate | Levee | files that may match | bar |\n|---|---|---|---|\n{lines}\n"


def row(name: str, found: list[tuple[float, int]]) -> str:
    return f"| {name} | {statistics.median(ms for ms, _ in found):.0f} ms | {found[0][1]:,} | ≤ 300 ms |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="a small log, nothing is written to the document")
    parser.add_argument("--cold", nargs=2, metavar=("TABLE", "FILES"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cold:
        print(json.dumps(cold(*options.cold)))
        return
    section = run(TINY, 3) if options.tiny else run(FULL, TIMES)
    print(section)
    if not options.tiny:
        put_into(DOCUMENT, section)


if __name__ == "__main__":
    main()
