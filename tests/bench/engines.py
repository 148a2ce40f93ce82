"""The engine that a bench measures: one JVM of its own, with the settings of a worker on this machine."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from jobs.engine.config import spark_conf
from jobs.engine.runtime import Runtime
from jobs.worker.spark_engine import SparkEngine

TOOLS = Path(__file__).parents[2] / ".tools"


@contextlib.contextmanager
def measured_engine() -> Iterator[tuple[SparkEngine, Path]]:
    """An engine as warm as a worker's, and a directory for what it works on; both are gone after the block."""
    with tempfile.TemporaryDirectory(prefix="levee-bench-") as directory:
        top = Path(directory)
        conf = spark_conf(
            "spark",
            jars=sorted((TOOLS / "jars").glob("*.jar")),
            archive=TOOLS / "levee.jsa",
            cores=os.cpu_count() or 1,
            memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            scratch=top / "spark",
        )
        engine = SparkEngine(Runtime(conf, scratch=top / "spark", log=top / "jvm.log"))
        try:
            engine.warm_up()
            yield engine, top
        finally:
            engine.runtime.stop()
