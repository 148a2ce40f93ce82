"""The bench of logs of several kinds runs and measures what it says; full size with LEVEE_BENCH_SIZE=full."""

import os

from tests.bench import log_kinds
from tests.bench.document import DOCUMENT, put_into


def test_the_bench_of_logs_of_several_kinds_runs():
    full = os.environ.get("LEVEE_BENCH_SIZE") == "full"
    size = log_kinds.FULL if full else log_kinds.TINY
    section = log_kinds.run(size)
    print(section)
    assert all(kind.what in section for kind in log_kinds.kinds(size))
    if full:
        put_into(DOCUMENT, section, beside="## Reading a log with statistics")
