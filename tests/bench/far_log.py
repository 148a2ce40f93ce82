"""How fast a log is read from an S3 that answers after 30 ms, beside `deltalake` in the same run.

`python -m tests.bench.far_log` measures at full size and writes "Reading a log over S3" of docs/benchmarks.md; `--tiny` runs the same
steps on a short log. Each measurement is a process of its own; ours and the peer's take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from console.supervisor.tools import PROJECT
from tests.bench import logs, slow_store
from tests.bench.deltalog import Rows, median, peak_mb, ratio
from tests.bench.document import DOCUMENT, put_into

TITLE = "## Reading a log over S3"
DELAY_MS = 30
KEY = "bench"


@dataclass(frozen=True)
class Size:
    commits: int
    pairs: int


FULL = Size(commits=2_000, pairs=3)
TINY = Size(commits=30, pairs=1)


def ours(address: str, state: str) -> dict[str, float]:
    """First sync: every commit of the history, and the snapshot with its files."""
    import pyarrow.compute  # noqa: F401  # the peak before counts what is imported anyway

    from tables.deltalog.replay.log import open_log
    from tables.storage.objects import buckets as object_stores
    from tables.storage.s3.options import S3Options

    object_stores.use(lambda _prefix: S3Options(slow_store.BUCKET, endpoint=address, key_id=KEY, secret=KEY))
    before, start = peak_mb(), time.perf_counter()
    run = open_log(f"s3://{slow_store.BUCKET}/table").sync(Path(state))
    commits = sum(1 for _ in run.commits())
    files = run.snapshot().num_files or 0
    return _row(start, before, commits, files)


def peer(address: str, state: str) -> dict[str, float]:
    """deltalake opens the table, lists its history and gives its files."""
    from deltalake import DeltaTable

    options = {
        "AWS_ENDPOINT_URL": address,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": KEY,
    }
    before, start = peak_mb(), time.perf_counter()
    table = DeltaTable(f"s3://{slow_store.BUCKET}/table", storage_options=options)
    commits = len(table.history())
    return _row(start, before, commits, table.get_add_actions().num_rows)


def _row(start: float, before: float, commits: int, files: int) -> dict[str, float]:
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "added_mb": peak_mb() - before, "commits": commits, "files": files}


STEPS = {"ours": ours, "peer": peer}


def measure(step: str, address: str, state: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.far_log", "--step", step, address, str(state)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=PROJECT)
    row: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return row


def run(size: Size) -> str:
    with tempfile.TemporaryDirectory(prefix="levee-bench-") as folder:
        lake = Path(folder) / "lake"
        logs.write_wide_commits(lake / "table", size.commits)
        with slow_store.serving(lake, DELAY_MS) as address:
            mine, theirs = _pairs(address, Path(folder) / "state.arrow", size)
    return report(size, mine, theirs)


def _pairs(address: str, state: Path, size: Size) -> tuple[Rows, Rows]:
    rows: dict[str, Rows] = {"ours": [], "peer": []}
    for number in range(size.pairs):
        for step in sorted(rows, reverse=bool(number % 2)):
            rows[step].append(measure(step, address, state))
    seen = {(row["commits"], row["files"]) for each in rows.values() for row in each}
    assert seen == {(size.commits, size.commits * 3)}
    return rows["ours"], rows["peer"]


def report(size: Size, mine: Rows, theirs: Rows) -> str:
    return f"""{TITLE}

`python -m tests.bench.far_log`: {size.commits:,} commits of three files each, with statistics of 13 columns, on a store that answers each
request after {DELAY_MS} ms; medians of {size.pairs} interleaved pairs, each measurement in a process of its own.
Other work on the machine, as its load average when the run ended: {os.getloadavg()[1]:.1f}.

| first sync: history, state and files | Levee | deltalake (open, history, add actions) | ratio | bar |
|---|---|---|---|---|
| time | {median(mine, "seconds"):.1f} s | {median(theirs, "seconds"):.1f} s | {ratio(mine, theirs, "seconds"):.2f} | ≤ 0.5 |
| added peak memory | {median(mine, "added_mb"):.0f} MB | {median(theirs, "added_mb"):.0f} MB | | |
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="a short log, nothing is written to the document")
    parser.add_argument("--step", nargs=3, metavar=("STEP", "ADDRESS", "STATE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        step, address, state = options.step
        print(json.dumps(STEPS[step](address, state)))
        return
    section = run(TINY if options.tiny else FULL)
    print(section)
    if not options.tiny:
        put_into(DOCUMENT, section)


if __name__ == "__main__":
    main()
