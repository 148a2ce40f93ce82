"""A delete over 1 GB in 500 files by the engine on a Spark cluster, against raw `DeltaTable.delete` by the same driver and executors.

`python -m tests.bench.cluster_delete` starts the daemons that `make cluster` starts (a master, two workers), measures interleaved pairs and
writes "Delete on a cluster" of docs/benchmarks.md. `--tiny` does one pair on a few rows; `--cluster ADDRESS` takes a cluster that runs,
with its secret in LEVEE_SPARK_SECRET.
"""

from __future__ import annotations

import argparse
import os
import sys

from tests.bench import cluster, delete
from tests.bench.document import DOCUMENT, figures_of, put_into
from tests.bench.engines import measured_engine

TITLE = "## Delete on a cluster"
BAR = 1.05


def run(pairs: int, rows: int, files: int, address: str) -> list[dict[str, float]]:
    """The pairs, in seconds; the table lies in a directory that driver and executors see alike."""
    with cluster.running(address) as on, measured_engine(on) as (engine, top):
        return delete.run(engine, top / "table", delete.large_case(rows), pairs, rows, files)


def ratio(pairs: list[dict[str, float]]) -> float:
    return delete.median(pairs, lambda each: each["engine"] / each["raw"])


def report(pairs: list[dict[str, float]]) -> str:
    """The section of the document, with the same delete as the embedded bench has it."""
    engine, raw = (delete.median(pairs, lambda each, name=name: each[name]) for name in ("engine", "raw"))  # type: ignore[misc]
    embedded = figures_of(DOCUMENT, delete.TITLE).get(delete.LARGE, ["", "", ""])
    return (
        f"{TITLE}\n\n`python -m tests.bench.cluster_delete`: a part of 1 GB in {delete.LARGE_FILES} files, {cluster.ON};"
        f" medians of {len(pairs)} interleaved pairs, the driver warm,"
        f" {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the end. Raw is `DeltaTable.delete` with the same settings.\n\n"
        "| where | raw | engine | engine / raw | bar |\n|---|---|---|---|---|\n"
        f"| on the cluster | {raw * 1000:.0f} ms | {engine * 1000:.0f} ms | {ratio(pairs):.2f} | ≤ {BAR} |\n"
        f"| embedded | {' | '.join(embedded[:3])} | |\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.cluster_delete", description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--tiny", action="store_true")
    cluster.add_argument(parser, default=cluster.OWN)
    asked = parser.parse_args()
    if asked.tiny:
        print(report(run(1, delete.TINY_ROWS, delete.FILES, asked.cluster)))
        return
    pairs = run(asked.pairs, delete.LARGE_ROWS, delete.LARGE_FILES, asked.cluster)
    section = report(pairs)
    print(section)
    put_into(DOCUMENT, section, beside=delete.TITLE)
    if ratio(pairs) > BAR:
        sys.exit("a bar was missed")


if __name__ == "__main__":
    main()
