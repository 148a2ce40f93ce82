"""The bench of the log's preview runs and measures what it says; full size with LEVEE_BENCH_SIZE=full."""

import os

from tests.bench import preview
from tests.bench.document import put_into


def test_the_bench_of_the_preview_runs():
    full = os.environ.get("LEVEE_BENCH_SIZE") == "full"
    section = preview.run(preview.FULL, preview.TIMES) if full else preview.run(preview.TINY, 3)
    print(section)
    assert section.count("| ≤ 300 ms |") == len(preview.PREDICATES)
    if full:
        put_into(preview.DOCUMENT, section)
