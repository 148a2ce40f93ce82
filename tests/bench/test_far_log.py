"""The bench of a log that lies far away runs and measures what it says; full size with LEVEE_BENCH_SIZE=full."""

import os

from tests.bench import far_log
from tests.bench.document import DOCUMENT, put_into


def test_the_bench_of_a_log_over_s3_runs():
    full = os.environ.get("LEVEE_BENCH_SIZE") == "full"
    section = far_log.run(far_log.FULL if full else far_log.TINY)
    print(section)
    assert "| time |" in section
    if full:
        put_into(DOCUMENT, section)
