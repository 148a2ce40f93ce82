"""A predicate's text as tokens with their places. What is no token of the grammar is refused here, comments and all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

from jobs.domain.predicates.literals import is_hidden
from jobs.predicates.refusals import refused

MAX_LENGTH = 65_536
NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:[bB][dD]|[lLsSyYdDfF])?"

_TOKEN = re.compile(
    rf"""(?P<BLANK>\ +)
    |(?P<TEXT>'(?:[^'\\]|\\.|'')*')
    |(?P<QUOTED>`(?:[^`]|``)+`)
    |(?P<NUMBER>{NUMBER})(?!\w)
    |(?P<WORD>[^\W\d]\w*)
    |(?P<SYMBOL><=>|<>|!=|==|<=|>=|[=<>+\-*/%(),.])""",
    re.VERBOSE,
)
_BLANKS = str.maketrans("\t\n\r", "   ")
# What people may try, and how to write it instead.
_FORBIDDEN = (
    ("--", "comments aren’t supported", "Say it in the reason of the request."),
    ("/*", "comments aren’t supported", "Say it in the reason of the request."),
    (";", "one condition is read, not several statements", "Leave out the semicolon and all after it."),
    ("${", "variables are not replaced", "Write the value itself."),
    ("::", ":: isn’t supported", "Write CAST(value AS type)."),
    ("||", "|| isn’t supported", "Write concat(a, b) for texts, OR for conditions."),
    ("&&", "&& isn’t supported", "Write AND."),
    ("!", "! isn’t supported", "Write NOT."),
    ('"', "double quotes could mean a text or a name", "Write 'text' for a text, `name` for a name."),
    ("[", "elements of arrays and maps aren’t supported", "Compare a plain column or a field of a struct."),
    ("{", "braces aren’t supported", "Write the value itself."),
    (":", "parameters and paths into JSON aren’t supported", "Write the value itself."),
    ("?", "parameters aren’t supported", "Write the value itself."),
    ("@", "versions of tables are chosen outside the predicate", "Leave out the @."),
    ("'", "the text is not closed", "Close it with a quote; a quote inside is written twice."),
    ("`", "the name is not closed", "Close it with a backquote; a backquote inside is written twice."),
)


class TokenKind(Enum):
    TEXT = auto()
    QUOTED = auto()
    NUMBER = auto()
    WORD = auto()
    SYMBOL = auto()


@dataclass(frozen=True, slots=True)
class PredicateToken:
    """`text` as it was written; `start` and `end` count characters from 0."""

    kind: TokenKind
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def is_word(self, *words: str) -> bool:
        return self.kind is TokenKind.WORD and self.text.upper() in words

    def is_symbol(self, *symbols: str) -> bool:
        return self.kind is TokenKind.SYMBOL and self.text in symbols


def tokens_of(text: str) -> list[PredicateToken]:
    """All tokens, every character accounted for. Raises CommandRefused."""
    if len(text) > MAX_LENGTH:
        remedy = "Use several requests, or a range that contains the values."
        raise refused(MAX_LENGTH, f"the predicate is longer than {MAX_LENGTH:,} characters", remedy)
    tokens: list[PredicateToken] = []
    at = 0
    plain = _visible(text)
    while at < len(plain):
        match = _TOKEN.match(plain, at)
        if match is None or plain.startswith("--", at) or plain.startswith("/*", at):
            raise _not_a_token(plain, at)
        if match.lastgroup and match.lastgroup != "BLANK":
            tokens.append(PredicateToken(TokenKind[match.lastgroup], match.group(), at))
        at = match.end()
    return tokens


def _visible(text: str) -> str:
    """The text with tabs and line ends as blanks. Raises CommandRefused for anything that a reader wouldn't see as it is."""
    plain = text.translate(_BLANKS)
    if plain.isprintable():
        return plain
    for at, character in enumerate(plain):
        if is_hidden(character):
            name = f"U+{ord(character):04X}"
            remedy = f"Remove it, or write it in a text as \\u{ord(character):04X}."
            raise refused(at, f"a character that can’t be seen, or turns the reading direction ({name})", remedy)
    return plain


def _not_a_token(text: str, at: int) -> Exception:
    for start, reason, remedy in _FORBIDDEN:
        if text.startswith(start, at):
            return refused(at, reason, remedy)
    if text[at].isdigit():
        return refused(
            at, "this is neither a number nor a name", "Write a name that begins with a digit in backquotes."
        )
    return refused(at, f"{text[at]} isn’t supported")
