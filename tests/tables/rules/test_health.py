from __future__ import annotations

import ast
import inspect
from datetime import UTC, datetime, timedelta

import pytest

from tables.deltalog.rules.property_types import ValueFault
from tables.deltalog.rules.property_values import UnreadValue
from tables.deltalog.rules.schema import Column, Primitive, Struct
from tables.deltalog.rules.schema_limits import schema_limits
from tables.rules import health, schema_findings
from tables.rules.health import Facts, StoredFiles, findings, missing, old_files, stale
from tables.rules.health_findings import ERRORS, HealthCode, Severity
from tables.rules.property_faults import PropertyFaults

NOW = datetime(2026, 11, 20, tzinfo=UTC)
UNREAD = UnreadValue("delta.appendOnly", "yes", ValueFault('For input string: "yes"'))


TWO_LIMITS = Struct((Column("a", Primitive("time(6)"), True), Column("b", Primitive("interval day"), True)))


def codes(**facts: object) -> list[str]:
    return [finding.code for finding in findings(Facts(**facts))]  # type: ignore[arg-type]


def test_what_is_unknown_finds_nothing() -> None:
    assert findings(Facts()) == []


@pytest.mark.parametrize(
    ("small", "found"), [(399, []), (400, [HealthCode.SMALL_FILES]), (1000, [HealthCode.SMALL_FILES])]
)
def test_small_files_count_from_their_share(small: int, found: list[str]) -> None:
    assert codes(num_files=1000, small_files=small, small_bytes=1, size_bytes=100) == found


@pytest.mark.parametrize(
    ("alone", "found"),
    [(None, HealthCode.SMALL_FILES), (0, HealthCode.SMALL_FILES), (75, HealthCode.SMALL_FILES),
     (76, HealthCode.OVER_PARTITIONED), (150, HealthCode.OVER_PARTITIONED)],
)  # fmt: skip
def test_small_files_that_nothing_can_join_are_named_by_their_cause(alone: int | None, found: HealthCode) -> None:
    [finding] = findings(Facts(num_files=150, small_files=150, small_alone=alone, num_partitions=150))
    assert finding.code == found
    assert ("OPTIMIZE" in finding.advice) is (found == HealthCode.SMALL_FILES)
    assert ("too many partitions" in finding.advice) is (found == HealthCode.OVER_PARTITIONED)


def test_a_small_table_may_have_small_files() -> None:
    assert codes(num_files=99, small_files=99) == []


@pytest.mark.parametrize(
    ("files", "vectors", "found"),
    [(30, 9, []), (100, 30, []), (100, 31, [HealthCode.DELETION_VECTORS]), (12, 12, [HealthCode.DELETION_VECTORS])]
)  # fmt: skip
def test_deletion_vectors_count_from_their_share_of_the_files(files: int, vectors: int, found: list[str]) -> None:
    assert codes(num_files=files, files_with_vectors=vectors) == found


@pytest.mark.parametrize(("largest", "median", "found"), [(10, 1, [HealthCode.SKEW]), (9, 1, []), (10, 0, [])])
def test_skew_is_the_largest_partition_against_the_median(largest: int, median: int, found: list[str]) -> None:
    assert codes(largest_partition_bytes=largest * 2**30, median_partition_bytes=median * 2**30) == found
    assert codes(largest_partition_bytes=largest, median_partition_bytes=median) == []


def test_files_without_statistics_are_counted() -> None:
    (finding,) = findings(Facts(num_files=10, files_with_statistics=8))
    assert finding.code == HealthCode.MISSING_STATISTICS
    assert finding.value == 0.8
    assert finding.text.startswith("2 of 10 files have no statistics")
    assert codes(num_files=10, files_with_statistics=10) == []


def test_a_log_without_checkpoint_or_too_long_is_named() -> None:
    assert codes(commits_since_checkpoint=101, log_bytes=2**31) == [HealthCode.NO_CHECKPOINT, HealthCode.LONG_LOG]
    assert codes(commits_since_checkpoint=100, log_bytes=2**30) == []


def test_the_worst_comes_first() -> None:
    found = findings(
        Facts(unknown_features=("x",), commits_since_checkpoint=500, recreated_at=NOW, broken_entries=("a: cut",))
    )
    assert [finding.severity for finding in found] == [Severity.ERROR, Severity.ERROR, Severity.WARNING, Severity.NOTE]


def test_every_finding_says_what_to_do() -> None:
    facts = Facts(
        num_files=1000,
        small_files=900,
        files_with_vectors=900,
        files_with_statistics=1,
        largest_partition_bytes=2**40,
        median_partition_bytes=1,
        commits_since_checkpoint=1000,
        log_bytes=2**40,
        unknown_features=("x",),
        locking_out=("the feature y",),
        properties=PropertyFaults((UNREAD,), (UNREAD,), "Couldn't find column x in the table's schema."),
        schema_limits=tuple(schema_limits(TWO_LIMITS)),
        unknown_actions=("a",),
        broken_entries=("a", "b"),
        stopping=(("a.crc", "its schema differs"), ("b.checkpoint.parquet", "it is damaged")),
        pointer="it is not JSON",
        stored=StoredFiles(7, NOW, 2, "a.parquet", 1, "b.parquet: 5 bytes, and the log says 6", 1, "c.bin"),
        outside_files=3,
        recreated_at=NOW,
        rewritten=(5, "2026-11-19", ("v5 DELETE",)),
    )
    spread = findings(Facts(num_files=900, small_files=900, small_alone=900))
    found = [
        *findings(facts),
        *spread,
        missing("/lake/t"),
        stale(NOW - timedelta(days=9), NOW),
        old_files(2**40, 2**41),
    ]
    assert {finding.code for finding in found if finding} == set(HealthCode)
    assert all(finding and finding.advice and finding.text for finding in found)


def test_many_columns_are_counted_and_three_of_them_named() -> None:
    columns = tuple(Column(f"c{number}", Primitive("interval day"), True) for number in range(5))
    [finding] = findings(Facts(schema_limits=tuple(schema_limits(Struct(columns)))))
    assert (finding.code, finding.value) == (HealthCode.UNSUPPORTED_COLUMNS, 5)
    assert [name for name in ("c0", "c1", "c2", "c3", "c4") if f"column {name} " in finding.text] == ["c0", "c1", "c2"]
    assert "2 more" in finding.text


def test_an_entry_is_stale_after_two_days() -> None:
    assert stale(NOW - timedelta(days=2), NOW) is None
    assert stale(None, NOW) is None
    found = stale(NOW - timedelta(days=2, seconds=1), NOW)
    assert found is not None
    assert found.code == HealthCode.STALE_SYNC


def test_the_codes_that_count_as_errors_are_those_whose_findings_are_errors() -> None:
    """Lists of tables ask the database by these codes, pages by what each finding says of itself."""
    trees = [ast.parse(inspect.getsource(module)) for module in (health, schema_findings)]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    made = [call for call in calls if ast.unparse(call.func) == "HealthFinding"]
    found = {(ast.unparse(call.args[0]), ast.unparse(call.args[1])) for call in made}
    errors = {code for code, severity in found if severity == "Severity.ERROR"}
    assert len(found) > len(errors) > 0
    assert errors == {f"HealthCode.{HealthCode(code).name}" for code in ERRORS}
    assert errors.isdisjoint(code for code, severity in found if severity != "Severity.ERROR")
