"""A repair's preview: the files that storage lacks, their rows by the log, what is left, and what is known before storage is asked."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from jobs.commands.repair import log
from jobs.commands.repair.log import asked, from_log, with_look
from jobs.domain.errors import CommandRefused
from jobs.targets.subject import Subject, subject_of
from tables.deltalog.read.data_files import Unlike
from tables.deltalog.replay.absent_files import digest_of
from tables.models import Table
from tables.record import file_check
from tables.storage.local.files import LocalStorage
from tests import clock, factories
from tests.factories import lakes
from tests.jobs import small_delta
from tests.jobs.commands.repair.asked import VECTOR, files_of, hide, take

pytestmark = pytest.mark.django_db


@pytest.fixture
def sales(lake: Any) -> Table:
    """Two files of five rows, and one of one row in each partition."""
    table = lakes.sales_in(lake)
    small_delta.append(Path(table.path), [{"id": 50, "p": "FR"}, {"id": 51, "p": "DE"}])
    return table


def measured(table: Table) -> dict[str, Any]:
    subject = subject_of(table.pk)
    return with_look(subject, asked(subject))


def codes(preview: dict[str, Any]) -> set[str]:
    return {each["code"] for each in preview["consequences"]}


def test_what_storage_lacks_is_counted_named_and_told_by_partition(sales: Table) -> None:
    place = Path(sales.path)
    names = [take(place, "FR"), take(place, "DE", 1)]
    preview = measured(sales)
    assert (preview["files"], preview["rows"], preview["files_total"], preview["class"]) == (2, 6, 4, "irreversible")
    assert preview["sample"] == sorted(names)
    assert preview["missing_sha256"] == digest_of(names)
    assert preview["bytes"] > 0
    assert (preview["partitions"], preview["by_partition"]) == (
        2, [{"values": [["p", "DE"]], "files": 1, "rows": 1}, {"values": [["p", "FR"]], "files": 1, "rows": 5}],
    )  # fmt: skip


def test_nothing_is_missing_of_a_table_that_is_whole(sales: Table) -> None:
    preview = measured(sales)
    assert (preview["files"], preview["rows"], preview["bytes"], preview["sample"]) == (0, 0, 0, [])


def test_rows_without_a_count_in_the_log_are_unknown(sales: Table) -> None:
    place = Path(sales.path)
    small_delta.append_empty(place, "IT", counted=False)
    take(place, "IT")
    take(place, "FR")
    preview = measured(sales)
    assert (preview["files"], preview["rows"]) == (2, None)
    assert [row["rows"] for row in preview["by_partition"]] == [5, None]


def test_rows_that_a_deletion_vector_hides_are_not_lost_again(sales: Table) -> None:
    place = Path(sales.path)
    [first, _] = files_of(place, "FR")
    hide(place, first)
    (place / first).unlink()
    preview = measured(sales)
    assert (preview["files"], preview["rows"], preview["vectors_missing"]) == (1, 3, 0)


def test_a_file_whose_vector_alone_is_missing_stays(sales: Table) -> None:
    place = Path(sales.path)
    hide(place, files_of(place, "FR")[0])
    preview = measured(sales)
    assert (preview["files"], preview["vectors_missing"]) == (0, 1)
    assert "vectors_missing" in codes(preview)


def test_a_vector_beside_a_file_that_is_there_is_found_where_its_name_says(sales: Table) -> None:
    place = Path(sales.path)
    hide(place, files_of(place, "FR")[0], VECTOR | {"pathOrInlineDv": "^-aqEH.-t@S}K{vb[*k^"})
    (place / "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin").write_bytes(b"x")
    assert measured(sales)["vectors_missing"] == 0


def add_of(place: Path, path: str, values: dict[str, str]) -> None:
    stats = json.dumps({"numRecords": 2})
    add = {
        "path": path,
        "partitionValues": values,
        "size": 9,
        "modificationTime": 0,
        "dataChange": True,
        "stats": stats,
    }
    small_delta.commit(place, "WRITE", [{"add": add}])


def test_names_are_decoded_to_ask_storage_and_told_as_the_log_has_them(sales: Table) -> None:
    place = Path(sales.path)
    (place / "p=a b").mkdir()
    (place / "p=a b" / "there.parquet").write_bytes(b"x" * 9)
    add_of(place, "p=a%20b/there.parquet", {"p": "a b"})
    add_of(place, "p=a%20b/gone.parquet", {"p": "a b"})
    add_of(place, f"file://{place}/p=a%2520b/gone.parquet", {"p": "a%20b"})
    preview = measured(sales)
    assert preview["sample"] == [f"file://{place}/p=a%2520b/gone.parquet", "p=a%20b/gone.parquet"]
    assert [row["values"] for row in preview["by_partition"]] == [[["p", "a b"]], [["p", "a%20b"]]]


def test_files_outside_the_directory_are_never_looked_at_and_said(
    sales: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Path(sales.path)
    add_of(place, "/elsewhere/x.parquet", {"p": "FR"})
    add_of(place, "../y.parquet", {"p": "FR"})
    take(place, "DE")
    seen: list[str] = []
    lacks = LocalStorage.lacks

    def noting(self: LocalStorage, paths: Iterable[str]) -> Iterator[bool]:
        asked_for = list(paths)
        seen.extend(asked_for)
        return lacks(self, asked_for)

    monkeypatch.setattr(LocalStorage, "lacks", noting)
    preview = measured(sales)
    assert (preview["files"], preview["outside"], preview["files_total"]) == (1, 2, 6)
    assert "outside" in codes(preview)
    assert seen
    assert not [path for path in seen if "elsewhere" in path or "y.parquet" in path]


def test_a_table_without_partitions_has_none_to_name(lake: Any) -> None:
    place = lakes.delta(Path(lake.uri) / "flat", {"id": [1, 2, 3]})
    [file] = place.glob("*.parquet")
    file.unlink()
    preview = measured(factories.TableFactory(root=lake, name="flat", path=str(place)))
    assert (preview["files"], preview["rows"], preview["partitions"], preview["by_partition"]) == (1, 3, None, [])


def test_at_most_a_hundred_names_are_kept_and_the_digest_is_of_all(
    sales: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "NAMED", 1)
    place = Path(sales.path)
    names = [take(place, "FR"), take(place, "DE")]
    preview = measured(sales)
    assert (preview["sample"], preview["missing_sha256"]) == (sorted(names)[:1], digest_of(names))


# What is refused


def refusal(table: Table) -> Any:
    with pytest.raises(CommandRefused) as refused:
        measured(table)
    return refused.value.refusals[0]


def test_an_append_only_table_is_refused_with_delta_s_condition(lake: Any) -> None:
    small_delta.create(Path(lake.uri) / "log", [{"id": 1, "p": "FR"}], {"delta.appendOnly": "true"})
    table = factories.TableFactory(root=lake, name="log")
    for ask in (measured, lambda table: from_log(subject_of(table.pk))):
        with pytest.raises(CommandRefused) as refused:
            ask(table)
        assert refused.value.refusals[0].engine.condition == "DELTA_CANNOT_MODIFY_APPEND_ONLY"  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["directory", "link"])
def test_what_lies_there_and_is_no_file_is_refused_by_name(sales: Table, kind: str) -> None:
    place = Path(sales.path)
    name = take(place, "FR")
    if kind == "directory":
        (place / name).mkdir()
    else:
        (place / name).symlink_to(place / files_of(place, "DE")[0])
    found = refusal(sales)
    assert found.code == "unreadable"
    assert f"{name} is there, but is no regular file" in found.message


def test_a_time_that_runs_out_is_refused_with_how_far_it_came(sales: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0.0, 0.0, 10_000.0])
    monkeypatch.setattr("tables.deltalog.replay.absent_files.AT_ONCE", 1)
    clock.replace(monkeypatch, "tables.deltalog.replay.absent_files", monotonic=lambda: next(ticks, 10_000.0))
    subject = subject_of(sales.pk)
    with pytest.raises(CommandRefused) as refused:
        asked(subject)
    found = refused.value.refusals[0]
    assert (found.code, "1 of the table’s 4 files" in found.message) == ("too_many_files", True)


def test_more_than_one_commit_takes_is_refused(sales: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "MOST_MISSING", 1)
    take(Path(sales.path), "FR")
    take(Path(sales.path), "DE")
    assert refusal(sales).code == "too_many_files"


# What is known before


def before(table: Table) -> tuple[dict[str, Any], Subject]:
    subject = subject_of(table.pk)
    return from_log(subject), subject


def test_before_storage_is_asked_numbers_are_unknown(sales: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    take(Path(sales.path), "FR")
    monkeypatch.setattr(LocalStorage, "lacks", None)
    preview, _ = before(sales)
    assert {preview[name] for name in ("files", "rows", "bytes", "missing_sha256", "vectors_missing", "outside")} == {
        None
    }
    assert (preview["sample"], preview["last_check"], "asked_first" in codes(preview)) == ([], None, True)


def test_the_last_check_s_finding_is_told_as_far_as_its_files_are_live(sales: Table) -> None:
    place = Path(sales.path)
    name = take(place, "FR")
    found = [Unlike(name, 9, None), Unlike("p=FR/other.parquet", 9, None)]
    subject = subject_of(sales.pk)
    check = file_check.of_look(subject.version, timezone.now(), 4, 4, found)
    Table.objects.filter(pk=sales.pk).update(file_check=check)
    preview, _ = before(sales)
    assert preview["sample"] == [name]
    assert preview["by_partition"] == [{"values": [["p", "FR"]], "files": 1, "rows": 5}]
    assert (preview["last_check"]["missing"], preview["last_check"]["asked"]) == (2, 4)
