"""What is said of a lock: its known holes, none, or that nothing could be found out."""

import json

import pytest

from console.setup.advisories import verdict


def printed(*packages):
    return json.dumps({"dependencies": packages, "fixes": []})


WELL = {"name": "django", "version": "5.2", "vulns": []}
SKIPPED = {"name": "ruff", "skip_reason": "Dependency not found"}
HOLE = {"name": "django", "version": "5.0", "vulns": [{"id": "CVE-2026-1", "fix_versions": ["5.2"]}]}


@pytest.mark.parametrize(
    ("packages", "code", "words"),
    [
        ([WELL], 0, "1 packages compared, 0 known holes"),
        ([WELL, HOLE], 1, "django 5.0: CVE-2026-1, mended in 5.2"),
        ([WELL, SKIPPED], 2, "ruff: not compared: Dependency not found"),
        ([SKIPPED], 2, "No source of advisories answered, so nothing is known of this lock: Dependency not found"),
    ],
)
def test_it_tells_holes_from_none_and_from_not_knowing(packages, code, words):
    said = verdict(printed(*packages), "")
    assert said[0] == code
    assert words in said[1]


def test_without_an_answer_it_says_why():
    assert verdict("", "Traceback\nConnectionError: no route") == (
        2,
        "No source of advisories answered, so nothing is known of this lock: ConnectionError: no route",
    )
