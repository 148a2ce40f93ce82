"""Tests and the clock: none is read as tests are collected, and one module's is replaced, never that of all threads."""

import ast
import re
from collections.abc import Iterator

from console.supervisor.tools import PROJECT

EVERY_THREAD = re.compile(r"setattr\((?:time, \"(?:sleep|monotonic)\"|\"[\w.]*\btime\.(?:sleep|monotonic)\")")
CLOCKS = {"now", "time", "time_ns", "monotonic", "today", "localdate", "utcnow"}
# What is compared with no other clock.
FACTS = (
    "tests/journeys/samples",  # of sample pages
    "tests/bench/catalog.py",  # of the bench's rows
    "tests/tables/catalog/test_lately.py",  # its tests travel to it
)


def test_no_test_replaces_the_sleep_of_all_threads() -> None:
    """Another thread's pause would run the test's code."""
    assert EVERY_THREAD.search('monkeypatch.setattr("jobs.reads.queue.time.sleep", sleep)')
    files = [path for path in (PROJECT / "tests").rglob("*.py") if path.name != "test_clocks.py"]
    assert files
    assert [str(path) for path in files if EVERY_THREAD.search(path.read_text())] == []


def read_at_import(code: str) -> Iterator[str]:
    """Calls of a clock that run as the module is imported: outside of functions, in their decorators and in their defaults."""
    waiting: list[ast.AST] = [ast.parse(code)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CLOCKS:
            yield ast.unparse(node)
        if not isinstance(node, ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def test_no_test_reads_the_clock_as_it_is_collected() -> None:
    """A test may run an hour later, and then the time that it was given is another than it means."""
    assert list(read_at_import('@mark.parametrize("at", [timezone.now()])\ndef test(at): time.time()')) == [
        "timezone.now()"
    ]
    assert list(read_at_import("def test(at=time.time()): pass")) == ["time.time()"]
    assert list(read_at_import("later = lambda: timezone.now()")) == []
    files = {str(path.relative_to(PROJECT)): path for path in (PROJECT / "tests").rglob("*.py")}
    found = {name: list(read_at_import(path.read_text())) for name, path in files.items()}
    assert {name: calls for name, calls in found.items() if calls and not name.startswith(FACTS)} == {}
