"""Which columns of two versions belong together, and whether the newer version can read the older one's files."""

import pytest

from jobs.engine.row_diff.columns import Pairing, Reading, Versions, paired
from tables.deltalog.rules.schema import MAPPING_ID, PHYSICAL_NAME, Array, Column, Map, Primitive, Struct


def column(name, kind="integer", number=None, physical=None):
    metadata = {} if number is None else {MAPPING_ID: number, PHYSICAL_NAME: physical or f"col-{number}"}
    return Column(name, Primitive(kind) if isinstance(kind, str) else kind, True, metadata)


def versions(*columns, partitions=()):
    return Versions(Struct(columns), partitions)


def pairing(before, after, **more):
    return paired(versions(*before), versions(*after), **more)


def test_the_same_columns_are_read_as_they_are():
    before = versions(column("a"), column("s", Struct((column("x"),))))
    commented = Column("a", Primitive("integer"), False, {"comment": "a number"})
    after = versions(commented, column("s", Struct((column("x"),))))
    assert paired(before, after) == Pairing(Reading.OWN, (("a", "a"), ("s", "s")))


def test_columns_in_another_order_are_the_same():
    assert pairing([column("a"), column("b")], [column("B"), column("a")]).pairs == (("b", "B"), ("a", "a"))


def test_a_renamed_column_is_the_one_with_its_id():
    found = pairing([column("a", number=1), column("b", number=2)], [column("b", number=1), column("a", number=2)])
    assert (found.reading, found.pairs) == (Reading.OWN, (("a", "b"), ("b", "a")))


def test_a_column_that_took_a_name_is_another():
    found = pairing([column("k", number=1), column("a", number=2)], [column("k", number=1), column("a", number=3)])
    assert (found.reading, found.added, found.removed) == (Reading.NEWER, ("a",), ("a",))


def test_a_new_column_is_read_with_the_newer_version_and_a_gone_one_is_not_compared():
    before = [column("a"), column("s", Struct((column("x"), column("old.name"))))]
    found = pairing(before, [column("a"), column("b"), column("s", Struct((column("x"), column("y"))))])
    assert (found.reading, found.added, found.removed) == (Reading.NEWER, ("b", "s.y"), ("s.`old.name`",))
    assert found.pairs == (("a", "a"), ("b", "b"), ("s", "s"))


@pytest.mark.parametrize(
    ("before", "after"), [("integer", "long"), ("float", "double"), ("decimal(5,2)", "decimal(10,2)")]
)
def test_a_widened_type_is_read_with_the_newer_version(before, after):
    assert pairing([column("a", before)], [column("a", after)]).reading is Reading.NEWER


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("long", "integer"), ("integer", "string"), ("integer", Array(Primitive("integer"), True)),
        (Array(Primitive("string"), True), Array(Primitive("date"), True)),
        (Map(Primitive("string"), Primitive("string"), True), Map(Primitive("string"), Primitive("date"), True)),
    ],
)  # fmt: skip
def test_a_column_of_another_type_is_not_compared(before, after):
    found = pairing([column("a", before), column("k")], [column("k"), column("a", after)])
    assert (found.reading, found.pairs) == (Reading.COMMON, (("k", "k"),))
    assert set(found.changed) in ({"a"}, {"a", "a.element"}, {"a", "a.value"})
    assert len(found.changed) == len(set(found.changed))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("integer", "long"), (Struct((column("x"),)), Struct((column("x"), column("y")))),
        (Struct((column("x", number=7),)), Struct((column("renamed", number=7),))),
    ],
)  # fmt: skip
def test_a_column_that_only_the_newer_version_could_compare_is_told_beside_one_of_another_type(before, after):
    found = pairing(
        [column("k"), column("i.d", before), column("v", "string")],
        [column("k"), column("i.d", after), column("v", "date")],
    )
    assert (found.reading, found.pairs) == (Reading.COMMON, (("k", "k"),))
    assert set(found.changed) == {"v", "`i.d`"}


def test_nullable_elements_are_no_other_type():
    found = pairing([column("a", Array(Primitive("long"), False))], [column("a", Array(Primitive("long"), True))])
    assert found.reading is Reading.OWN


def test_other_partition_columns_are_read_by_each_version():
    before = Versions(Struct((column("a"), column("p"))), ["p"])
    found = paired(before, Versions(Struct((column("a"), column("p"), column("b"))), []))
    assert (found.reading, found.pairs, found.added) == (Reading.COMMON, (("a", "a"), ("p", "p")), ("b",))


def test_columns_under_other_names_in_the_files_are_read_by_each_version():
    """Column mapping was taken away, or the table was replaced: the newer version would find no values in the older one's files."""
    found = pairing([column("a", number=1), column("b", number=2)], [column("a"), column("c")])
    assert (found.reading, found.pairs) == (Reading.COMMON, (("a", "a"),))


def test_column_mapping_that_was_turned_on_keeps_the_names_in_the_files():
    found = pairing([column("a")], [column("a", number=1, physical="a"), column("b", number=2)])
    assert (found.reading, found.added) == (Reading.NEWER, ("b",))


def test_a_column_that_was_renamed_since_column_mapping_was_turned_on_is_the_one_with_its_name_in_the_files():
    found = pairing([column("a")], [column("b", number=1, physical="a"), column("a", number=2)])
    assert (found.reading, found.pairs, found.added) == (Reading.NEWER, (("b", "b"), ("a", "a")), ("a",))
    assert found.removed == ()
    found = pairing([column("a"), column("v")], [column("b", number=1, physical="a"), column("a", number=2)])
    assert (found.added, found.removed) == (("a",), ("v",))


def test_what_the_newer_version_can_not_read_is_read_by_each_version():
    before, after = [column("a")], [column("a"), column("b")]
    assert pairing(before, after, by_newer=False) == Pairing(Reading.COMMON, (("a", "a"),), ("b",))
    assert pairing(before, before, by_newer=False).reading is Reading.OWN


def test_a_struct_with_a_field_of_another_name_or_place_is_another_type():
    before = column("s", Struct((column("x", number=2), column("y", number=3))), number=1)
    renamed = column("s", Struct((column("x", number=2), column("z", number=3))), number=1)
    turned = column("s", Struct((column("y", number=3), column("x", number=2))), number=1)
    for after in (renamed, turned):
        assert pairing([before], [after]).reading is Reading.NEWER
        assert pairing([before], [after], by_newer=False).pairs == ()


def test_versions_without_a_common_column_have_no_pairs():
    assert pairing([column("a", "string")], [column("b", "string"), column("A", "date")]).pairs == ()
