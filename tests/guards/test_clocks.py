"""A test replaces the clock of one module, never that of all threads: another thread's pause would run the test's code."""

import re

from console.supervisor.tools import PROJECT

EVERY_THREAD = re.compile(r"setattr\((?:time, \"(?:sleep|monotonic)\"|\"[\w.]*\btime\.(?:sleep|monotonic)\")")


def test_no_test_replaces_the_sleep_of_all_threads() -> None:
    assert EVERY_THREAD.search('monkeypatch.setattr("jobs.reads.queue.time.sleep", sleep)')
    files = [path for path in (PROJECT / "tests").rglob("*.py") if path.name != "test_clocks.py"]
    assert files
    assert [str(path) for path in files if EVERY_THREAD.search(path.read_text())] == []
