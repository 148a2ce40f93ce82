"""No path reaches one of Spark's readers as a pattern: one module gives them files, each by its own escaped name."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ALLOWED = Path("jobs/engine/named_files.py")
READER = re.compile(
    r"\b(?:session|spark|active)\s*\.\s*(?:read|readStream|table)\b|\bDataFrame(?:Stream)?Reader\b|\bDataStreamReader\b"
    r"|\.(?:textFile|wholeTextFiles|binaryFiles|binaryRecords|sequenceFile|hadoopFile|newAPIHadoopFile)\("
)


def readers() -> list[str]:
    """`path:line` of every use of a reader in the product."""
    files = [file for room in ("console", "tables", "jobs") for file in sorted((ROOT / room).rglob("*.py"))]
    return [
        f"{file.relative_to(ROOT)}:{number}"
        for file in files
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if READER.search(line)
    ]


def test_only_one_module_gives_spark_files_to_read():
    assert {place.partition(":")[0] for place in readers()} == {str(ALLOWED)}


def test_it_reads_nothing_that_it_does_not_escape():
    text = (ROOT / ALLOWED).read_text()
    escaped = text.count(".json([literal_path(file) for file in files])") + text.count(".load(literal_path(path))")
    escaped += text.count(".parquet(literal_path(file))")
    escaped += text.count('.load(\n        [literal_path(f"{path}/{file}") for file in files]\n    )')
    of_lines = text.count('reader.csv(lines) if form == "csv" else reader.json(lines)')  # which are here already
    by_delta = text.count('.format("delta").options(**options).load(path)')  # which takes a path literally
    assert len(READER.findall(text)) == escaped + by_delta + of_lines == 6
