"""Heavy tests wait as long as the machine needs (tests/patience.py): no deadline of their own, no word on how fast something was."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.supervisor.tools import PROJECT

HEAVY = re.compile(r"\bmark\.(?:spark|browser|servers)\b")
PAUSE_S = 0.5  # what waits no longer looks again, or sees that something still lasts
# Where a call says how long it waits, unless it names it.
PLACES = {
    "wait": 0,
    "join": 0,
    "result": 0,
    "settimeout": 0,
    "set_default_timeout": 0,
    "set_default_navigation_timeout": 0,
    "wait_until": 1,
    "create_connection": 1,
}
CLOCKS = {"monotonic", "perf_counter"}
OTHERS = (
    "tests/gate/",  # runs tests, within limits of its own
    "tests/patience.py",
)
# The end of a load that a test puts on, not of a wait; and what is promised of the shipped times, which full size alone proves.
EXCEPTIONS = {
    ("tests/jobs/engine/test_predicates.py", "time.monotonic() - started < PROMISED_S"),
    ("tests/soak/test_hung.py", "time.monotonic() - stopped < PROMISED_S"),
    ("tests/soak/test_one_reader.py", "time.monotonic() + SECONDS"),
    ("tests/soak/test_streams.py", "time.monotonic() + LASTS_S"),
}


def is_fixed(value: ast.expr) -> bool:
    """Whether it is made of numbers and constants alone, so the same on every machine."""
    match value:
        case ast.Constant(value=int() | float()):
            return True
        case ast.Name(id=name):
            return name.isupper()
        case ast.BinOp(left=left, right=right):
            return is_fixed(left) and is_fixed(right)
    return False


def is_bare(value: ast.expr) -> bool:
    """The same, pauses aside."""
    match value:
        case ast.Constant(value=int() | float() as number):
            return number > PAUSE_S
    return is_fixed(value)


def called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def reads_clock(value: ast.expr) -> bool:
    return any(isinstance(node, ast.Call) and called(node) in CLOCKS for node in ast.walk(value))


def waits(call: ast.Call) -> Iterator[ast.expr]:
    """How long the call may take."""
    place = PLACES.get(called(call))
    if place is not None and not (isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Constant)):
        yield from call.args[place : place + 1]
    yield from (given.value for given in call.keywords if given.arg == "timeout")


def is_speed(node: ast.Compare) -> bool:
    """Whether the time since something has an upper bound."""
    upper = isinstance(node.ops[0], ast.Lt | ast.LtE)
    lower = isinstance(node.ops[0], ast.Gt | ast.GtE)
    smaller = node.left if upper else node.comparators[0]
    return (upper or lower) and isinstance(smaller, ast.BinOp) and reads_clock(smaller)


def deadlines(code: str) -> Iterator[str]:
    """What waits for a time of its own, or asserts one."""
    tree = ast.parse(code)
    asserted = {id(part) for node in ast.walk(tree) if isinstance(node, ast.Assert) for part in ast.walk(node.test)}
    for node in ast.walk(tree):
        match node:
            case ast.Call() if any(map(is_bare, waits(node))):
                yield ast.unparse(node)
            case ast.BinOp(op=ast.Add(), left=left, right=right) if reads_clock(left) and is_bare(right):
                yield ast.unparse(node)
            case ast.Compare() if id(node) in asserted:
                if is_speed(node):
                    yield ast.unparse(node)
            case ast.Compare(left=left, comparators=[right]) if reads_clock(left) and is_bare(right):
                yield ast.unparse(node)


def imported(code: str) -> Iterator[Path]:
    """The files of tests that it imports."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "tests":
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            files = (PROJECT / (name.replace(".", "/") + ".py") for name in names)
            yield from (path for path in files if path.is_file())


def heavy_files() -> dict[str, str]:
    """Files with heavy tests, and those of the tests that they import, with their code."""
    waiting = [path for path in (PROJECT / "tests").rglob("*.py") if HEAVY.search(path.read_text())]
    waiting += (PROJECT / "tests").rglob("conftest.py")
    found: dict[Path, str] = {}
    while waiting:
        if (path := waiting.pop()) not in found:
            found[path] = path.read_text()
            waiting += imported(found[path])
    named = {str(path.relative_to(PROJECT)): code for path, code in found.items()}
    return {name: code for name, code in named.items() if not name.startswith(OTHERS)}


@pytest.mark.parametrize(
    "code",
    [
        "process.wait(60)",
        "process.wait(timeout=60)",
        "thread.join(LIMIT_S)",
        "urlopen(address, timeout=2 * LIMIT_S)",
        "expect(title).to_be_visible(timeout=90_000)",
        "page.set_default_timeout(1000 * PATIENCE)",
        "wait_until(look, LIMIT_S)",
        "until = time.monotonic() + 30",
        "while time.monotonic() - began < LIMIT_S: pass",
        "assert time.monotonic() - began < allowed",
        "assert allowed >= time.perf_counter() - began",
    ],
)
def test_a_deadline_of_its_own_is_found(code):
    assert list(deadlines(code))


@pytest.mark.parametrize(
    "code",
    [
        "process.wait()",
        "process.wait(limit(15))",
        "thread.join(0.3)",
        "while not over.wait(0.05): pass",
        "expect(title).to_be_visible(timeout=limit_ms(SOON_S))",
        "', '.join(NAMES)",
        "wait_for(look, 'it is there', 15.0)",
        "until = time.monotonic() + 2 * limit(30)",
        "while time.monotonic() < until: pass",
        "assert time.monotonic() - began > LEASE_S",
        "print(time.monotonic() - began)",
    ],
)
def test_what_waits_by_patience_is_left_alone(code):
    assert list(deadlines(code)) == []


def test_heavy_tests_and_what_they_import_wait_by_patience():
    files = heavy_files()
    assert {
        "tests/jobs/test_grid.py",
        "tests/jobs/instance.py",
        "tests/hdfs.py",
        "tests/console/running.py",
    } <= files.keys()
    found = {(name, deadline) for name, code in files.items() for deadline in deadlines(code)}
    assert found - EXCEPTIONS == set()
    assert found >= EXCEPTIONS, "an exception that nothing needs"
