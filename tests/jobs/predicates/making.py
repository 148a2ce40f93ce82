"""Texts of predicates, made by chance: every construct of the grammar, in the many spellings that people use."""

from __future__ import annotations

import random

from jobs.domain.predicates.schema import Field, Schema

ROW = (
    Field("id", "bigint", nullable=False),
    Field("n", "int"),
    Field("small", "smallint"),
    Field("tiny", "tinyint"),
    Field("name", "string"),
    Field("Price", "decimal(10,2)"),
    Field("big", "decimal(38,10)"),
    Field("d", "double"),
    Field("f", "float"),
    Field("day", "date"),
    Field("moment", "timestamp"),
    Field("local", "timestamp_ntz"),
    Field("ok", "boolean"),
    Field("data", "binary"),
    Field("we`ird.x", "int"),
    Field("a b", "string"),
    Field("nested", "struct", True, (Field("x", "int"), Field("deep", "struct", False, (Field("y z", "string"),)))),
    Field("list", "array"),
)
SCHEMA = Schema(ROW)
DDL = (
    "id bigint not null, n int, small smallint, tiny tinyint, name string, Price decimal(10,2), big decimal(38,10), d double, f float, "
    "day date, moment timestamp, local timestamp_ntz, ok boolean, data binary, `we``ird.x` int, `a b` string, "
    "nested struct<x: int, deep: struct<`y z`: string> not null>, list array<int>"
)
WHOLE = ["id", "n", "small", "tiny", "`we``ird.x`", "nested.x", "N", "`id`", "nested . X"]
NUMBERS = [*WHOLE, "price", "big", "d", "f"]
TEXTS = ["name", "`a b`", "nested.deep.`y z`", "NAME"]
PARTS = ["year", "month", "day", "quarter", "dayofweek", "weekofyear", "dayofyear"]
COMPARISONS = ["=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>"]


class Maker:
    """Makes texts from a source of chance; `condition` is the entry."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def condition(self, depth: int = 3) -> str:
        if depth == 0 or self.chance.random() < 0.3:
            return self.test(depth)
        match self.chance.randrange(4):
            case 0 | 1:
                word = self.chance.choice([" AND ", " OR ", " and ", "\nOR\t"])
                return word.join(self.term(depth - 1) for _ in range(self.chance.randint(2, 4)))
            case 2:
                return f"{self.word('NOT')} {self.term(depth - 1)}"
        return f"({self.condition(depth - 1)})"

    def term(self, depth: int) -> str:
        text = self.condition(depth)
        return text if self.chance.random() < 0.5 else f"({text})"

    def word(self, word: str) -> str:
        return self.chance.choice([word, word.lower(), word.title()])

    def maybe_not(self) -> str:
        return self.chance.choice(["", "", "NOT "])

    def test(self, depth: int) -> str:
        makers = [
            self.numbers,
            self.texts,
            self.days,
            self.times,
            self.nulls,
            self.flags,
            self.likes,
            self.lists,
            self.between,
        ]
        return self.chance.choice(makers)(min(depth, 2))

    def compare(self, left: str, right: str) -> str:
        blank = self.chance.choice([" ", " ", "  ", "\n"])
        pair = (left, right) if self.chance.random() < 0.7 else (right, left)
        return f"{pair[0]}{blank}{self.chance.choice(COMPARISONS)}{blank}{pair[1]}"

    def numbers(self, depth: int) -> str:
        return self.compare(self.chance.choice(NUMBERS), self.number(depth))

    def number(self, depth: int) -> str:
        if depth == 0 or self.chance.random() < 0.4:
            return self.chance.choice([*NUMBERS, *[self.digits() for _ in range(8)]])
        left, right = self.number(depth - 1), self.number(depth - 1)
        match self.chance.randrange(8):
            case 0:
                return f"({left})"
            case 1:
                return f"- {left}" if not left.startswith("-") else f"-({left})"
            case 2:
                kind = self.chance.choice(["int", "BIGINT", "double", "decimal(12, 3)", "Float"])
                return f"{self.word('CAST')}({left} {self.word('AS')} {kind})"
            case 3:
                return f"{self.chance.choice(['abs', 'ceil', 'FLOOR', 'ceiling'])}({left})"
            case 4:
                return f"{self.chance.choice(['length', 'char_length'])}({self.text(depth - 1)})"
            case 5:
                return f"{self.chance.choice(PARTS)}({self.chance.choice(['day', 'moment', 'local'])})"
        return f"{left} {self.chance.choice(['+', '-', '*', '/', '%', 'DIV'])} {right}"

    def digits(self) -> str:
        number = self.chance.randint(1, 200)
        return self.chance.choice(
            [
                f"{number}",
                f"-{number}",
                f"{number}L",
                f"{number % 100}Y",
                f"{number}s",
                f"{number}.50",
                f".{number}",
                f"{number}.",
                f"{number}e2",
                f"{number}.25D",
                f"{number}.5F",
                f"{number}BD",
                "-2147483648",
                "2147483648",
                "-9223372036854775808",
                "12345678901234567890",
            ]
        )

    def texts(self, depth: int) -> str:
        return self.compare(self.chance.choice(TEXTS), self.text(depth))

    def text(self, depth: int) -> str:
        if depth == 0 or self.chance.random() < 0.5:
            return self.chance.choice(
                [*TEXTS, "'FR'", "'it''s'", r"'it\'s'", r"'a\\b\n'", "'é %'", r"'\u00e9\101'", "''", r"'x\%'"]
            )
        inner = self.text(depth - 1)
        return self.chance.choice(
            [
                f"lower({inner})",
                f"UPPER({inner})",
                f"trim({inner})",
                f"ltrim({inner})",
                f"rtrim({inner})",
                f"concat({inner}, {self.text(depth - 1)})",
                f"substring({inner}, 1, 2)",
                f"substr({inner}, 2)",
                f"replace({inner}, 'a', 'b')",
                f"coalesce({inner}, 'x')",
                f"nullif({inner}, 'x')",
                f"md5({inner})",
                f"sha2({inner}, 256)",
                f"CAST({self.chance.choice([*NUMBERS, 'day', 'moment', 'ok'])} AS string)",
            ]
        )

    def days(self, depth: int) -> str:
        right = self.chance.choice(
            [
                "DATE '2020-02-29'",
                "date'1500-01-01'",
                "'2020-12-31'",
                "day - 1",
                "date_add(day, 7)",
                "DATE '2020-01-01' + 3",
                "last_day(day)",
                "CAST(moment AS date)",
                "CAST('2020-01-01' AS DATE)",
                "date_sub(day, 2 * 3)",
            ]
        )
        if self.chance.random() < 0.2:
            return self.compare("datediff(day, DATE '2020-01-01')", self.digits())
        return self.compare("day", right)

    def times(self, depth: int) -> str:
        right = self.chance.choice(
            [
                "TIMESTAMP '2020-01-01 10:00:00'",
                "timestamp '2020-01-01T10:00:00.123456+02:00'",
                "'2020-01-01 00:00:00'",
                "TIMESTAMP_NTZ '1600-01-01 00:00:00.5'",
                "day",
                "TIMESTAMP_LTZ '2020-01-01 00:00:00Z'",
                "moment",
                "local",
                "CAST(day AS timestamp)",
            ]
        )
        left = self.chance.choice(["moment", "local"])
        if self.chance.random() < 0.2:
            return self.compare(f"{self.chance.choice(['hour', 'minute', 'second'])}({left})", "5")
        return self.compare(left, right)

    def nulls(self, depth: int) -> str:
        subject = self.chance.choice(
            ["n", "name", "day", "nested", "nested.x", "list", "ok", "(n = 1)", "n + 1", "data", "lower(name)"]
        )
        if subject in ("nested", "list"):
            return f"{subject} IS NOT NULL"
        return self.chance.choice([f"{subject} IS NULL", f"{subject} is not null", f"{subject} <=> NULL"])

    def flags(self, depth: int) -> str:
        return self.chance.choice(
            [
                "ok",
                "NOT ok",
                "ok = true",
                "ok <> FALSE",
                "(n = 1) = ok",
                "isnan(d)",
                "startswith(name, 'a')",
                "endswith(name, `a b`)",
                "contains(name, 'x')",
                "data = X'00fF'",
                "data <> x''",
                "ok = (name IS NULL)",
                "CAST(n AS boolean)",
                "coalesce(ok, false)",
            ]
        )

    def likes(self, depth: int) -> str:
        pattern = self.chance.choice(
            ["'a%'", "'%a'", "'_b%c_'", r"'50\\%'", "'x!%' ESCAPE '!'", "'plain'", r"'a\_b'", "''"]
        )
        return f"{self.chance.choice(TEXTS)} {self.maybe_not()}{self.word('LIKE')} {pattern}"

    def lists(self, depth: int) -> str:
        match self.chance.randrange(4):
            case 0:
                options, subject = (
                    [self.digits() for _ in range(self.chance.randint(1, 12))],
                    self.chance.choice(NUMBERS),
                )
            case 1:
                options, subject = [self.chance.choice(["'a'", "'b'", "name", "'it''s'"]) for _ in range(3)], "`a b`"
            case 2:
                options, subject = ["DATE '2020-01-01'", "DATE '2021-01-01'"], "day"
            case _:
                options, subject = ["'2020-01-01'", "'2021-01-01'"], self.chance.choice(["day", "moment"])
        return f"{subject} {self.maybe_not()}{self.word('IN')} ({', '.join(options)})"

    def between(self, depth: int) -> str:
        subject, low, high = self.chance.choice(
            [
                ("n", "1", "100"),
                ("price", "-1.5", "n + 100"),
                ("day", "DATE '2020-01-01'", "'2020-12-31'"),
                ("name", "'a'", "'b'"),
                ("n + 1", "tiny", "id"),
                ("d", "-1", "1e3"),
            ]
        )
        return f"{subject} {self.maybe_not()}{self.word('BETWEEN')} {low} {self.word('AND')} {high}"
