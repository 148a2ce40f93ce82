"""What a round of a stream costs beside the same query run raw in the same warm JVM, and how fast a stream's pages are with a long past.

`python -m tests.bench.streams` measures 50 rounds and writes the section "Rounds of streams" of docs/benchmarks.md; `--tiny` runs three.
Rounds and raw queries alternate, each on its own directory, table and checkpoint, with one new file each time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

from jobs.commands.stream_round.rules import Definition, FileSource, StreamRound
from jobs.domain.engine import UNCHECKED, Marks
from jobs.worker.spark_engine import Silent, SparkEngine
from tests.bench.document import put_into
from tests.bench.engines import measured_engine

DOCUMENT = Path(__file__).parents[2] / "docs" / "benchmarks.md"
TITLE = "## Rounds of streams"
FULL, TINY = 50, 3
ROWS = 1_000  # of one file
SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
        {"name": "text", "type": "string", "nullable": True, "metadata": {}},
    ],
}


class Pair:
    """Two streams of the same files, one through Levee's round and one raw."""

    def __init__(self, engine: SparkEngine, top: Path) -> None:
        self.engine, self.top, self.files, self.query_id = engine, top, 0, None
        for name in ("levee", "raw"):
            (top / name / "landing").mkdir(parents=True)
            (top / name / "table").mkdir()

    def drop(self) -> None:
        """One new file for each."""
        lines = [json.dumps({"id": n, "text": f"row {n}"}) for n in range(ROWS)]
        for name in ("levee", "raw"):
            (self.top / name / "landing" / f"{self.files:06}.json").write_text("\n".join(lines))
        self.files += 1

    def levee(self) -> float:
        """Seconds of a round."""
        place = self.top / "levee"
        source = FileSource(str(place / "landing"), "json", SCHEMA)
        definition = Definition(source, str(place / "table"), str(place / "checkpoint"))
        command = StreamRound("s", "bench", definition.as_json(), number=self.files)
        marks = Marks(job=f"00000000-0000-0000-0000-{self.files:012}", attempt=1, digest="d")
        start = time.perf_counter()
        result = self.engine.run(command, {}, UNCHECKED, marks, Silent())
        seconds = time.perf_counter() - start
        assert result.version == self.files - 1, result
        return seconds

    def raw(self) -> float:
        """Seconds of the same query without Levee."""
        from pyspark.sql.types import StructType

        place, session = self.top / "raw", self.engine.runtime.session
        start = time.perf_counter()
        stream = session.readStream.format("json").schema(StructType.fromJson(SCHEMA)).load(str(place / "landing"))
        writer = stream.writeStream.format("delta").option("checkpointLocation", str(place / "checkpoint"))
        writer.trigger(availableNow=True).start(str(place / "table")).awaitTermination()
        return time.perf_counter() - start


def measured(engine: SparkEngine, top: Path, times: int) -> dict[str, Any]:
    """Medians of `times` pairs after two that warm up, in seconds."""
    pair = Pair(engine, top)
    seconds: dict[str, list[float]] = {"levee": [], "raw": []}
    for number in range(times + 2):
        pair.drop()
        order = ("levee", "raw") if number % 2 else ("raw", "levee")
        for name in order:
            took = getattr(pair, name)()
            if number >= 2:
                seconds[name].append(took)
    return {name: statistics.median(values) for name, values in seconds.items()}


def run(engine: SparkEngine, top: Path, times: int) -> str:
    """The section of the document."""
    medians = measured(engine, top, times)
    bar = 1.10 * medians["raw"] + 0.3
    how = f"`python -m tests.bench.streams`: {times} rounds and as many raw queries in turn, each of one new file of {ROWS:,} rows, in one"
    how += f" warm JVM on {os.cpu_count()} processors under a load average of {os.getloadavg()[0]:.1f}. Medians."
    row = f"| one round | {medians['levee']:.2f} s | {medians['raw']:.2f} s | ≤ {bar:.2f} s |"
    return f"{TITLE}\n\n{how}\n\n| | Levee | raw | bar: 1.10 × raw + 300 ms |\n|---|---|---|---|\n{row}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true")
    tiny = parser.parse_args().tiny
    with measured_engine() as (engine, top):
        section = run(engine, top, TINY if tiny else FULL)
    print(section)
    if not tiny:
        put_into(DOCUMENT, section)


if __name__ == "__main__":
    main()
