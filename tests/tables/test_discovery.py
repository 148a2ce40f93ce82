from __future__ import annotations

from pathlib import Path

import pytest

from tables import sample
from tables.discovery import Kind, Limits, kind_of, scan

COMMIT = f"_delta_log/{0:020}.json"


def lay(base: Path, *names: str) -> Path:
    for name in names:
        target = base / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    return base


def found(base: Path, **limits: int) -> dict[str, str]:
    result = scan(str(base), limits=Limits(**limits))
    return {item.path.removeprefix(f"{base}/"): item.kind for item in result.found}


def test_it_tells_delta_tables_from_parquet_directories(tmp_path: Path) -> None:
    lay(tmp_path, f"a/orders/{COMMIT}", "a/orders/part-0.parquet", "b/part-0.snappy.parquet", "c/readme.txt")
    assert found(tmp_path) == {"a/orders": Kind.DELTA, "b": Kind.PARQUET}


@pytest.mark.parametrize(
    "name",
    [
        f"{7:020}.json",
        f"{7:020}.checkpoint.parquet",
        f"{7:020}.checkpoint.0000000001.0000000002.parquet",
        f"{7:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json",
    ],
)
def test_a_log_holds_a_commit_or_a_checkpoint(tmp_path: Path, name: str) -> None:
    assert found(lay(tmp_path, f"t/_delta_log/{name}")) == {"t": Kind.DELTA}


@pytest.mark.parametrize("name", ["_last_checkpoint", "7.json", f"{7:020}.json.tmp", f".{7:020}.json.crc"])
def test_an_empty_log_makes_no_table(tmp_path: Path, name: str) -> None:
    assert found(lay(tmp_path, f"t/_delta_log/{name}", "t/x.parquet")) == {"t": Kind.PARQUET}


def test_partition_directories_are_part_of_their_table(tmp_path: Path) -> None:
    lay(
        tmp_path,
        "orders/day=2026-01-01/country=DE/x.parquet",
        "orders/day=2026-01-02/country=DE/x.parquet",
        "orders/_SUCCESS",
    )
    assert found(tmp_path) == {"orders": Kind.PARQUET}


def test_partition_directories_without_parquet_are_no_table(tmp_path: Path) -> None:
    assert found(lay(tmp_path, "logs/day=2026-01-01/x.json", "logs/day=2026-01-02/x.json")) == {}


def test_hidden_directories_are_left_out(tmp_path: Path) -> None:
    assert found(lay(tmp_path, "_tmp/x.parquet", ".cache/x.parquet", "t/.x.parquet", "t/_x.parquet")) == {}


def test_nothing_is_looked_for_inside_a_delta_table(tmp_path: Path) -> None:
    assert found(lay(tmp_path, f"t/{COMMIT}", f"t/nested/{COMMIT}")) == {"t": Kind.DELTA}


def test_tables_inside_a_parquet_directory_are_found_too(tmp_path: Path) -> None:
    assert found(lay(tmp_path, "t/x.parquet", f"t/nested/{COMMIT}")) == {"t": Kind.PARQUET, "t/nested": Kind.DELTA}


def test_links_are_not_followed(tmp_path: Path) -> None:
    lay(tmp_path, "outside/t/x.parquet", "lake/real/x.parquet", f"outside/log/{0:020}.json", "lake/linked/x.txt")
    (tmp_path / "lake" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "lake" / "up").symlink_to(tmp_path)
    (tmp_path / "lake" / "linked" / "_delta_log").symlink_to(tmp_path / "outside" / "log")
    (tmp_path / "lake" / "linked" / "y.parquet").symlink_to(tmp_path / "lake" / "real" / "x.parquet")
    assert found(tmp_path / "lake") == {"real": Kind.PARQUET}


def test_the_start_itself_may_be_a_table(tmp_path: Path) -> None:
    lay(tmp_path, "x.parquet")
    assert [item.path for item in scan(str(tmp_path)).found] == [str(tmp_path)]


def test_other_roots_are_skipped(tmp_path: Path) -> None:
    lay(tmp_path, "a/x.parquet", "hr/b/x.parquet")
    result = scan(str(tmp_path), skip=[f"{tmp_path}/hr"])
    assert [item.path for item in result.found] == [f"{tmp_path}/a"]


def test_it_ends_at_its_bounds_and_says_so(tmp_path: Path) -> None:
    lay(tmp_path, *(f"t{i:03}/x.parquet" for i in range(100)))
    assert scan(str(tmp_path), limits=Limits(entries=150)).stopped == "more than 150 files and directories"
    assert len(scan(str(tmp_path), limits=Limits(entries=150)).found) == 50
    ticks = iter(range(10_000))
    lay(tmp_path, *(f"many/{i}.txt" for i in range(2_000)))
    assert (
        scan(str(tmp_path), limits=Limits(seconds=0.5), clock=lambda: float(next(ticks))).stopped
        == "more than 0.5 seconds"
    )


def test_depth_is_bounded(tmp_path: Path) -> None:
    lay(tmp_path, "a/b/c/x.parquet", "a/x.parquet")
    result = scan(str(tmp_path), limits=Limits(depth=1))
    assert [item.path for item in result.found] == [f"{tmp_path}/a"]
    assert result.stopped == "directories more than 1 levels deep were left out"


def test_a_missing_start_is_named_unreadable(tmp_path: Path) -> None:
    result = scan(f"{tmp_path}/none")
    assert result.found == ()
    assert result.unreadable == (f"{tmp_path}/none",)


def test_one_directory_can_be_asked_for(tmp_path: Path) -> None:
    lay(tmp_path, f"t/{COMMIT}", "p/day=1/x.parquet", "e/readme.txt")
    assert [kind_of(f"{tmp_path}/{name}") for name in ("t", "p", "e", "missing")] == [
        Kind.DELTA,
        Kind.PARQUET,
        None,
        None,
    ]


def test_the_sample_lake_is_found(tmp_path: Path) -> None:
    lake = sample.write_lake(tmp_path)
    assert set(found(lake)) == {"orders", "customers", "shipments", "page_views", "products", "returns"}
