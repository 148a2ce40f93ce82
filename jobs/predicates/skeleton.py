"""A predicate without its leaves: names, literals, types and function names give way to numbered marks.

sqlglot reads this skeleton and only decides what belongs to what; the leaves are read here, by Levee's own rules. So nothing that a
parser for many dialects rewrites, guesses or drops (suffixes, casts, functions, quotes) can alter what a person wrote.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from jobs.domain.predicates import functions, typenames
from jobs.domain.predicates.literals import NULL
from jobs.domain.predicates.tree import Literal
from jobs.predicates import leaves
from jobs.predicates.refusals import GRAMMAR, refused
from jobs.predicates.tokens import PredicateToken, TokenKind

MAX_DEPTH = 30
MAX_LEAVES = 4_000
MAX_ARITHMETIC = 100
MAX_TYPE_PARTS = 8

_TESTS = ("IN", "BETWEEN", "LIKE", "IS")
_ARITHMETIC = ("+", "-", "*", "/", "%", "DIV")
_OPERATORS = {"==": "=", "!=": "<>"}
_CONSTRUCTS = {
    "SELECT": "subqueries aren’t supported",
    "EXISTS": "subqueries aren’t supported",
    "CASE": "CASE isn’t supported",
    "INTERVAL": "intervals aren’t supported",
    "TRY_CAST": "TRY_CAST would hide values that can’t be read",
    "OVER": "windows aren’t supported",
    "RLIKE": "regular expressions aren’t supported",
    "REGEXP": "regular expressions aren’t supported",
    "ILIKE": "ILIKE isn’t supported",
    "COLLATE": "collations aren’t supported",
    "DISTINCT": "DISTINCT isn’t supported",
}
_REMEDIES = {
    "SELECT": "Write the values in a list: IN (1, 2, 3).",
    "EXISTS": "Write the values in a list: IN (1, 2, 3).",
    "CASE": "Write it with AND and OR.",
    "INTERVAL": "Write the moment itself, or date_add(day, 7).",
    "TRY_CAST": "Write CAST; a value that can’t be read then stops the job before anything is changed.",
    "RLIKE": "Write LIKE, startswith, endswith or contains.",
    "REGEXP": "Write LIKE, startswith, endswith or contains.",
    "ILIKE": "Write lower(column) LIKE 'pattern'.",
}


@dataclass(frozen=True, slots=True)
class Name:
    """A column as it was written, part by part."""

    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnsignedNumber:
    """A number whose sign is not known yet: a minus before it belongs to it."""

    token: PredicateToken


@dataclass(frozen=True, slots=True)
class Null:
    """What follows IS."""

    negated: bool


@dataclass(frozen=True, slots=True)
class Pattern:
    """What follows LIKE."""

    pattern: str
    escape: str


@dataclass(frozen=True, slots=True)
class TypeName:
    """What follows AS in a CAST."""

    name: str


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function of the list; `cast` for CAST."""

    name: str


Payload = Name | UnsignedNumber | Null | Pattern | TypeName | FunctionCall | Literal


@dataclass(frozen=True, slots=True)
class Leaf:
    payload: Payload
    start: int


@dataclass(slots=True)
class Skeleton:
    """`text` for sqlglot; mark `v3` (or `f3(`) stands for `leaves[3]`. `parts` counts operators, commas and brackets."""

    leaves: list[Leaf] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    parts: Counter[str] = field(default_factory=Counter)

    @property
    def text(self) -> str:
        return " ".join(self.pieces)


def skeleton_of(tokens: list[PredicateToken]) -> Skeleton:
    """The skeleton of a predicate. Raises CommandRefused at the first thing that is not of the grammar."""
    return _TreeBuilder(tokens).build()


class _TreeBuilder:
    def __init__(self, tokens: list[PredicateToken]) -> None:
        self.tokens = tokens
        self.at = 0
        self.found = Skeleton()
        self.open: list[str] = []  # what each open bracket is: group, call, cast, list
        self.operand_ended = False
        self.prefixes = 0

    def build(self) -> Skeleton:
        if not self.tokens:
            raise refused(0, "the predicate is empty", "Write a condition; the whole table is meant by null.")
        while self.at < len(self.tokens):
            self._step(self._take())
        last = self.tokens[-1]
        if self.open:
            raise refused(last.end, "a closing bracket is missing", "Close every bracket.")
        if not self.operand_ended:
            raise refused(last.end, "the predicate ends in the middle", "Complete the condition.")
        return self.found

    def _step(self, token: PredicateToken) -> None:
        if token.kind is TokenKind.SYMBOL:
            self._symbol(token)
        elif token.is_word("AND", "OR", "NOT", "DIV", *_TESTS):
            self._word(token)
        elif token.is_word("AS") and self.open[-1:] == ["cast"] and self.operand_ended:
            self._type(token)
        else:
            self._operand(token)

    def _take(self) -> PredicateToken:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def _peek(self, ahead: int = 0) -> PredicateToken | None:
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else None

    def _follows(self, *symbols: str) -> bool:
        token = self._peek()
        return token is not None and token.is_symbol(*symbols)

    # operators and brackets

    def _put(self, piece: str) -> None:
        self.found.pieces.append(piece)
        self.found.parts[piece] += 1

    def _symbol(self, token: PredicateToken) -> None:
        match token.text:
            case "(":
                self._open(token, "group")
            case ")":
                self._close(token)
            case ",":
                self._comma(token)
            case "+" | "-" if not self.operand_ended:
                self._sign(token)
            case ".":
                raise refused(token.start, "a name is expected around the point", "Write column.field.")
            case _:
                self._binary(token, _OPERATORS.get(token.text, token.text))

    def _binary(self, token: PredicateToken, piece: str) -> None:
        if not self.operand_ended:
            raise refused(token.start, f"{token.text} needs a value before it")
        self._put(piece)
        self.operand_ended = False
        self.prefixes = 0
        if piece in _ARITHMETIC:
            self._check_arithmetic(token)

    def _check_arithmetic(self, token: PredicateToken) -> None:
        if sum(self.found.parts[sign] for sign in _ARITHMETIC) > MAX_ARITHMETIC:
            raise refused(token.start, f"more than {MAX_ARITHMETIC} steps of arithmetic", "Write the result itself.")

    def _sign(self, token: PredicateToken) -> None:
        if token.text == "+":
            raise refused(token.start, "a plus sign before a value isn’t supported", "Leave it out.")
        self._prefix(token, "-")

    def _prefix(self, token: PredicateToken, piece: str) -> None:
        self.prefixes += 1
        self._check_depth(token)
        self._put(piece)

    def _check_depth(self, token: PredicateToken) -> None:
        if len(self.open) + self.prefixes > MAX_DEPTH:
            raise refused(token.start, f"nested deeper than {MAX_DEPTH} levels", "Use fewer nested parentheses.")

    def _open(self, token: PredicateToken, what: str) -> None:
        if self.operand_ended:
            raise refused(token.start, "an operator is expected before the bracket")
        self.open.append(what)
        self._check_depth(token)
        self.found.pieces.append("(")
        if what == "group":
            self.found.parts["("] += 1

    def _close(self, token: PredicateToken) -> None:
        if not self.open:
            raise refused(token.start, "there is no bracket to close", "Remove it.")
        what = self.open.pop()
        empty_call = what == "call" and self.found.pieces[-1] == "("
        if what == "cast" or not (self.operand_ended or empty_call):
            reason = "CAST needs AS and a type" if what == "cast" else "a value is expected before the bracket"
            raise refused(token.start, reason, "Write CAST(value AS type)." if what == "cast" else GRAMMAR)
        self.found.pieces.append(")")
        self.operand_ended = True
        self.prefixes = 0

    def _comma(self, token: PredicateToken) -> None:
        if self.open[-1:] not in (["call"], ["list"]) or not self.operand_ended:
            raise refused(token.start, "a comma stands only in lists and between arguments")
        self._put(",")
        self.operand_ended = False

    # words

    def _word(self, token: PredicateToken) -> None:
        word = token.text.upper()
        if word == "NOT" and not self.operand_ended:
            self._prefix(token, "NOT")
            return
        if word == "NOT":
            self._negated(token)
            return
        self._binary(token, word)
        match word:
            case "IN":
                self._list(token)
            case "IS":
                self._null(token)
            case "LIKE":
                self._pattern(token)

    def _negated(self, token: PredicateToken) -> None:
        following = self._peek()
        if following is None or not following.is_word("IN", "BETWEEN", "LIKE"):
            raise refused(token.start, "NOT stands here only before IN, BETWEEN or LIKE")
        self._put("NOT")
        self._word(self._take())

    def _list(self, token: PredicateToken) -> None:
        if not self._follows("("):
            raise refused(token.end, "IN needs a list in brackets", "Write IN (1, 2, 3).")
        self._open(self._take(), "list")

    def _null(self, token: PredicateToken) -> None:
        negated = (following := self._peek()) is not None and following.is_word("NOT")
        null = self._peek(1 if negated else 0)
        if null is None or not null.is_word("NULL"):
            raise refused(token.start, "after IS stands NULL or NOT NULL", "Compare with = or <=> instead.")
        self.at += 2 if negated else 1
        self._leaf(Null(negated), null)

    def _pattern(self, token: PredicateToken) -> None:
        following = self._peek()
        if following is None or following.kind is not TokenKind.TEXT:
            raise refused(
                token.end, "LIKE needs a text", "Write LIKE 'a%'; for another column, startswith or contains."
            )
        self._take()
        pattern, escape = leaves.text(following), "\\"
        if (word := self._peek()) is not None and word.is_word("ESCAPE"):
            self._take()
            escape = self._escape(word)
        self._leaf(Pattern(pattern, escape), following)

    def _escape(self, word: PredicateToken) -> str:
        following = self._peek()
        escape = leaves.text(following) if following is not None and following.kind is TokenKind.TEXT else ""
        if len(escape) != 1 or ord(escape) > 0xFFFF:
            raise refused(word.end, "ESCAPE needs a text of one character", "Write ESCAPE '!'.")
        self._take()
        return escape

    def _type(self, token: PredicateToken) -> None:
        text = self._type_text()
        try:
            name = typenames.parse_type(text)
        except ValueError as error:
            raise refused(token.end, f"{text[:50] or 'nothing'} is no type to cast to", f"{error}.") from None
        self.open[-1] = "call"
        self._put(",")
        self.operand_ended = False
        self._leaf(TypeName(name), token)

    def _type_text(self) -> str:
        """Up to the bracket that closes the CAST; the longest type has six parts, such as decimal(10,2)."""
        text, within = "", 0
        for _ in range(MAX_TYPE_PARTS):
            following = self._peek()
            if following is None or (following.text == ")" and not within):
                break
            within += {"(": 1, ")": -1}.get(following.text, 0)
            text += self._take().text
        return text

    # operands

    def _operand(self, token: PredicateToken) -> None:
        if self.operand_ended:
            raise self._beside(token)
        following = self._peek()
        beside = following is not None and following.kind is TokenKind.TEXT
        if token.kind is TokenKind.TEXT:
            self._leaf(Literal("string", leaves.text(token)), token)
        elif token.kind is TokenKind.NUMBER:
            self._leaf(UnsignedNumber(token), token)
        elif following is not None and beside and token.is_word(*leaves.TYPED):
            self._leaf(leaves.typed(token, self._take()), token)
        elif token.is_word("TRUE", "FALSE"):
            self._leaf(Literal("boolean", token.is_word("TRUE")), token)
        elif token.is_word("NULL"):
            self._leaf(NULL, token)
        elif token.kind is TokenKind.WORD and self._follows("("):
            self._function(token)
        elif token.is_word(*_CONSTRUCTS) and not (following is None or following.kind is TokenKind.SYMBOL):
            raise self._beside(token)
        else:
            self._name(token)

    def _beside(self, token: PredicateToken) -> Exception:
        word = token.text.upper()
        if token.kind is TokenKind.WORD and word in _CONSTRUCTS:
            return refused(token.start, _CONSTRUCTS[word], _REMEDIES.get(word, GRAMMAR))
        return refused(token.start, f"an operator is expected before {token.text[:50]}")

    def _leaf(self, payload: Payload, token: PredicateToken) -> None:
        if len(self.found.leaves) >= MAX_LEAVES:
            raise refused(token.start, f"more than {MAX_LEAVES:,} names and values", "Use several requests, or ranges.")
        self.found.pieces.append(f"`v{len(self.found.leaves)}`")
        self.found.leaves.append(Leaf(payload, token.start))
        self.operand_ended = True
        self.prefixes = 0

    def _function(self, token: PredicateToken) -> None:
        name = _function_name(token)
        self.found.pieces.append(f"f{len(self.found.leaves)}")
        self.found.leaves.append(Leaf(FunctionCall(name), token.start))
        self._open(self._take(), "cast" if name == "cast" else "call")

    def _name(self, token: PredicateToken) -> None:
        parts = [_part(token)]
        while self._follows("."):
            point = self._take()
            following = self._peek()
            if following is None or following.kind not in (TokenKind.WORD, TokenKind.QUOTED):
                raise refused(point.end, "a name is expected after the point", "Write column.field.")
            parts.append(_part(self._take()))
        self._leaf(Name(tuple(parts)), token)


def _part(token: PredicateToken) -> str:
    return token.text[1:-1].replace("``", "`") if token.kind is TokenKind.QUOTED else token.text


def _function_name(token: PredicateToken) -> str:
    word = token.text.lower()
    if token.text.upper() in _CONSTRUCTS:
        raise refused(token.start, _CONSTRUCTS[token.text.upper()], _REMEDIES.get(token.text.upper(), GRAMMAR))
    name = functions.ALIASES.get(word, word)
    if word == "cast" or name in functions.FUNCTIONS:
        return name
    if word in functions.MOVING:
        reason = f"{word}() changes by itself: what was approved would not be what runs"
        raise refused(token.start, reason, "Write the value itself, such as DATE '2020-01-31'.")
    listed = ", ".join(functions.FUNCTIONS)
    raise refused(token.start, f"{token.text[:50]} isn’t a supported function", f"There are {listed}.")
