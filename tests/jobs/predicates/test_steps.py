"""No text makes reading it endless: work is counted as calls, and what is twice as long takes at most a little over twice as many."""

import sys

import pytest

from jobs.domain.errors import CommandRefused
from jobs.domain.predicates import folding
from jobs.domain.predicates.checking import Checker
from jobs.domain.predicates.parts import MAX_STEPS, Misfit, StepCounter
from jobs.domain.predicates.patterns import TooLong, matches
from jobs.domain.predicates.printing import to_text
from jobs.domain.predicates.schema import Field, Schema
from jobs.domain.predicates.stored import from_json, to_json
from jobs.domain.predicates.tree import walk
from jobs.predicates.reading import MAX_LENGTH, parse

SCHEMA = Schema(
    (
        Field("n", "int"),
        Field("b", "boolean"),
        Field("t", "string"),
        Field("d", "date"),
        Field("x", "double"),
        Field("v", "decimal(10,2)"),
        Field("nested", "struct", True, (Field("x", "int"),)),
    )
)
# 64 kB of the longest texts take about a million; a million take some tenths of a second.
MOST_CALLS = 2_500_000


def nested(before, core, after):
    return lambda k: before * k + core + after * k


def joined(word, term):
    return lambda k: word.join(term.replace("#", str(i)) for i in range(k))


# Brackets and functions, at most 30 levels deep.
NESTED = {
    "brackets": nested("(", "n = 1", ")"),
    "brackets around a value": lambda k: "n = " + nested("(", "1", ")")(k),
    "sums to the right": lambda k: "n = " + nested("(1 + ", "1", ")")(k),
    "minuses": lambda k: "n = " + nested("-(", "n", ")")(k),
    "NOT": nested("NOT (", "n = 1", ")"),
    "NOT without brackets": lambda k: "NOT " * k + "b",
    "AND": nested("(n = 1 AND ", "x = 2", ")"),
    "AND in OR": lambda k: nested("(n = 1 AND (x = 3 OR ", "x = 2", "))")(k // 2),
    "= of conditions": nested("(", "b", ") = TRUE"),
    "= of conditions to the right": lambda k: "TRUE = " + nested("(TRUE = ", "b", ")")(k - 1),
    "= of columns": lambda k: nested("(", "b", " = b)")(k) + " = TRUE",
    "BETWEEN": nested("(", "b", ") BETWEEN FALSE AND TRUE"),
    "BETWEEN of constants": lambda k: "b = " + nested("(", "TRUE", " BETWEEN FALSE AND TRUE)")(k),
    "BETWEEN to the right": lambda k: "b = " + nested("(TRUE BETWEEN FALSE AND ", "TRUE", ")")(k),
    "IN": nested("(", "n IN (1)", ") IN (TRUE)"),
    "IN of many": nested("(", "n IN (1)", ") IN (TRUE, TRUE, TRUE, TRUE)"),
    "IS NULL": nested("(", "b IS NULL", ") IS NULL"),
    "LIKE": lambda k: nested("CAST((", "t", " LIKE 'a%') AS STRING)")(k // 2) + " = 'x'",
    "CAST": lambda k: nested("CAST(", "n", " AS INT)")(k) + " = 1",
    "CAST of a constant": lambda k: "n = " + nested("CAST(", "1", " AS INT)")(k),
    "functions": lambda k: nested("abs(", "n", ")")(k) + " = 1",
    "functions of two": lambda k: nested("coalesce(1, ", "n", ")")(k) + " = 1",
    "backquotes": lambda k: nested("(", "`n` = 1", ")")(k),
}
# As many as there is room for, or a bound of their own.
LONG = {
    "sum of constants": lambda k: "n = " + joined(" + ", "1")(k),
    "sum of columns": lambda k: "n = " + joined("+", "n")(k),
    "product": lambda k: "x = " + joined("*", "x")(k),
    "DIV": lambda k: "n = " + joined(" DIV ", "1")(k),
    "days": lambda k: "d = d" + " + 1" * k,
    "AND": joined(" AND ", "n = #"),
    "OR": joined(" OR ", "n = #"),
    "AND in OR": joined(" OR ", "n = # AND x = #"),
    "NOT": joined(" AND ", "NOT n = #"),
    "IN": lambda k: f"n IN ({joined(',', '#')(k)})",
    "BETWEEN": joined(" OR ", "n BETWEEN # AND 1000000"),
    "LIKE": joined(" OR ", "t LIKE '#%'"),
    "arguments": lambda k: f"concat({joined(',', 't')(k)}) = 'a'",
    "backquotes": joined(" OR ", "`n` = #"),
    "a name of backquotes": lambda k: "`" + "``" * k + "` = 1",
    "points": lambda k: joined(".", "nested")(k) + " = 1",
    "a type of brackets": lambda k: "CAST(n AS " + "(" * k,
    "a type of words": lambda k: "CAST(n AS " + "a " * k,
    "CASE": lambda k: "CASE " + "WHEN n = 1 THEN 1 " * k + "END",
    "= of =": lambda k: "n" + " = n" * k,
    "<=> of <=>": lambda k: "n" + " <=> n" * k,
    "IS NULL of IS NULL": lambda k: "n" + " IS NULL" * k,
    "NOT IN of NOT IN": lambda k: "n" + " NOT IN (1)" * k,
    "IS NULL of =": lambda k: "n = 1" + " = n IS NULL" * k,
    "BETWEEN of BETWEEN": lambda k: "n" + " BETWEEN 1 AND 2" * k,
    "LIKE of LIKE": lambda k: "t" + " LIKE 'a'" * k,
    "open brackets in IN": lambda k: "n IN (" + "(" * k,
    "blanks": lambda k: "n" + " " * k + "= 1",
    "digits": lambda k: "n = " + "1" * k,
    "digits behind the point": lambda k: "v = 1." + "1" * k,
    "digits in a text": lambda k: "n = '" + "1" * k + "'",
    "quotes": lambda k: "t = '" + "''" * k + "'",
    "backslashes": lambda k: "t = '" + "\\\\" * k + "'",
    "wildcards of a constant": lambda k: "b = ('" + "a" * k + "' LIKE '" + "%a" * (k // 2) + "b')",
    "one-character wildcards of a constant": lambda k: "b = ('" + "a" * k + "' LIKE '" + "%_a" * (k // 3) + "b%')",
}


def read(text):
    """The tree; None where it is refused in words."""
    try:
        return parse(text, SCHEMA)
    except CommandRefused:
        return None


def calls_of(function):
    """How many functions were called meanwhile, Python's and C's."""
    calls = 0

    def seen(_frame, event, _argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        function()
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("shape", NESTED)
def test_nesting_twice_as_deep_takes_little_more_than_twice_the_work(shape):
    made = NESTED[shape]
    few, many = (calls_of(lambda k=k: read(made(k))) for k in (14, 28))
    assert many < 3 * few
    assert read(made(14)) is not None
    assert read(made(100)) is None


@pytest.mark.parametrize("shape", LONG)
def test_twice_as_many_terms_take_little_more_than_twice_the_work(shape):
    made = LONG[shape]
    few, many = (calls_of(lambda k=k: read(made(k))) for k in (50, 100))
    assert many < 2.5 * few + 500


@pytest.mark.parametrize("shape", LONG)
def test_the_longest_text_is_read_or_refused_within_a_bound(shape):
    made = LONG[shape]
    sizes = (100, 1_000, 2_000, 4_000, 10_000, 32_000, 65_000)
    longest = max((made(k) for k in sizes if len(made(k)) <= MAX_LENGTH), key=len)
    assert calls_of(lambda: read(longest)) < MOST_CALLS


@pytest.mark.parametrize("shape", [*LONG, *NESTED])
def test_what_is_done_with_a_tree_grows_with_it(shape):
    made = LONG.get(shape) or NESTED[shape]
    trees = [read(made(k)) for k in (14, 28)]
    if None in trees:
        return
    few, many = (calls_of(lambda tree=tree: from_json(to_json(tree)) == tree and to_text(tree)) for tree in trees)
    assert many < 3 * few


@pytest.mark.parametrize("shape", ["sum of columns", "OR", "BETWEEN", "IN"])
def test_each_part_is_judged_once(shape):
    tree = read(LONG[shape](90))
    checker = Checker(SCHEMA)
    checker.condition(tree)
    folding.check(tree, checker)
    assert checker.steps.taken <= 2 * sum(1 for _ in walk(tree))


def test_judging_stops_at_its_bound():
    tree = read("n = 1 + 2 + 3")
    checker = Checker(SCHEMA, StepCounter(5))
    with pytest.raises(Misfit, match="more than 5 steps"):
        checker.condition(tree)
    assert Checker(SCHEMA).steps.most == MAX_STEPS


def test_a_condition_around_a_thousand_others_is_refused_where_it_begins():
    with pytest.raises(CommandRefused) as caught:
        parse("b AND n" + " = n" * 1_000, SCHEMA)
    (found,) = caught.value.refusals
    assert found.message == "a condition inside a condition needs brackets"
    assert found.place == "position 7"


def test_like_is_worked_out_for_long_texts_and_given_up_for_endless_ones():
    assert matches("a" * 30_000, "%a" * 15_000 + "%", "\\")
    assert not matches("a" * 30_000, "%a" * 15_000 + "b", "\\")
    assert matches("2024-01-15", "2024-__-%", "\\")
    with pytest.raises(TooLong):
        matches("a" * 30_000, "%_a" * 9_000 + "%", "\\")
