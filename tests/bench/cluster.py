"""The Spark cluster that a bench measures on, when it is asked for with `--cluster`: the daemons that `make cluster` starts."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from jobs.engine.config import Cluster
from tests.cluster import standalone

WORKERS = 2
OWN = "own"
ON = f"on a standalone master with {WORKERS} workers of this machine and an executor on each"


def add_argument(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """`--cluster`: a cluster of the bench's own, or with an ADDRESS one that runs, with its secret in LEVEE_SPARK_SECRET."""
    parser.add_argument("--cluster", nargs="?", metavar="ADDRESS", const=OWN, default=default)


@contextmanager
def running(asked: str | None) -> Iterator[Cluster | None]:
    """What `--cluster` says: None without it, a cluster of the bench's own until the end of the block, or one core of another."""
    if asked is None:
        yield None
    elif asked != OWN:
        yield Cluster(asked, os.environ["LEVEE_SPARK_SECRET"], "512m", 1, 1)
    else:
        with (
            TemporaryDirectory(prefix="levee-bench-") as top,
            standalone.running(Path(top) / "cluster", WORKERS) as made,
        ):
            yield Cluster(made.address, made.secret, "1g", 1, WORKERS)
