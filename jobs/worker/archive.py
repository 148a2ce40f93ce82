"""Writes the class data sharing archive, which saves each JVM some seconds of its start.

`python -m jobs.worker.archive --out FILE`: a JVM with Levee's own settings runs the warm-up once and writes FILE when it ends. An
archive fits only the Java and the class path that it was made with; with others the JVM starts without it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from console.base.processes import give_way
from jobs.engine.config import spark_conf
from jobs.engine.processes import ProcessIdentity
from jobs.engine.runtime import Runtime
from jobs.worker.memory import limit_bytes, machine_bytes
from jobs.worker.spark_engine import SparkEngine

JARS = Path(".tools") / "jars"
# Writing 200 MB of classes at the JVM's exit takes 10 s, and minutes on a busy machine.
EXIT_SECONDS = 600


def write_archive(out: Path, jars: list[Path]) -> None:
    """Makes the archive. Raises EngineFailed when Spark can't run, FileNotFoundError when the JVM wrote none."""
    with tempfile.TemporaryDirectory(prefix="levee-archive-") as directory:
        scratch = Path(directory)
        conf = spark_conf(
            "spark",
            jars=jars,
            archive=None,
            cores=os.cpu_count() or 1,
            memory_bytes=machine_bytes(),
            memory_limit=limit_bytes(),
            scratch=scratch,
        )
        conf["spark.driver.extraJavaOptions"] += f" -XX:ArchiveClassesAtExit={out}"
        runtime = Runtime(conf, scratch=scratch, log=scratch / "jvm.log", on_launch=last_in_line)
        try:
            SparkEngine(runtime).warm_up()
        finally:
            runtime.stop(seconds=EXIT_SECONDS)
    if not out.is_file():
        raise FileNotFoundError(f"the JVM ended without writing {out}")


def last_in_line(jvm: ProcessIdentity) -> None:
    """Gives the JVM this process's niceness as a session too: it has its own."""
    give_way(jvm.pid, os.nice(0))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m jobs.worker.archive", description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jars", type=Path, default=JARS, help="the directory of Delta's jars (default: .tools/jars)")
    options = parser.parse_args(arguments)
    jars = sorted(options.jars.resolve().glob("*.jar"))
    if not jars:
        parser.error(f"no jars in {options.jars}")
    write_archive(options.out.resolve(), jars)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
