"""The bench of the start and the web process runs."""

import os

import pytest

from tests.bench import web


@pytest.mark.servers
def test_the_bench_of_the_web_process_runs():
    figures = web.measure(tiny=os.environ.get("LEVEE_BENCH_SIZE") != "full")
    print(web.report(figures))
    assert figures["gunicorn workers that map pyspark's files"] == 0
    assert figures["second start: a page, s"] > 0
