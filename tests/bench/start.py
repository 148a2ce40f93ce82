"""A worker's start: `python -m tests.bench.start` (`--tiny` for a run that only proves that it runs).

From the start of a process to a warm engine, alone on the machine; then what a person's first converts take there.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.document import DOCUMENT, put_into

TITLE = "## A worker's start"
FILES = 20


def worker(top: Path, converts: int) -> dict[str, list[float]]:
    """In the measured process: warms up, says so, then converts one small directory after the other."""
    from jobs.commands.convert.rules import Convert
    from jobs.domain.engine import UNCHECKED, Marks
    from jobs.domain.results import Inspection
    from jobs.engine.runtime import Runtime
    from jobs.worker.spark_engine import SparkEngine
    from tests.bench.convert import SCHEMA, write_files
    from tests.jobs.engine.fixtures import conf_for_tests
    from tests.jobs.engine.lake import Recorder

    runtime = Runtime(conf_for_tests(top / "spark"), scratch=top / "spark", log=top / "jvm.log")
    engine = SparkEngine(runtime)
    engine.warm_up()
    print("warm", flush=True)
    took = []
    for number in range(converts):
        directory = top / f"t{number}"
        write_files(directory, FILES)
        command = Convert(str(directory), None, "parquet", SCHEMA)
        marks = Marks(f"bench-{number}", 1, "0" * 64)
        preview = engine.preview(command, None, marks, Recorder())
        assert isinstance(preview, Inspection)
        assert not preview.refusals, preview.refusals
        began = time.monotonic()
        engine.run(command, preview.as_json(), UNCHECKED, marks, Recorder())
        took.append(time.monotonic() - began)
    runtime.stop()
    return {"converts": took}


def measure(starts: int, converts: int) -> dict[str, float]:
    """Medians over `starts` processes."""
    warm, first = [], []
    for _ in range(starts):
        with tempfile.TemporaryDirectory(prefix="levee-bench-") as top:
            began = time.monotonic()
            command = [sys.executable, "-m", "tests.bench.start", "--worker", top, str(converts)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                assert process.stdout.readline() == "warm\n"
                warm.append(time.monotonic() - began)
                took = json.loads(process.stdout.read())["converts"]
            first.append(took[0] / took[-1])
    return {"start": statistics.median(warm), "first": statistics.median(first)}


def report(figures: dict[str, float], starts: int, converts: int) -> str:
    """The section of the document."""
    return (
        f"{TITLE}\n\n`python -m tests.bench.start`, median of {starts} starts on 2 processors.\n\n"
        "| what | measured | bar |\n|---|---|---|\n"
        f"| process start → warm worker, alone | {figures['start']:.1f} s | ≤ 30 s |\n"
        f"| a person's first convert against the {converts}th there | {figures['first']:.2f} × | ≤ 2 × |\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--worker", nargs=2, metavar=("TOP", "CONVERTS"))
    given = parser.parse_args()
    if given.worker:
        print(json.dumps(worker(Path(given.worker[0]), int(given.worker[1]))))
        return
    starts, converts = (1, 2) if given.tiny else (3, 10)
    section = report(measure(starts, converts), starts, converts)
    print(section)
    if not given.tiny:
        put_into(DOCUMENT, section)


if __name__ == "__main__":
    main()
