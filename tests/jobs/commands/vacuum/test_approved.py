"""What a run may delete: the files that were approved and no other, on real files and without Spark."""

from __future__ import annotations

import json
import os
import random
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from jobs.commands.vacuum.rules import Vacuum
from jobs.commands.vacuum.spark.approved import approved_plan
from jobs.commands.vacuum.spark.measure import measured
from jobs.commands.vacuum.spark.plan import PlanOrder, planned
from jobs.domain.errors import CommandRefused
from jobs.worker.spark_engine import Silent
from tests.jobs.commands.vacuum.aged import DAY_MS, now_ms
from tests.jobs.commands.vacuum.generated import PLAIN, Table, metadata


def ago(days: float) -> int:
    return now_ms() - int(days * DAY_MS)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Of four files of version 0 version 1 removed two, nine days ago; two more lie there that no commit names."""
    (tmp_path / "t" / "_delta_log").mkdir(parents=True)
    made = Table(tmp_path / "t", random.Random(0))
    made.commit([PLAIN, metadata(made.chance, {}), *(made.add(ago(12)) for _ in range(4))], ago(12))
    made.commit([made.remove(name, ago(9)) for name in list(made.live)[:2]], ago(9))
    for name in ("left.parquet", "behind.parquet"):
        made.file(name, ago(9))
    return made


class Approved:
    """A vacuum of the table as it was approved."""

    def __init__(self, table: Table, **more: Any) -> None:
        self.command = Vacuum("t", path=str(table.path), **more)
        order = PlanOrder(self.command.path, None, self.command.lite, now_ms(), version=table.version - 1)
        found = json.loads(json.dumps(asdict(measured(planned(order, Silent()), order))))
        self.preview = found | {"measured_at_version": found["version"]}

    def paths(self) -> list[str]:
        """What its run would delete now."""
        return sorted(approved_plan(self.command, self.preview, Silent()).paths)


@pytest.fixture
def approved(table: Table) -> Approved:
    return Approved(table)


def test_all_that_was_approved_goes_whatever_was_committed_since(table, approved):
    expected = sorted([*table.removed, "behind.parquet", "left.parquet"])
    table.commit([table.add(ago(0)), table.remove(next(iter(table.live)), ago(8))], ago(0))
    assert approved.paths() == expected


def test_another_file_of_the_same_size_in_the_place_of_one_is_refused(table, approved):
    (table.path / "left.parquet").unlink()
    table.file("other.parquet", ago(9))
    with pytest.raises(CommandRefused, match=r"4 files .* aren’t those that were approved") as refused:
        approved.paths()
    assert refused.value.refusals[0].code == "stale"


def test_so_is_one_of_the_same_name_and_another_size(table, approved):
    (table.path / "left.parquet").write_text("0123456")
    (table.path / "behind.parquet").write_text("0123456789012")
    for name in ("left.parquet", "behind.parquet"):
        age(table.path / name)
    with pytest.raises(CommandRefused, match="aren’t those"):
        approved.paths()


def test_so_are_fewer_files_of_which_one_is_new(table, approved):
    for name in ("left.parquet", "behind.parquet"):
        (table.path / name).unlink()
    table.file("other.parquet", ago(9))
    with pytest.raises(CommandRefused, match=r"3 files .* aren’t those"):
        approved.paths()


def test_and_one_beside_another_that_has_come_back_into_the_table(table, approved):
    table.commit([table.bring_back(table.removed[0], ago(0))], ago(0))
    table.file("other.parquet", ago(9))
    with pytest.raises(CommandRefused, match=r"4 files .* aren’t those"):
        approved.paths()


@pytest.mark.parametrize("lite", [False, True])
def test_a_file_that_has_come_back_into_the_table_stays_and_the_others_go(table, lite):
    approved = Approved(table, lite=lite)
    back, gone = table.removed
    table.commit([table.bring_back(back, ago(0))], ago(0))
    assert approved.paths() == sorted([gone, *([] if lite else ["behind.parquet", "left.parquet"])])


def test_it_is_refused_if_that_can_not_be_proven_any_more(table, approved):
    table.commit([table.bring_back(table.removed[0], ago(0))], ago(0))
    approved.preview["measured_at_version"] = 99
    with pytest.raises(CommandRefused, match="aren’t those") as refused:
        approved.paths()
    assert refused.value.refusals[0].code == "stale"


def test_more_files_are_refused_with_both_numbers(table, approved):
    table.file("other.parquet", ago(9))
    with pytest.raises(CommandRefused, match=r"5 files \(50 bytes\) .* 4 \(40 bytes\) were approved"):
        approved.paths()


@pytest.mark.parametrize("lite", [False, True])
def test_a_size_that_the_log_does_not_tell_is_unknown_and_never_none(table, lite):
    """A tombstone may lack it; a listing tells the sizes of all files."""
    without = table.remove(next(iter(table.live)), ago(9))
    del without["remove"]["size"]
    table.commit([without], ago(9))
    preview = Approved(table, lite=lite).preview
    expected = None if lite else 50
    assert (preview["files"], preview["bytes"]) == (3 if lite else 5, expected)
    assert preview["curve"][0]["bytes"] == expected
    assert preview["by_commit"] == [
        {"version": 1, "files": 2, "bytes": 20},
        {"version": 2, "files": 1, "bytes": expected and 10},
    ]
    approved = Approved(table, lite=lite)
    assert len(approved.paths()) == preview["files"]
    table.commit([table.bring_back(table.removed[0], ago(0))], ago(0))
    assert len(approved.paths()) == preview["files"] - 1


def test_where_all_is_gone_by_now_there_is_nothing_to_refuse(table, approved):
    for name in (*table.removed, "left.parquet", "behind.parquet"):
        (table.path / name).unlink()
    assert approved.paths() == []


def age(path: Path) -> None:
    os.utime(path, (ago(9) / 1000, ago(9) / 1000))
