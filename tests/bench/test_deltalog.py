"""The bench of the log reader runs and measures what it says; full size with LEVEE_BENCH_SIZE=full."""

import os

from tests.bench import deltalog


def test_the_bench_of_the_log_reader_runs(tmp_path):
    full = os.environ.get("LEVEE_BENCH_SIZE") == "full"
    section = deltalog.run(deltalog.FULL if full else deltalog.TINY)
    print(section)
    assert "first sync" in section
    if full:
        deltalog.put_into(deltalog.DOCUMENT, section)


def test_a_section_is_replaced_and_the_others_stay(tmp_path):
    document = tmp_path / "benchmarks.md"
    deltalog.put_into(document, f"{deltalog.TITLE}\n\nfirst\n")
    document.write_text(document.read_text() + "\n## Another\n\nkept\n")
    deltalog.put_into(document, f"{deltalog.TITLE}\n\nsecond\n")
    assert document.read_text() == f"# Benchmarks\n\n{deltalog.TITLE}\n\nsecond\n\n## Another\n\nkept\n"
