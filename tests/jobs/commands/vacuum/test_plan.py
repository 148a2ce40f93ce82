"""The plan of a vacuum on real files and without Spark: what stays although it is old, what dies, and what the log names."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pytest

from jobs.commands.vacuum.spark.measure import measured
from jobs.commands.vacuum.spark.plan import Plan, PlanOrder, planned
from jobs.domain.errors import CommandRefused
from jobs.worker.spark_engine import Silent
from tables.deltalog.vacuum.keys import KEY, key
from tests.jobs.commands.vacuum.aged import DAY_MS, now_ms
from tests.jobs.commands.vacuum.generated import PLAIN, Table, history, metadata

HOUR_MS = DAY_MS // 24


def ago(days: float) -> int:
    return now_ms() - int(days * DAY_MS)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Two files in version 0, twelve days ago."""
    (tmp_path / "t" / "_delta_log").mkdir(parents=True)
    made = Table(tmp_path / "t", random.Random(0))
    made.commit([PLAIN, metadata(made.chance, {}), made.add(ago(12)), made.add(ago(12))], ago(12))
    return made


def plan(table: Table, hours: int | None = None, **more: Any) -> Plan:
    return planned(PlanOrder(str(table.path), hours, False, **{"now_ms": now_ms(), **more}), Silent(), with_paths=True)


def test_what_was_removed_since_the_preview_stays_even_if_its_tombstone_is_older(table):
    one, other = table.live
    table.commit([table.remove(one, ago(8))], ago(8))
    order = {"now_ms": now_ms(), "since": 1}
    assert plan(table, **order).paths == [one]
    table.commit([table.remove(other, ago(8)), table.add(ago(0))], ago(0))  # its transaction began 8 days ago
    assert plan(table, **order).paths == [one]
    assert sorted(plan(table).paths) == sorted([one, other])


@pytest.mark.parametrize("told", [True, False])
def test_with_the_tables_own_retention_a_version_dies_whose_file_was_removed_by_a_transaction_that_took_long(
    table, told
):
    """It was committed after the transaction began, and is young enough to be read."""
    one = next(iter(table.live))
    table.commit([table.add(ago(6.9))], ago(6.9))
    table.commit([table.add(ago(6.8))], ago(6.8))
    removed = table.remove(one, ago(7.1))
    if not told:
        del removed["remove"]["deletionTimestamp"]
    table.commit([removed, table.add(ago(6.7))], ago(6.7))
    found = plan(table)
    assert found.paths == [one]
    assert found.dying == [(1, 2)]
    assert plan(table, 24 * 13).dying == []


def test_a_version_whose_files_a_run_has_left_is_not_lost(table):
    one, other = table.live
    table.commit([table.remove(one, ago(3)), table.add(ago(3))], ago(3))
    table.commit([table.remove(other, ago(2)), table.add(ago(2))], ago(2))
    found = plan(table, 24)
    assert (sorted(found.paths), found.dying) == (sorted([one, other]), [(1, 1)])  # version 0 is too old to be read
    for gone, lost in (([], []), ([one], []), ([other], [(1, 1)])):
        assert found.dying_of(pa.array([key(path) for path in gone], KEY)) == lost


def test_versions_that_the_table_no_longer_lets_be_read_do_not_die(table):
    one = next(iter(table.live))
    table.commit([table.remove(one, ago(9)), table.add(ago(9))], ago(9))
    table.commit([table.add(ago(1))], ago(1))
    assert (plan(table).paths, plan(table).dying) == ([one], [])


def test_files_of_the_change_feed_are_named_by_the_log(table):
    table.file("_change_data/cdc-0.parquet", ago(9))
    table.file("left behind.parquet", ago(9))
    cdc = {"path": "_change_data/cdc-0.parquet", "partitionValues": {}, "size": 10, "dataChange": False}
    table.commit([{"cdc": cdc}, table.add(ago(9))], ago(9))
    found = measured(plan(table), PlanOrder(str(table.path), None, False, now_ms()))
    assert (found.files, found.untracked_files, found.untracked_bytes) == (2, 1, 10)


def test_files_whose_names_delta_cannot_read_stay(table):
    table.file("left behind.parquet", ago(9))
    table.file("it: is a URI.parquet", ago(9))
    name = os.fsencode(table.path) + b"/\xff.parquet"
    Path(os.fsdecode(name)).write_bytes(b"0123456789")
    os.utime(name, (1, 1))
    assert plan(table).paths == ["left behind.parquet"]


@pytest.mark.parametrize("seed", range(12))
def test_the_versions_that_die_are_those_that_name_a_file_which_goes(tmp_path, seed):
    made = history(tmp_path / "t", seed)
    found = plan(made, (24, 48, 2, 0)[seed % 4])
    gone, versions = set(found.paths), live_by_version(made)
    dead = {version for version, files in enumerate(versions[:-1]) if files & gone}
    assert {version for first, last in found.dying for version in range(first, last + 1)} == dead
    assert dead


def live_by_version(table: Table) -> list[set[str]]:
    live: set[str] = set()
    versions = []
    for file in sorted((table.path / "_delta_log").glob("*.json")):
        for action in map(json.loads, file.read_text().splitlines()):
            live -= {unquote(action["remove"]["path"])} if "remove" in action else set()
            live |= {unquote(action["add"]["path"])} if "add" in action else set()
        versions.append(set(live))
    return versions


def encoded(table: Table, *places: str, name: str = "p=a%20b/x.parquet") -> None:
    """A live file by this name in the log, which lies at these places, older than any retention."""
    add = {"path": name, "partitionValues": {}, "size": 1, "modificationTime": 0, "dataChange": True}
    table.commit([{"add": add}], ago(12))
    for place in places:
        file = table.path / place
        file.parent.mkdir(parents=True)
        file.write_bytes(b"x")
        os.utime(file, (ago(12) / 1000, ago(12) / 1000))


def test_a_live_file_that_lies_under_its_undecoded_name_is_never_deleted(table):
    encoded(table, "p=a%20b/x.parquet")
    with pytest.raises(CommandRefused, match=r"^1 of the files that Delta would delete is a live file") as refused:
        plan(table)
    refusal = refused.value.refusals[0]
    assert (refusal.code, "p=a%20b/x.parquet" in refusal.message) == ("misnamed_files", True)


def test_of_many_such_files_the_first_are_named_and_the_rest_is_a_number(table):
    for number in range(25):
        encoded(table, f"p=a%20{number}/x.parquet", name=f"p=a%20{number}/x.parquet")
    with pytest.raises(CommandRefused, match=r"^25 of the files .* p=a%20\d+/x.parquet and 5 more\.$"):
        plan(table)


def test_a_copy_under_the_undecoded_name_goes_once_the_file_is_where_it_belongs(table):
    encoded(table, "p=a%20b/x.parquet", "p=a b/x.parquet")
    assert plan(table).paths == ["p=a%20b/x.parquet"]
