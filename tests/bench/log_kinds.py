"""How fast logs of several kinds are read, beside `deltalake` in the same run: few files and many, in checkpoints and without.

`python -m tests.bench.log_kinds` measures at full size and writes the section "Reading logs of several kinds" of docs/benchmarks.md;
`--tiny` runs the same steps on small logs in seconds. Each kind is a process of its own, warmed by one reading of either; then ours and the
peer's take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.bench.checkpoint_logs import write_multi_part, write_v2
from tests.bench.document import DOCUMENT, put_into
from tests.bench.logs import write_bare_commits, write_commits

TITLE = "## Reading logs of several kinds"
WHY = """Of a checkpoint Levee does more than deltalake, on one thread. It decodes each footer and page header itself before Arrow may read
them, so that a hostile one can neither fill the memory nor end the process: some microseconds a column, of which a checkpoint of 13 columns
has a hundred in each file. And it writes struct statistics as JSON texts (some 600 bytes a file) into the file that every later
question is answered from; deltalake leaves them as they are, in memory. Where pyarrow alone takes as long as deltalake does for all,
the bar is out of reach for a reader on pyarrow."""


@dataclass(frozen=True)
class Size:
    commits: int
    adds: int  # in each
    parts: int
    files: int  # in each
    pairs: int
    quick_pairs: int


FULL = Size(commits=3_000, adds=100, parts=10, files=5_000, pairs=5, quick_pairs=41)
TINY = Size(commits=20, adds=20, parts=2, files=20, pairs=1, quick_pairs=1)
FEW_PARTS, FEW_FILES = 4, 10


@dataclass(frozen=True)
class Kind:
    what: str
    write: Callable[[Path], None]
    pairs: int
    bar: str


def kinds(size: Size) -> list[Kind]:
    commits, adds, parts, files = size.commits, size.adds, size.parts, size.files
    every, many, few = commits * adds, parts * files, FEW_PARTS * FEW_FILES
    slow, quick = size.pairs, size.quick_pairs
    bare, multi, v2 = f"{every:,} adds without statistics", "multi-part checkpoint", "V2 checkpoint"
    few_parts, few_sidecars = f"{few} files in {FEW_PARTS} parts", f"{few} files in {FEW_PARTS} sidecars"
    return [
        Kind(f"{bare}, in {commits:,} commits", lambda table: write_bare_commits(table, commits, adds), slow, "≤ 0.5"),
        Kind(f"{bare}, in one commit", lambda table: write_bare_commits(table, 1, every), slow, ""),
        Kind(f"{multi}: {many:,} files in {parts} parts", lambda table: write_multi_part(table, parts, files), slow, "≤ 1.0"),
        Kind(f"{multi}: {few_parts}", lambda table: write_multi_part(table, FEW_PARTS, FEW_FILES), quick, "≤ 1.0"),
        Kind(f"{v2}: {many:,} files in {parts} sidecars", lambda table: write_v2(table, parts, files), slow, "≤ 1.0"),
        Kind(f"{v2}: {few_sidecars}", lambda table: write_v2(table, FEW_PARTS, FEW_FILES), quick, "≤ 1.0"),
        Kind("a table of one commit", lambda table: write_commits(table, 1), quick, "≤ 1.0"),
    ]  # fmt: skip


def ours(table: str, state: Path) -> int:
    """First sync: every commit of the history, and the snapshot with its files. Gives their number."""
    from tables.deltalog.replay.log import open_log

    state.unlink(missing_ok=True)
    run = open_log(table).sync(state)
    for _ in run.commits():
        pass
    return run.snapshot().num_files or 0


def peer(table: str, state: Path) -> int:
    """deltalake opens the table, lists its history and gives its files, with their statistics."""
    from deltalake import DeltaTable

    handle = DeltaTable(table)
    handle.history()
    return int(handle.get_add_actions().num_rows)


def arrow(table: str, state: Path) -> int:
    """pyarrow opens each parquet file of the log and reads what ours reads of it: nothing is checked, kept or turned into a state."""
    import pyarrow.parquet as pq

    rows = 0
    for path in Path(table, "_delta_log").rglob("*.parquet"):
        with pq.ParquetFile(path) as file:
            columns = [name for name in file.schema_arrow.names if name != "remove"]
            rows += file.read(columns, use_threads=False).num_rows
    return rows


READERS = (ours, peer)


def take_turns(table: str, state: Path, pairs: int) -> dict[str, list[float]]:
    """Milliseconds of each reading, by reader; who is first changes."""
    times: dict[str, list[float]] = {reader.__name__: [] for reader in (*READERS, arrow)}
    files = {reader(table, state) for reader in READERS}
    for number in range(pairs):
        for reader in READERS if number % 2 == 0 else reversed(READERS):
            files.add(timed(reader, table, state, times))
        timed(arrow, table, state, times)
    assert len(files) == 1, files
    return times


def timed(reader: Callable[[str, Path], int], table: str, state: Path, times: dict[str, list[float]]) -> int:
    start = time.perf_counter()
    result = reader(table, state)
    times[reader.__name__].append((time.perf_counter() - start) * 1000)
    return result


def measure(kind: Kind, folder: Path) -> dict[str, float]:
    """Medians: milliseconds by reader, and the ratio of ours to the peer's."""
    table = folder / "table"
    kind.write(table)
    step = ["--step", str(table), str(folder / "state.arrow"), str(kind.pairs)]
    command = [sys.executable, "-m", "tests.bench.log_kinds", *step]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=DOCUMENT.parents[1])
    times: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    ratios = [mine / theirs for mine, theirs in zip(times["ours"], times["peer"], strict=True)]
    return {name: statistics.median(values) for name, values in times.items()} | {"ratio": statistics.median(ratios)}


def row(kind: Kind, found: dict[str, float]) -> str:
    alone = f"{found['arrow']:,.1f} ms" if "checkpoint" in kind.what else ""
    cells = [
        kind.what,
        f"{found['ours']:,.1f} ms",
        f"{found['peer']:,.1f} ms",
        f"{found['ratio']:.2f}",
        kind.bar,
        alone,
    ]
    return f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")


def run(size: Size) -> str:
    rows = []
    for kind in kinds(size):
        with tempfile.TemporaryDirectory(prefix="levee-bench-") as folder:
            rows.append(row(kind, measure(kind, Path(folder))))
    return f"""{TITLE}

`python -m tests.bench.log_kinds`: first sync (history, state and files) beside deltalake (open, history, add actions), medians of
{size.pairs} interleaved pairs ({size.quick_pairs} of the quick ones), in a process for each kind, on {os.cpu_count()} processors
({platform.machine()}, Python {platform.python_version()}). Checkpoints have struct statistics of 13 columns. "pyarrow alone" opens
the log's parquet files and reads the same columns, no more.
Other work on the machine, as its load average when the run ended: {os.getloadavg()[1]:.1f}.

| kind of log | Levee | deltalake | ratio | bar | pyarrow alone |
|---|---|---|---|---|---|
{chr(10).join(rows)}

{WHY}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="small logs, nothing is written to the document")
    parser.add_argument("--step", nargs=3, metavar=("TABLE", "STATE", "PAIRS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        table, state, pairs = options.step
        print(json.dumps(take_turns(table, Path(state), int(pairs))))
        return
    section = run(TINY if options.tiny else FULL)
    print(section)
    if not options.tiny:
        put_into(DOCUMENT, section, beside="## Reading a log with statistics")


if __name__ == "__main__":
    main()
