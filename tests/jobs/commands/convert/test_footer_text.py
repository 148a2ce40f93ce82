"""What a footer's Spark schema says, compared with the columns of its file: no false alarm, and each difference by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from jobs.commands.convert.rules import Convert, decided
from jobs.commands.convert.spark.footer_text import NAMED_KINDS, difference, footer_refusals
from jobs.commands.convert.spark.schemas import parquet_type
from jobs.domain.results import FooterDifference, Inspection
from jobs.engine.walk import WalkOrder, WorkShare, scan
from tables.storage.local.tree import LocalReach
from tests import factories
from tests.jobs.commands.convert.test_rules import struct

ROW_METADATA = b"org.apache.spark.sql.parquet.row.metadata"


def compared(text: dict[str, Any], file: dict[str, Any], *partitions: str) -> FooterDifference | None:
    return difference(text, file, partitions, "a.parquet", 1)


def array(element: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": False}


def mapped(value: Any) -> dict[str, Any]:
    return {"type": "map", "keyType": "string", "valueType": value, "valueContainsNull": True}


UDT = {"type": "udt", "class": "VectorUDT", "sqlType": struct(values=array("double"))}


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("timestamp", "timestamp_ntz"),
        ("timestamp_ntz", "timestamp"),
        ("decimal(9,2)", "decimal(9,2)"),
        ("decimal(12,4)", "decimal(9,2)"),
        ("char(3)", "string"),
        ("varchar(10)", "string"),
        ("string collate UNICODE_CI", "string"),
        ("binary", "string"),
        ("string", "binary"),
        ("interval day to second", "long"),
        ("interval year to month", "integer"),
        ("long", "integer"),
        ("double", "float"),
        ("variant", struct(value="binary", metadata="binary")),
        ("variant", "variant"),
        ("geometry(OGC:CRS84)", "binary"),
        ("void", "integer"),
        (UDT, struct(values=array("double"))),
        (array("string"), {**array("string"), "containsNull": True}),
        (array(struct(a="long")), array(struct(A="long"))),
        (mapped("timestamp"), mapped("timestamp_ntz")),
    ],
)
def test_types_that_are_stored_alike_are_no_difference(text: Any, file: Any) -> None:
    assert compared(struct(c=text), struct(c=file)) is None


def test_order_case_and_nullability_are_no_difference() -> None:
    file = struct(Name="string", ID="long")
    file["fields"][0]["nullable"] = False
    assert compared(struct(id="long", name="string"), file) is None


def test_a_column_of_the_directories_is_no_difference() -> None:
    assert compared(struct(id="long", Day="date"), struct(id="long"), "day") is None
    assert compared(struct(id="long"), struct(id="long", day="string"), "day") is None


@pytest.mark.parametrize(
    ("text", "file", "only_in_file", "only_in_text", "types"),
    [
        (struct(id="long"), struct(id="long", added="string"), ("added",), (), ()),
        (struct(id="long", gone="string"), struct(id="long"), (), ("gone",), ()),
        (struct(id="long"), struct(id="double"), (), (), (("id", "long", "double"),)),
        (struct(id="integer"), struct(id="long"), (), (), (("id", "integer", "long"),)),
        (struct(d="decimal(9,2)"), struct(d="decimal(12,2)"), (), (), (("d", "decimal(9,2)", "decimal(12,2)"),)),
        (struct(t="timestamp"), struct(t="long"), (), (), (("t", "timestamp", "long"),)),
        (struct(s=struct(a="long")), struct(s=struct(a="long", b="string")), ("s.b",), (), ()),
        (struct(l=array(struct(a="long"))), struct(l=array(struct(b="long"))), ("l.element.b",), ("l.element.a",), ()),
        (struct(m=mapped("string")), struct(m=mapped("long")), (), (), (("m.value", "string", "long"),)),
        (struct(s="string"), struct(s=struct(a="long")), (), (), (("s", "string", "struct"),)),
        (struct(s=array("long")), struct(s="string"), (), (), (("s", "array", "string"),)),
    ],
)
def test_each_difference_is_named(
    text: dict[str, Any],
    file: dict[str, Any],
    only_in_file: tuple[str, ...],
    only_in_text: tuple[str, ...],
    types: tuple[tuple[str, str, str], ...],
) -> None:
    assert compared(text, file) == FooterDifference("a.parquet", 1, only_in_file, only_in_text, types)


def test_a_person_is_asked_for_each_kind_of_files_and_may_accept_them() -> None:
    kinds = [
        FooterDifference(f"{n}.parquet", n + 1, ("added",), ("gone",), (("id", "long", "double"),)) for n in range(7)
    ]
    refusals = footer_refusals(kinds)
    assert [refusal.code for refusal in refusals] == ["footer_schema"] * (NAMED_KINDS + 1)
    for words in (
        "1.parquet (and of 1 other file)",
        "leaves out added",
        "names gone",
        "id long where the file holds double",
    ):
        assert words in refusals[1].message
    stored = {**factories.inspection("/lake/t"), "refusals": [each.as_json() for each in refusals]}
    seen = decided(Convert("/lake/t", None, "parquet", None, accept=["footer_schema"]), Inspection.from_json(stored))
    assert (seen.refusals, len(seen.notes)) == ((), NAMED_KINDS + 1)


def test_differences_survive_json() -> None:
    inspection = Inspection.from_json(factories.inspection("/lake/t"))
    found = FooterDifference("a.parquet", 2, ("x",), (), (("id", "long", "double"),))
    again = Inspection.from_json({**inspection.as_json(), "footers": [{**vars_of(found)}]})
    assert again.footers == (found,)
    assert found.same_as(FooterDifference("b.parquet", 9, ("x",), (), (("id", "long", "double"),)))


def vars_of(found: FooterDifference) -> dict[str, Any]:
    return {
        "example": found.example,
        "files": found.files,
        "only_in_file": list(found.only_in_file),
        "only_in_text": list(found.only_in_text),
        "types": [list(each) for each in found.types],
    }


def written(file: Path, columns: dict[str, Any], text: bytes) -> None:
    table = pa.table(columns)
    pq.write_table(table.replace_schema_metadata({ROW_METADATA: text}), file)


def test_files_of_one_text_and_other_columns_are_two_kinds(tmp_path: Path) -> None:
    written(tmp_path / "a.parquet", {"id": [1]}, b"{}")
    written(tmp_path / "b.parquet", {"id": [2]}, b"{}")
    written(tmp_path / "c.parquet", {"id": [1], "more": ["x"]}, b"{}")
    written(tmp_path / "d.parquet", {"id": [1]}, b"{ }")
    found = scan([WorkShare(tree="")], WalkOrder(str(tmp_path), True, (), LocalReach()))
    assert sorted(files for files, _ in found.schemas.values()) == [1, 1, 2]


def test_a_type_of_parquet_is_one_line_without_its_name() -> None:
    text = "optional int64 ts (TIMESTAMP(NANOS,false))"
    assert parquet_type(text, "ts") == "optional int64 (TIMESTAMP(NANOS,false))"
    assert "\n" not in parquet_type("optional group g {\n  optional int96 ts;\n}", "g")
