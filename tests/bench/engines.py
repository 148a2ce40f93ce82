"""The engine that a bench measures: one JVM of its own, with the settings of a worker on this machine."""

from __future__ import annotations

import os
from pathlib import Path

from jobs.engine.config import spark_conf
from jobs.engine.runtime import Runtime
from jobs.worker.spark_engine import SparkEngine

TOOLS = Path(__file__).parents[2] / ".tools"


def started_engine(top: Path, *, warm: bool) -> SparkEngine:
    """A started engine with its scratch below `top`; warm as a worker's, or not, for a run that only proves that the bench runs."""
    conf = spark_conf(
        "spark",
        jars=sorted((TOOLS / "jars").glob("*.jar")),
        archive=TOOLS / "levee.jsa",
        cores=os.cpu_count() or 1,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        scratch=top / "spark",
    )
    engine = SparkEngine(Runtime(conf, scratch=top / "spark", log=top / "jvm.log"))
    if warm:
        engine.warm_up()
    else:
        engine.runtime.start()
    return engine
