"""A second Spark process, as a second worker has: it says when it is ready, runs one delete when told, and waits to be ended.

`python -m tests.jobs.engine.other_jvm SCRATCH PATH PREDICATE`; lines on stdin and stdout.
"""

import json
import sys
from pathlib import Path

from jobs.domain.engine import UNCHECKED, Marks
from jobs.engine.runtime import Runtime
from jobs.worker.spark_engine import Silent, SparkEngine
from tests.jobs.engine.deltas import deletion
from tests.jobs.engine.fixtures import conf_for_tests


def main(scratch: Path, path: Path, predicate: str) -> None:
    runtime = Runtime(conf_for_tests(scratch), scratch=scratch, log=scratch / "jvm.log")
    runtime.start()
    identity = runtime.identity()
    assert identity is not None
    print(json.dumps({"jvm": identity.pid}), flush=True)
    try:
        sys.stdin.readline()
        result = SparkEngine(runtime).run(
            deletion(path, predicate), {}, UNCHECKED, Marks("job-of-the-other", 1, "d" * 64), Silent()
        )
        print(json.dumps({"version": result.version}), flush=True)
        sys.stdin.readline()
    finally:
        runtime.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
