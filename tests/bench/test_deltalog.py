"""The bench of the log reader runs and measures what it says; full size with LEVEE_BENCH_SIZE=full."""

import os

from tests.bench import deltalog
from tests.bench.document import DOCUMENT, put_into


def test_the_bench_of_the_log_reader_runs(tmp_path):
    full = os.environ.get("LEVEE_BENCH_SIZE") == "full"
    section = deltalog.run(deltalog.FULL if full else deltalog.TINY)
    print(section)
    assert "first sync" in section
    if full:
        put_into(DOCUMENT, section)


def test_the_bench_of_a_log_with_statistics_runs():
    full = os.environ.get("LEVEE_BENCH_SIZE") == "full"
    section = deltalog.run_statistics(deltalog.FULL if full else deltalog.TINY)
    print(section)
    assert "processor time |" in section
    if full:
        put_into(DOCUMENT, section)
