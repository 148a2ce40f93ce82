"""How fast a log is read, beside `deltalake` in the same run.

`python -m tests.bench.deltalog` measures at full size and writes the sections "Reading the log" and "Reading a log with statistics" of
docs/benchmarks.md; `--statistics` only the latter, `--tiny` runs the same steps on a small log in seconds. Every measurement is a process
of its own, so that its peak memory is its own; ours and the peer's take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.bench import logs
from tests.bench.document import DOCUMENT, put_into

TITLE = "## Reading the log"
STATISTICS_TITLE = "## Reading a log with statistics"


@dataclass(frozen=True)
class Size:
    commits: int
    files: int
    pairs: int


FULL = Size(commits=20_000, files=1_000_000, pairs=5)
TINY = Size(commits=200, files=2_000, pairs=1)


def peak_mb() -> float:
    """This process's own peak memory."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) / 1024


def ours(table: str, state: str) -> dict[str, float]:
    """First sync: every commit of the history, and the snapshot with its files."""
    import pyarrow.compute  # noqa: F401  # the peak before counts what is imported anyway

    from tables.deltalog.replay.log import open_log
    from tables.record.file_layout import summarize

    before, start, began = peak_mb(), time.perf_counter(), time.process_time()
    run = open_log(table).sync(Path(state))
    commits = sum(1 for _ in run.commits())
    snapshot = run.snapshot()
    seconds, peak, cpu = time.perf_counter() - start, peak_mb(), time.process_time()
    start = time.perf_counter()
    layout = summarize(snapshot)
    return {
        "seconds": seconds,
        "cpu": cpu,
        "work": cpu - began,
        "added_mb": peak - before,
        "peak_mb": peak,
        "commits": commits,
        "files": layout["num_files"],
        "layout_ms": (time.perf_counter() - start) * 1000,
    }


def peer(table: str, state: str) -> dict[str, float]:
    """deltalake opens the table and lists its history."""
    from deltalake import DeltaTable

    before, start = peak_mb(), time.perf_counter()
    handle = DeltaTable(table)
    opened = time.perf_counter() - start
    commits = len(handle.history())
    return {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time(),
        "opened": opened,
        "added_mb": peak_mb() - before,
        "peak_mb": peak_mb(),
        "commits": commits,
    }


def peer_files(table: str, state: str) -> dict[str, float]:
    """deltalake opens the table, lists its history and gives its files, which is what ours has when it is done."""
    from deltalake import DeltaTable

    before, start, began = peak_mb(), time.perf_counter(), time.process_time()
    handle = DeltaTable(table)
    commits = len(handle.history())
    files = handle.get_add_actions().num_rows
    return {
        "seconds": time.perf_counter() - start,
        "work": time.process_time() - began,
        "added_mb": peak_mb() - before,
        "commits": commits,
        "files": files,
    }


def again(table: str, state: str) -> dict[str, float]:
    """The next sync: one commit came since."""
    import pyarrow.compute  # noqa: F401

    from tables.deltalog.replay.log import open_log
    from tables.deltalog.state.snapshot import load

    start = time.perf_counter()
    run = open_log(table).sync(Path(state), load(Path(state)))
    commits = sum(1 for _ in run.commits())
    snapshot = run.snapshot()
    return {"seconds": time.perf_counter() - start, "commits": commits, "files": snapshot.num_files or 0}


STEPS: dict[str, Callable[[str, str], dict[str, float]]] = {
    "ours": ours,
    "peer": peer,
    "peer_files": peer_files,
    "again": again,
}


def measure(step: str, table: Path, state: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.deltalog", "--step", step, str(table), str(state)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=DOCUMENT.parents[1])
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def median(rows: list[dict[str, float]], name: str) -> float:
    return statistics.median(row[name] for row in rows)


Rows = list[dict[str, float]]


def pairs(table: Path, state: Path, size: Size, step: str) -> tuple[Rows, Rows]:
    """Ours and the peer's, taking turns at being first."""
    mine: Rows = []
    theirs: Rows = []
    for number in range(size.pairs):
        pair = [("ours", mine), (step, theirs)]
        for name, rows in pair if number % 2 == 0 else reversed(pair):
            rows.append(measure(name, table, state))
    assert {row["commits"] for row in mine} == {row["commits"] for row in theirs} == {size.commits}
    return mine, theirs


def ratio(mine: Rows, theirs: Rows, name: str) -> float:
    return statistics.median(a[name] / b[name] for a, b in zip(mine, theirs, strict=True))


def log_with_statistics(folder: Path, size: Size) -> dict[str, float]:
    """A log whose commits add three files each, with statistics of thirteen columns."""
    table = folder / "statistics"
    logs.write_wide_commits(table, size.commits)
    mine, theirs = pairs(table, folder / "statistics.arrow", size, "peer_files")
    assert {row["files"] for row in mine} == {row["files"] for row in theirs} == {size.commits * 3}
    return {
        "ratio": ratio(mine, theirs, "seconds"),
        "work_ratio": ratio(mine, theirs, "work"),
        **{name: median(mine, name) for name in ("seconds", "work", "added_mb")},
        **{f"peer_{name}": median(theirs, name) for name in ("seconds", "work", "added_mb")},
    }


def long_log(folder: Path, size: Size) -> dict[str, float]:
    """A log of many commits without a checkpoint."""
    table, state = folder / "long", folder / "long.arrow"
    logs.write_commits(table, size.commits)
    next_ones: Rows = []
    mine, theirs = pairs(table, state, size, "peer")
    for number in range(size.pairs):
        logs.write_commit(table, size.commits + number)
        next_ones.append(measure("again", table, state))
    assert {row["commits"] for row in next_ones} == {1}
    return {
        "seconds": median(mine, "seconds"),
        "peer": median(theirs, "seconds"),
        "ratio": ratio(mine, theirs, "seconds"),
        "cpu": median(mine, "cpu"),
        "peer_cpu": median(theirs, "cpu"),
        "added_mb": median(mine, "added_mb"),
        "peer_mb": median(theirs, "added_mb"),
        "again_ms": median(next_ones, "seconds") * 1000,
    }


def many_files(folder: Path, size: Size) -> dict[str, float]:
    """A checkpoint of many live files."""
    table, state = folder / "wide", folder / "wide.arrow"
    logs.write_checkpoint(table, size.files)
    rows = [measure("ours", table, state) for _ in range(max(1, size.pairs // 2))]
    assert {row["files"] for row in rows} == {size.files}
    return {name: median(rows, name) for name in ("seconds", "peak_mb", "layout_ms")}


def report(size: Size, long: dict[str, float], wide: dict[str, float]) -> str:
    processors = os.cpu_count()
    return f"""{TITLE}

`python -m tests.bench.deltalog`: medians of {size.pairs} interleaved pairs, each measurement in a process of its own, on
{processors} processors ({platform.machine()}, Python {platform.python_version()}). Added memory is the peak above what the imports took.
Other work on the machine, as its load average when the run ended: {os.getloadavg()[1]:.1f}.

| {size.commits:,} commits without a checkpoint | Levee | deltalake | bar |
|---|---|---|---|
| first sync: history and state (deltalake: open and list the history) | {long["seconds"]:.2f} s | {long["peer"]:.2f} s | ratio ≤ 0.25 |
| ratio, median of the pairs | {long["ratio"]:.2f} | | ≤ 0.25 |
| processor time, imports included | {long["cpu"]:.2f} s | {long["peer_cpu"]:.2f} s | |
| added peak memory | {long["added_mb"]:.0f} MB | {long["peer_mb"]:.0f} MB | ≤ 40 MB |
| next sync after one more commit | {long["again_ms"]:.0f} ms | | ≤ 50 ms |

| {size.files:,} live files in a checkpoint | Levee | bar |
|---|---|---|
| first sync | {wide["seconds"]:.1f} s | ≤ 20 s |
| peak memory | {wide["peak_mb"]:.0f} MB | ≤ 600 MB |
| layout from the saved files, as the catalog stores it | {wide["layout_ms"]:.0f} ms | ≤ 300 ms |
"""


def report_statistics(size: Size, found: dict[str, float]) -> str:
    rows = [
        ("history, state and files (deltalake: open, history, add actions)", "seconds", f"{found['ratio']:.2f}"),
        ("processor time", "work", f"{found['work_ratio']:.2f}"),
    ]
    times = [
        f"| {what} | {found[name]:.2f} s | {found[f'peer_{name}']:.2f} s | {share} | ≤ 0.25 |"
        for what, name, share in rows
    ]
    return f"""{STATISTICS_TITLE}

`python -m tests.bench.deltalog --statistics`: medians of {size.pairs} interleaved pairs, each measurement in a process of its own, on
{os.cpu_count()} processors ({platform.machine()}, Python {platform.python_version()}).
Added memory is the peak above what the imports took; processor time is without imports.
Other work on the machine, as its load average when the run ended: {os.getloadavg()[1]:.1f}.

| {size.commits:,} commits of three files each, with statistics of 13 columns | Levee | deltalake | ratio | bar |
|---|---|---|---|---|
{chr(10).join(times)}
| added peak memory | {found["added_mb"]:.0f} MB | {found["peer_added_mb"]:.0f} MB | | ≤ 40 MB |
"""


def run(size: Size) -> str:
    with tempfile.TemporaryDirectory(prefix="levee-bench-") as folder:
        return report(size, long_log(Path(folder), size), many_files(Path(folder), size))


def run_statistics(size: Size) -> str:
    with tempfile.TemporaryDirectory(prefix="levee-bench-") as folder:
        return report_statistics(size, log_with_statistics(Path(folder), size))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="a small log, nothing is written to the document")
    parser.add_argument("--statistics", action="store_true", help="the log with statistics alone")
    parser.add_argument("--step", nargs=3, metavar=("STEP", "TABLE", "STATE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        step, table, state = options.step
        print(json.dumps(STEPS[step](table, state)))
        return
    size = TINY if options.tiny else FULL
    for measured in (run_statistics,) if options.statistics else (run, run_statistics):
        section = measured(size)
        print(section)
        if not options.tiny:
            put_into(DOCUMENT, section)


if __name__ == "__main__":
    main()
