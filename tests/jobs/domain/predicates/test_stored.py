"""Trees as JSON and as text: both ways, nothing lost."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.domain.errors import CommandRefused
from jobs.domain.predicates.printing import to_text
from jobs.domain.predicates.stored import from_json, to_json
from jobs.domain.predicates.tree import columns
from jobs.predicates.reading import parse
from tests.jobs.predicates.making import SCHEMA, Maker


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_tree_prints_to_text_that_parses_to_the_same_tree(seed):
    text = Maker(random.Random(seed)).condition()
    try:
        tree = parse(text, SCHEMA)
    except CommandRefused:
        return
    assert parse(to_text(tree), SCHEMA) == tree
    assert to_text(parse(to_text(tree), SCHEMA)) == to_text(tree)
    assert from_json(json.loads(json.dumps(to_json(tree)))) == tree


def test_most_conditions_that_the_tests_make_are_accepted():
    """A parser that refused them would leave the test above with nothing to look at."""

    def is_accepted(seed):
        try:
            parse(Maker(random.Random(seed)).condition(), SCHEMA)
        except CommandRefused:
            return False
        return True

    assert sum(map(is_accepted, range(300))) > 200


@settings(max_examples=300, deadline=None)
@given(value=st.text(max_size=20).filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text)))
def test_any_text_can_be_printed_and_read_back(value):
    from jobs.domain.predicates.tree import ColumnPath, Comparison, Literal

    tree = Comparison("=", ColumnPath(("name",)), Literal("string", value))
    printed = to_text(tree)
    assert printed.isprintable()
    assert parse(printed, SCHEMA) == tree


def test_the_columns_are_named_as_the_schema_has_them():
    tree = parse("NESTED.X = 1 AND (Name = 'a' OR PRICE > 1)", SCHEMA)
    assert columns(tree) == {("nested", "x"), ("name",), ("Price",)}


@pytest.mark.parametrize(
    "value", [{}, {"node": "shell"}, {"node": "not"}, {"node": "column", "path": 1}, {"node": "literal"}, 5]
)
def test_what_is_no_stored_tree_is_refused(value):
    with pytest.raises(ValueError, match="no stored predicate"):
        from_json(value)
