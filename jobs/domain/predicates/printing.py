"""A tree as text: one spelling per tree, with every bracket that could be doubted; it parses to the same tree again."""

from __future__ import annotations

from collections.abc import Iterable

from jobs.domain.predicates import literals
from jobs.domain.predicates.tree import (
    And,
    Arithmetic,
    Between,
    Call,
    Cast,
    ColumnPath,
    Comparison,
    In,
    IsNull,
    Like,
    Literal,
    Negative,
    Node,
    Not,
    Or,
)

_PLAIN = (ColumnPath, Literal, Cast, Call)


def to_text(node: Node) -> str:
    """The text of a tree."""
    match node:
        case And(terms):
            return " AND ".join(_term(term) for term in terms)
        case Or(terms):
            return " OR ".join(_term(term) for term in terms)
        case Not(operand):
            return _negation(operand)
        case Comparison(operator, left, right) | Arithmetic(operator, left, right):
            return f"{_operand(left)} {operator} {_operand(right)}"
        case Negative(operand):
            return f"-({to_text(operand)})"
        case IsNull(operand, negated):
            return f"{_operand(operand)} IS {'NOT ' if negated else ''}NULL"
        case In() | Between() | Like():
            return _test(node, "")
    return _plain(node)


def _negation(operand: Node) -> str:
    return _test(operand, "NOT ") if isinstance(operand, In | Between | Like) else f"NOT ({to_text(operand)})"


def _test(node: In | Between | Like, word: str) -> str:
    subject = f"{_operand(node.operand)} {word}"
    match node:
        case In(_, options):
            return f"{subject}IN ({_listed(options)})"
        case Between(_, low, high):
            return f"{subject}BETWEEN {_operand(low)} AND {_operand(high)}"
        case Like(_, pattern, escape):
            ending = "" if escape == "\\" else f" ESCAPE {literals.quoted(escape)}"
            return f"{subject}LIKE {literals.quoted(pattern)}{ending}"


def _plain(node: Node) -> str:
    match node:
        case ColumnPath(path):
            return name_text(path)
        case Literal():
            return literals.to_text(node)
        case Cast(operand, type_name):
            return f"CAST({to_text(operand)} AS {type_name.upper()})"
        case Call(name, arguments):
            return f"{name}({_listed(arguments)})"
    raise TypeError(f"{type(node).__name__} is no part of a predicate")


def _listed(nodes: Iterable[Node]) -> str:
    return ", ".join(_operand(node) for node in nodes)


def _operand(node: Node) -> str:
    return _plain(node) if isinstance(node, _PLAIN) else f"({to_text(node)})"


def _term(node: Node) -> str:
    return f"({to_text(node)})" if isinstance(node, And | Or) else to_text(node)


def name_text(path: tuple[str, ...]) -> str:
    """A column's name as text: parts in backquotes unless they are plain words that mean nothing else."""
    return ".".join(part if _is_plain(part) else "`" + part.replace("`", "``") + "`" for part in path)


def _is_plain(part: str) -> bool:
    word = part.isascii() and part.replace("_", "a").isalnum() and not part[0].isdigit()
    return word and part.upper() not in RESERVED


_WORDS = """
    ALL AND ANTI ANY ARRAY AS ASC BETWEEN BOTH BY CASE CAST COLLATE CROSS CUBE CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP
    CURRENT_USER DESC DISTINCT DIV ELSE END ESCAPE EXCEPT EXISTS EXTRACT FALSE FILTER FOR FROM FULL GROUP HAVING ILIKE IN INNER
    INTERSECT INTERVAL IS JOIN LATERAL LEADING LEFT LIKE LIMIT LOCALTIMESTAMP MAP MINUS NATURAL NOT NULL ON OR ORDER OUTER OVER
    OVERLAPS POSITION QUALIFY REGEXP RIGHT RLIKE ROLLUP ROW SELECT SEMI SESSION_USER SETMINUS SIMILAR SOME STRUCT TABLE THEN TO
    TRAILING TRANSFORM TRIM TRUE TRY_CAST UNION UNIQUE UNKNOWN USER USING VALUES WHEN WHERE WINDOW WITH WITHIN
"""
RESERVED = frozenset(_WORDS.split())
"""Words that mean something in SQL: printed in backquotes when they name a column."""
