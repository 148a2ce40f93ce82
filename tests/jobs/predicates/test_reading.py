"""What people write is read as they meant it; what can't be trusted is refused with its place, the reason and the accepted way."""

import pytest

from jobs.domain.errors import CommandRefused
from jobs.domain.predicates.printing import to_text
from jobs.domain.predicates.schema import Field, Schema
from jobs.domain.predicates.tree import Or
from jobs.predicates.reading import MAX_LENGTH, parse

SCHEMA = Schema(
    (
        Field("id", "bigint", nullable=False),
        Field("n", "int"),
        Field("t", "tinyint"),
        Field("name", "string"),
        Field("Price", "decimal(10,2)"),
        Field("d", "double"),
        Field("f", "float"),
        Field("day", "date"),
        Field("at", "timestamp"),
        Field("ntz", "timestamp_ntz"),
        Field("ok", "boolean"),
        Field("b", "binary"),
        Field("a", "struct", True, (Field("x", "int"), Field("y z", "string"))),
        Field("arr", "array"),
        Field("date", "date"),
        Field("we`ird.x", "int"),
        Field("DUP", "int"),
        Field("dup", "int"),
    )
)


def refusal(text):
    with pytest.raises(CommandRefused) as caught:
        parse(text, SCHEMA)
    (found,) = caught.value.refusals
    assert found.code == "predicate_refused"
    assert found.remedy
    return found


ACCEPTED = {
    "id = 5": "id = 5",
    "ID=-5 and not n>1": "id = -5 AND NOT (n > 1)",
    "name = 'it''s'": "name = 'it\\'s'",
    "name='it\\'s'": "name = 'it\\'s'",
    "n = -2147483648": "n = -2147483648",
    "id=-9223372036854775808": "id = -9223372036854775808",
    "day < '2020-01-01'": "day < '2020-01-01'",
    "date = DATE '2020-02-29' or day between date '2020-01-01' AND '2020-12-31'": (
        "date = DATE '2020-02-29' OR day BETWEEN DATE '2020-01-01' AND '2020-12-31'"
    ),
    "a.x is not null and a.`y z` like 'a\\\\%%' ": "a.x IS NOT NULL AND a.`y z` LIKE 'a\\\\%%'",
    "name like 'x!%' escape '!' or name not like '%a'": "name LIKE 'x!%' ESCAPE '!' OR name NOT LIKE '%a'",
    "n in (1,2,3) AND id NOT IN (4L, 5)": "n IN (1, 2, 3) AND id NOT IN (4L, 5)",
    "price >= 1.50 and d < 1e3 and f=1.5F": "Price >= 1.50 AND d < 1000.0D AND f = 1.5F",
    "`we``ird.x` % 2 = 1": "(`we``ird.x` % 2) = 1",
    "not (n = 1 or n = 2) and (n=3)": "NOT (n = 1 OR n = 2) AND n = 3",
    "cast(name as int) = 5 and CAST(n AS decimal(10, 2)) > 1": "CAST(name AS INT) = 5 AND CAST(n AS DECIMAL(10,2)) > 1",
    "ok": "ok",
    "not ok": "NOT (ok)",
    "ok = true": "ok = TRUE",
    "n <=> NULL": "n <=> NULL",
    "b = X'00ff'": "b = X'00FF'",
    "at >= timestamp '2020-01-01 00:00:00+02:00'": "at >= TIMESTAMP '2019-12-31 22:00:00Z'",
    "ntz < TIMESTAMP_NTZ '2020-01-01 00:00:00.5'": "ntz < TIMESTAMP_NTZ '2020-01-01 00:00:00.500000'",
    "year(day) = 2020 and substring(name, 1, 2) = 'ab'": "year(day) = 2020 AND substring(name, 1, 2) = 'ab'",
    "date_add(day, 1) > DATE '2020-01-01'": "date_add(day, 1) > DATE '2020-01-01'",
    "day - 1 = DATE '2020-01-01'": "(day - 1) = DATE '2020-01-01'",
    "n + 1 * 2 - -3 > 4 / 2": "((n + (1 * 2)) - -3) > (4 / 2)",
    "-n = -(5)": "(-(n)) = (-(5))",
    "-(-5) = n": "(-(-5)) = n",
    "(n + 1) % 2 = 0": "((n + 1) % 2) = 0",
    "n DIV 2 = 1": "(n DIV 2) = 1",
    "coalesce(n, 0) = 0": "coalesce(n, 0) = 0",
    "a.x = 1 OR (a.x = 2 AND n = 1 AND (n = 2 OR n = 3))": "a.x = 1 OR (a.x = 2 AND n = 1 AND (n = 2 OR n = 3))",
    "name = 'é\\u202e'": "name = 'é\\u202E'",
    "n==1": "n = 1",
    "n!=1": "n <> 1",
    "(n = 1) = ok": "(n = 1) = ok",
    "(ok is null) = true and n = 1": "(ok IS NULL) = TRUE AND n = 1",
    "n is null and (ok and n is null)": "n IS NULL AND ok AND n IS NULL",
    "NOT NOT ok": "NOT (NOT (ok))",
}


@pytest.mark.parametrize(("text", "printed"), ACCEPTED.items())
def test_it_is_read_as_meant(text, printed):
    assert to_text(parse(text, SCHEMA)) == printed


REFUSED = [
    ("", 1, "the predicate is empty"),
    ("id = 5; drop table x", 7, "one condition is read, not several state"),
    ("id = 5 -- hi", 8, "comments aren’t supported"),
    ("id /* x */ = 5", 4, "comments aren’t supported"),
    ("id = ${x}", 6, "variables are not replaced"),
    ("id = NULL", 6, "NULL is never equal to anything, so this"),
    ("n in (1,null)", 9, "NULL is never equal to anything, so this"),
    ("id", 1, "this is bigint, where a condition is nee"),
    ("id = 'abc'", 1, "'abc' can’t be read as bigint"),
    ("day = '2020-13-01'", 1, "'2020-13-01' is no date: write it as 202"),
    ("1=1", 1, "1 = 1 names no column: it is the same fo"),
    ("id = 5 or 1=1", 11, "1 = 1 names no column: it is the same fo"),
    ("true", 1, "TRUE names no column: it is the same for"),
    ("id is null", 1, "id can’t be NULL, so this is never true"),
    ("dup = 1", 1, "dup could be any of DUP, dup: Spark does"),
    ("nope = 1", 1, "the table has no column nope"),
    ("nam = 1", 1, "the table has no column nam"),
    ("now() > at", 1, "now() changes by itself: what was approv"),
    ("current_date > day", 1, "current_date changes by itself: what was"),
    ("rand() < 0.5", 1, "rand() changes by itself: what was appro"),
    ("reflect('a','b') = 1", 1, "reflect isn’t a supported function"),
    ("id in (select 1)", 8, "subqueries aren’t supported"),
    ("exists (select 1)", 1, "subqueries aren’t supported"),
    ("case when n=1 then true end", 1, "CASE isn’t supported"),
    ("n = 1 = ok", 1, "a condition inside a condition needs bra"),
    ("n = 1 is null", 1, "it can be read in more than one way"),
    ("n < 2 < 3", 1, "a condition inside a condition needs bra"),
    ("a = b between 1 and 2", 5, "a condition inside a condition needs bra"),
    ("name rlike 'a'", 6, "regular expressions aren’t supported"),
    ("n::string = 'a'", 2, ":: isn’t supported"),
    ('"name" = 1', 1, "double quotes could mean a text or a nam"),
    ("arr[0] = 1", 4, "elements of arrays and maps aren’t supported"),
    ("name || 'a' = 'b'", 6, "|| isn’t supported"),
    ("!ok", 1, "! isn’t supported"),
    ("id = 5\u202e", 7, "a character that can’t be seen, or turns"),
    ("id\x00 = 1", 3, "a character that can’t be seen, or turns"),
    ("(((id = 1", 10, "a closing bracket is missing"),
    ("id = 1))", 7, "there is no bracket to close"),
    ("n = 1 n", 7, "an operator is expected before n"),
    ("n between 5 and 1", 1, "the lower bound is above the upper one, "),
    ("t = 1000", 1, "1000 is beyond what tinyint holds, so th"),
    ("t <= 12345678901234567890", 1, "12345678901234567890 is beyond what tiny"),
    ("n + 1 > -12345678901234567890", 1, "-12345678901234567890 is beyond what big"),
    ("9223372036854775807.5 >= id", 1, "9223372036854775807.5 is beyond what big"),
    ("n between 1 and 12345678901234567890", 1, "12345678901234567890 is beyond what bigi"),
    ("n = 1 and n <> 1", 1, "n = 1 stands beside its opposite: no row"),
    ("try_cast(name as int) = 1", 1, "TRY_CAST would hide values that can’t be"),
    ("name like 'a\\\\'", 1, "the pattern ends with its escape charact"),
    (f"name like '{'%a' * 201}'", 1, "a pattern has at most 200 wildcards, not"),
    ("n / 2 DIV 2 = 1", 1, "DIV takes whole numbers and decimals"),
    ("n = 1/0", 5, "division by zero"),
    ("cast('abc' as int) = n", 1, "'abc' can’t be read as int"),
    ("TIMESTAMP 'now' < at", 1, "'now' is no timestamp: write it as 2020-"),
    ("DATE 'today' = day", 1, "'today' is no date: write it as 2020-01-"),
    ("interval 1 day", 1, "intervals aren’t supported"),
    ("n = 99999999999999999999999999999999999999999999", 5, "9999999999999999999999999999999999999999"),
    ("name = 5", 1, "string is compared with int"),
    ("n = name", 1, "int is compared with string"),
    ("a = 1", 1, "a value of type struct can’t be compared"),
    ("arr = 1", 1, "a value of type array can’t be compared"),
    ("n = ok", 1, "int is compared with boolean"),
    ("id = 5 and", 11, "the predicate ends in the middle"),
    ("and id = 5", 1, "and needs a value before it"),
    ("f(", 1, "f isn’t a supported function"),
    ("abs() = 1", 1, "abs takes 1 arguments, not 0"),
    ("abs(name) = 1", 5, "abs needs a number here, this is string"),
    ("n in ()", 7, "a value is expected before the bracket"),
    ("n in (1,)", 9, "a value is expected before the bracket"),
    ("n in 1", 5, "IN needs a list in brackets"),
    ("id = 1,", 7, "a comma stands only in lists and between"),
    ("n = 1 or n", 10, "this is int, where a condition is needed"),
    ("x.y.z = 1", 1, "the table has no column x"),
    ("a.nope = 1", 1, "a has no field nope"),
    ("'a' 'b' = name", 5, "an operator is expected before 'b'"),
    ("name = 'a' 'b'", 12, "an operator is expected before 'b'"),
    ("name = r'a'", 9, "an operator is expected before 'a'"),
    ("n = 1a", 5, "this is neither a number nor a name"),
    ("n = 0x10", 5, "this is neither a number nor a name"),
    ("n = 1e400", 5, "the number doesn’t fit double"),
    ("cast(n as) = 1", 10, "nothing is no type to cast to"),
    ("cast(n as foo) = 1", 10, "foo is no type to cast to"),
    ("cast(n as int", 14, "a closing bracket is missing"),
    ("id = @x", 6, "versions of tables are chosen outside th"),
    ("id=?", 4, "parameters aren’t supported"),
    ("id=:x", 4, "parameters and paths into JSON aren’t supported"),
    ("NULL", 1, "NULL is never equal to anything, so this"),
    ("n <=> n", 1, "both sides are the same"),
]


@pytest.mark.parametrize(("text", "position", "reason"), REFUSED)
def test_it_is_refused_with_its_place_and_reason(text, position, reason):
    found = refusal(text)
    assert found.place == f"position {position}"
    assert reason in found.message


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100 + "n=1" + ")" * 100,
        "not " * 100 + "ok",
        "-(" * 100 + "n" + ")" * 100 + " = 1",
        f"n in ({','.join('1' * 1001)})",
        "n = 1 or " * 3_000 + "n = 1",
        "n = 1" + " + 1" * 200,
        "x" * (MAX_LENGTH + 1),
        "n = " + "9" * 60_000,
        "name = '" + "\\" * 60_000,
    ],
    ids=["brackets", "nots", "minuses", "in", "terms", "sums", "long", "digits", "backslashes"],
)
def test_endless_texts_are_refused(text):
    refusal(text)


@pytest.mark.parametrize(
    "code", [0, 8, 0x7F, 0x85, 0xA0, 0x200B, 0x200E, 0x2028, 0x202E, 0x2066, 0xFEFF, 0xD800, 0xE0001]
)
def test_characters_that_deceive_are_refused_everywhere(code):
    for text in (f"n = 1{chr(code)}", f"name = '{chr(code)}'", f"`a{chr(code)}` = 1"):
        assert f"U+{code:04X}" in refusal(text).message


def test_a_thousand_conditions_are_read():
    tree = parse(" OR ".join(f"n = {number}" for number in range(1_000)), SCHEMA)
    assert isinstance(tree, Or)
    assert len(tree.terms) == 1_000
