"""What Spark says of a partition schema that it can't read: condition, SQLSTATE and words, as its own DDL parser has them.

CONVERT's grammar answers most of these with a syntax error at its own first word, or with a message that it can't print.
"""

from __future__ import annotations

import re

from jobs.domain.errors import EngineFailure

# Types that Spark reads there and Levee doesn't take: no words of Spark's fit. Nested ones CONVERT can't even parse.
KNOWN_TO_SPARK = frozenset({"binary", "char", "character", "varchar", "interval", "variant", "void"})
NESTED = frozenset({"array", "map", "struct"})
# What its grammar takes after a name or a type, and Levee doesn't.
TAKEN_BY_SPARK = frozenset({"comment", "not", "``"})


def syntax_error(token: str) -> EngineFailure | None:
    """For a token that can't stand where it does; empty is the end. None for what Spark would take."""
    if token.lower() in TAKEN_BY_SPARK:
        return None
    near = f"'{token}'" if token else "end of input"
    return EngineFailure("PARSE_SYNTAX_ERROR", "42601", f"Syntax error at or near {near}.")


def wrong_type(token: str, word: str, arguments: str) -> EngineFailure | None:
    """For a token in a type's place; `word` is it in lower case without quotes, `arguments` the numbers after it, `(3)`."""
    if word in KNOWN_TO_SPARK:
        return None
    if word in NESTED or not re.fullmatch(r"[^\W\d]\w*", word):
        return syntax_error(token)
    text = f'Unsupported data type "{(word + arguments).upper()}".'
    return EngineFailure("UNSUPPORTED_DATATYPE", "0A000", text)


def too_precise(precision: int) -> EngineFailure | None:
    """For a decimal's digits. Spark has no condition for a scale above the precision."""
    if precision <= 38:
        return None
    text = f"Decimal precision {precision} exceeds max precision 38."
    return EngineFailure("DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION", "22003", text)


def named_twice(name: str) -> EngineFailure:
    """For a column named twice; Delta compares names without regard to case."""
    text = f"Found duplicate column(s): {name.lower()}. The duplicate was found in the metadata update."
    return EngineFailure("DELTA_DUPLICATE_COLUMNS_FOUND.METADATA_UPDATE", "42711", text)
