"""The gate holds what README and docs/reliability.md promise, by tests that are there."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from console.supervisor.tools import PROJECT
from tests.gate.plan import BEYOND, IS_LIGHT
from tests.gate.promises import HEAVY, LIGHT, README

NUMBER = re.compile(r"\bF\d+\b")
ROW = re.compile(r"^\| (F\d+|–) \| (.*?) \| (.*?) \| (.*) \|$", re.MULTILINE)


def of_heavy() -> set[str]:
    """The numbered promises that heavy tests of the gate hold."""
    return {number for group, _ in HEAVY.values() for held in group for number in NUMBER.findall(held.promise)}


def rows() -> list[tuple[str, str, str]]:
    """Number, promise and who holds it, of the table in docs/reliability.md."""
    text = (PROJECT / "docs" / "reliability.md").read_text()
    return [(row[1], row[2], row[3]) for row in ROW.finditer(text)]


def test_every_promise_of_reliability_is_in_the_gate_or_says_that_it_is_not() -> None:
    found = rows()
    assert len(found) > 15
    held = of_heavy() | set(LIGHT)
    assert [
        (number, promise) for number, promise, by in found if "gate" in by and number != "–" and number not in held
    ] == []
    assert [(number, promise) for number, promise, by in found if not re.search("gate|test-all", by)] == []


def test_every_promise_of_readme_is_held_in_the_gate() -> None:
    section = (PROJECT / "README.md").read_text().partition("## What it promises")[2].partition("\n\n[")[0]
    promises = re.findall(r"^- (.*)$", section, re.MULTILINE)
    assert len(promises) == len(README)
    assert [text for text in promises if not text.startswith(tuple(README))] == []
    assert set(README.values()) <= set(HEAVY) | of_heavy() | set(LIGHT)


def test_what_holds_a_promise_in_the_light_part_is_there_and_not_left_out_of_it() -> None:
    assert [place for place in LIGHT.values() if not (PROJECT / place).exists() or place.startswith(BEYOND)] == []


@pytest.mark.dear
def test_every_heavy_test_of_the_gate_is_there_and_heavy() -> None:
    """Asked of pytest: a name that it doesn't find is a usage error, and a light one would run twice."""
    ids = [test for group, _ in HEAVY.values() for held in group for test in held.ids()]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "-m",
        IS_LIGHT,
    ]
    found = subprocess.run([*command, *ids], cwd=PROJECT, capture_output=True, text=True)
    assert found.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, found.stdout[-2000:] + found.stderr[-2000:]
