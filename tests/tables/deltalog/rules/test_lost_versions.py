"""Versions whose files are gone although no vacuum is in the log: how long a file was needed, and what later looks take back."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tables.deltalog.replay.log import open_log
from tables.deltalog.replay.needed_files import needed_until, vector_path
from tables.deltalog.rules.lost_versions import MOST, Lost, of_json, with_missing, with_whole
from tables.deltalog.rules.reachability import FileKnowledge, VersionFacts, reachability

NOW = datetime(2026, 6, 30, tzinfo=UTC)
VECTOR = {
    "storageType": "u",
    "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
    "offset": 4,
    "sizeInBytes": 40,
    "cardinality": 1,
}
VECTOR_FILE = "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"


def lost(begin: int, first: int, last: int, at: datetime = NOW) -> Lost:
    return Lost(begin, first, last, "a.parquet", 1, at)


def commit(place: Path, version: int, *actions: dict[str, Any]) -> None:
    log = place / "_delta_log"
    log.mkdir(exist_ok=True)
    (log / f"{version:020d}.json").write_text("\n".join(json.dumps(action) for action in actions))


def add(path: str, **more: Any) -> dict[str, Any]:
    return {"add": {"path": path, "partitionValues": {}, "size": 1, "modificationTime": 0, "dataChange": True, **more}}


def remove(path: str, **more: Any) -> dict[str, Any]:
    return {"remove": {"path": path, "deletionTimestamp": 0, "dataChange": True, **more}}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """`a b` lives until version 2, gets a vector there with which it lives until 3; `c` lives on."""
    commit(tmp_path, 0, add("a%20b.parquet"), add("c.parquet"))
    commit(tmp_path, 1, add("d.parquet"))
    commit(tmp_path, 2, remove("a%20b.parquet"), add("a%20b.parquet", deletionVector=VECTOR))
    commit(tmp_path, 3, add("e.parquet"))
    commit(tmp_path, 4, remove(f"{tmp_path}/a%20b.parquet", deletionVector=VECTOR))
    commit(tmp_path, 5, add("f.parquet"))
    return tmp_path


@pytest.mark.parametrize(
    ("version", "paths", "until"),
    [
        (0, {"a b.parquet"}, 3),
        (0, {"c.parquet"}, 5),
        (0, {"a b.parquet", "c.parquet"}, 5),
        (2, {VECTOR_FILE}, 3),
        (5, {"c.parquet"}, 5),
    ],
)
def test_a_file_is_needed_until_the_commit_that_removes_it(
    place: Path, version: int, paths: set[str], until: int
) -> None:
    assert needed_until(open_log(str(place)), str(place), version, 5, paths) == until


def test_beyond_a_commit_that_cannot_be_read_nothing_is_claimed(place: Path) -> None:
    (place / "_delta_log" / f"{3:020d}.json").write_text('{"remove": {')
    assert needed_until(open_log(str(place)), str(place), 0, 5, {"c.parquet"}) == 2
    (place / "_delta_log" / f"{3:020d}.json").unlink()
    assert needed_until(open_log(str(place)), str(place), 0, 5, {"c.parquet"}) == 2


@pytest.mark.parametrize(
    ("storage", "stored", "path"),
    [
        ("u", VECTOR["pathOrInlineDv"], VECTOR_FILE),
        ("p", "s3://b/t/x.bin", "s3://b/t/x.bin"),
        ("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", None),
        ("u", "no vector’s name", None),
        (None, None, None),
    ],
)
def test_where_a_vector_lies(storage: str | None, stored: str | None, path: str | None) -> None:
    assert vector_path(storage, stored) == path


def test_a_look_that_finds_all_files_takes_back_what_contradicts_it() -> None:
    known = [lost(0, 5, 7), lost(0, 9, 9)]
    assert with_whole(known, 6) == [lost(7, 9, 9)]
    assert with_whole(known, 3) == [lost(4, 5, 7), lost(4, 9, 9)]
    assert with_whole(known, 8) == [lost(0, 5, 7), lost(9, 9, 9)]
    assert with_whole(known, 10) == known


def test_observations_are_few_and_the_newest() -> None:
    known: list[Lost] = []
    for number in range(MOST + 5):
        known = with_missing(known, lost(0, 2 * number, 2 * number, NOW + timedelta(seconds=number)))
    assert (len(known), known[-1].first) == (MOST, 2 * (MOST + 4))
    assert with_missing([lost(0, 2, 3), lost(0, 6, 6)], lost(0, 2, 4, NOW + timedelta(1))) == [
        lost(0, 6, 6),
        lost(0, 2, 4, NOW + timedelta(1)),
    ]
    assert of_json([each.as_json() for each in known]) == known


def test_lost_versions_and_those_before_are_out_of_reach_the_newest_never_is() -> None:
    facts = [VersionFacts(version, NOW - timedelta(hours=9 - version), True, True, True) for version in range(5)]
    reaches = reachability(
        facts, head=4, rebuildable=[range(5)], vacuums=[], retention=timedelta(weeks=1), now=NOW, lost=[lost(1, 2, 4)]
    )
    assert [each.restorable for each in reaches] == [True, False, False, False, True]
    assert [each.files for each in reaches] == [
        FileKnowledge.THERE,
        FileKnowledge.PERHAPS_GONE,
        FileKnowledge.GONE,
        FileKnowledge.GONE,
        FileKnowledge.THERE,
    ]
    assert "version 2 were missing from storage on 2026-06-30" in (reaches[1].why or "")
