"""One JVM for the whole run of tests; directories of parquet are written by pyarrow, tables by Delta itself.

Spark is imported by the fixtures that need it: `tests` has its JVM, `tests/jobs` has them all, and most of their tests start none.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from jobs.commands.convert.rules import Convert
from jobs.domain.engine import UNCHECKED, Marks
from tests.jobs.engine.lake import Recorder

if TYPE_CHECKING:
    from jobs.engine.runtime import Runtime
    from jobs.worker.spark_engine import SparkEngine

TOOLS = Path(__file__).parents[3] / ".tools"
NUMBERS = itertools.count(1)
# Of a machine whose JVM has 2 GiB: the logs and sessions of the hundreds of tables of a run fill the half of it.
MEMORY_BYTES = 16 << 30


def conf_for_tests(scratch: Path, **overrides: str) -> dict[str, str]:
    """Levee's own settings for two cores and a heap of 2 GiB."""
    from jobs.engine.config import spark_conf

    return spark_conf(
        "spark",
        jars=sorted((TOOLS / "jars").glob("*.jar")),
        archive=TOOLS / "levee.jsa",
        cores=min(2, os.cpu_count() or 1),
        memory_bytes=MEMORY_BYTES,
        scratch=scratch,
        overrides=overrides,
    )


@pytest.fixture(scope="session")
def runtime(tmp_path_factory) -> Iterator[Runtime]:
    from jobs.engine.runtime import Runtime

    scratch = tmp_path_factory.mktemp("spark")
    made = Runtime(conf_for_tests(scratch), scratch=scratch, log=scratch / "jvm.log")
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="session")
def engine(runtime) -> SparkEngine:
    from jobs.worker.spark_engine import SparkEngine

    return SparkEngine(runtime)


@pytest.fixture
def marks() -> Marks:
    return Marks(job=f"job-{next(NUMBERS)}", attempt=1, digest="d" * 64)


@pytest.fixture
def report() -> Recorder:
    return Recorder()


@pytest.fixture
def convert(engine, marks, report):
    """Previews and runs a convert of a path; answers the result."""

    def do(path, partition_schema=None, *, source_format="parquet", collect_stats=True, preview=None):
        command = Convert(str(path), None, source_format, partition_schema, collect_stats)
        seen = preview or engine.preview(command, None, marks, report)
        return engine.run(command, seen.as_json(), UNCHECKED, marks, report)

    return do


@pytest.fixture
def inspect(engine, marks, report):
    """Inspects a path without a partition schema; answers the JSON."""
    return lambda path: engine.read("inspect", {"path": str(path)}, marks, report)


@pytest.fixture
def sql(runtime):
    """Runs a statement in a session of its own; answers the rows."""
    return lambda text: runtime.new_session().sql(text).collect()
