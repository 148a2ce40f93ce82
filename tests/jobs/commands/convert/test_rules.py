"""A conversion by name: what the catalog's entry declares, and what Delta says when the command disagrees."""

import pytest

from jobs.commands.convert.rules import (
    Convert,
    check_convert,
    declared_fields,
    no_partition_refusal,
    partition_fields,
    type_conflicts,
)
from jobs.commands.registry import command_from_json
from jobs.domain.commands import command_to_json
from jobs.domain.errors import CommandRefused
from jobs.domain.partitions import PartitionField


def struct(**types):
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in types.items()]
    return {"type": "struct", "fields": fields}


def by_name(partition_schema=None, schema=None, partitions=None):
    return Convert(None, "shop.t", "parquet", partition_schema, True, "/lake/t", schema, partitions)


def test_a_command_with_an_entry_is_stored_and_read_back():
    command = by_name("p int", struct(id="long", p="integer"), ["p"])
    assert command_from_json("convert", 1, command_to_json(command)) == command


def test_a_command_stored_before_entries_were_is_read():
    stored = {"path": "/lake/t", "name": None, "source_format": "parquet", "partition_schema": None, "location": None}
    command = command_from_json("convert", 1, stored)
    assert isinstance(command, Convert)
    assert command.declared_schema is None


def test_the_catalog_types_its_partitions():
    schema = struct(id="long", p="short", d="decimal(10,2)", day="date")
    fields = declared_fields(by_name(schema=schema, partitions=["day", "p", "d"]))
    assert fields == (
        PartitionField("day", "date"),
        PartitionField("p", "smallint"),
        PartitionField("d", "decimal(10,2)"),
    )


def test_without_an_entry_the_commands_partitions_count():
    assert partition_fields(by_name("p int")) == (PartitionField("p", "int"),)
    assert partition_fields(by_name()) == ()


@pytest.mark.parametrize("given", [None, "p int", "`p` INTEGER"])
def test_a_partition_schema_that_agrees_is_none_to_refuse(given):
    assert check_convert(by_name(given, struct(id="long", p="integer"), ["p"])) == ()


@pytest.mark.parametrize(("given", "partitions"), [("p string", ["p"]), ("P int", ["p"]), ("p int", [])])
def test_one_that_disagrees_is_refused_in_deltas_words(given, partitions):
    (found,) = check_convert(by_name(given, struct(id="long", p="integer"), partitions))
    assert (found.code, found.place) == ("partition_mismatch", "partition_schema")
    assert found.engine is not None
    assert (found.engine.condition, found.engine.sqlstate) == ("DELTA_UNEXPECTED_PARTITION_SCHEMA_FROM_USER", "KD009")


def test_a_partition_type_that_no_directory_tells_is_refused():
    with pytest.raises(CommandRefused):
        partition_fields(by_name(schema=struct(id="long", p="timestamp_ntz"), partitions=["p"]))
    assert check_convert(by_name(schema=struct(id="long", p={"type": "struct", "fields": []}), partitions=["p"]))


def test_no_partition_names_the_table_as_spark_does():
    assert "table spark_catalog.shop.t." in no_partition_refusal(by_name(), "/lake/t").message


@pytest.mark.parametrize(
    ("declared", "files", "conflicts"),
    [
        ("long", "long", False),
        ("long", "integer", False),
        ("integer", "long", True),
        ("double", "float", False),
        ("string", "long", True),
        ("decimal(12,2)", "decimal(10,2)", False),
        ("decimal(12,4)", "decimal(10,2)", False),
        ("decimal(10,4)", "decimal(10,2)", True),
        ("decimal(12,1)", "decimal(10,2)", True),
        ("long", {"type": "struct", "fields": []}, True),
        ({"type": "array"}, {"type": "map"}, True),
    ],
)
def test_files_are_read_by_a_declared_type_or_not(declared, files, conflicts):
    found = list(type_conflicts(struct(ID=declared), struct(id=files)))
    assert bool(found) is conflicts


def test_a_column_that_no_file_has_conflicts_with_nothing():
    assert list(type_conflicts(struct(id="long", x="string"), struct(id="long"))) == []
