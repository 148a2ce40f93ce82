"""LIKE patterns: `%` any text, `_` one character, and an escape before either of them or before itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

MAX_WILDCARDS = 200
"""A machine of regular expressions goes one call deeper for each: thousands of them overflow the stack of a Spark task."""
_PLAIN = re.compile("[A-Za-z0-9]|[^\\x00-\\x7f]")

MOST_STEPS = 100_000
"""Places times characters that are compared one by one, for what has a `_` between two `%`."""

Piece = str | tuple[str | None, ...]
"""Characters that stand side by side; None is any one of them."""


class BadPattern(ValueError):
    """An escape that Spark would refuse."""


class TooLong(Exception):
    """More steps than are taken here."""


def parts(pattern: str, escape: str) -> Iterator[tuple[str, bool]]:
    """The pattern's characters, and whether each is a wildcard. Raises BadPattern."""
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            following = next(characters, "")
            if not following:
                raise BadPattern(f"the pattern ends with its escape character {escape}")
            if following not in ("%", "_", escape):
                raise BadPattern(f"the escape character {escape} stands only before %, _ and itself")
            yield following, False
        else:
            yield character, character in "%_"


def prefix(pattern: str, escape: str) -> tuple[str, bool]:
    """The text before the first wildcard, and whether that is the whole pattern. Raises BadPattern."""
    text = ""
    for character, wild in parts(pattern, escape):
        if wild:
            return text, False
        text += character
    return text, True


def wildcards(pattern: str, escape: str) -> int:
    """How many wildcards the pattern has. Raises BadPattern."""
    return sum(wild for _, wild in parts(pattern, escape))


def matches(text: str, pattern: str, escape: str) -> bool:
    """Whether the text is like the pattern. Raises BadPattern, and TooLong rather than compare very many places one by one."""
    first, *others = _pieces(pattern, escape)
    if len(first) + sum(map(len, others)) > len(text):
        return False
    if not others:
        return len(first) == len(text) and _stands(first, text, 0)
    *middle, last = others
    if len(text) * sum(len(piece) for piece in middle if not isinstance(piece, str)) > MOST_STEPS:
        raise TooLong
    end = len(text) - len(last)
    return _stands(first, text, 0) and _stands(last, text, end) and _follow(middle, text, len(first), end)


@lru_cache(maxsize=64)
def _pieces(pattern: str, escape: str) -> tuple[Piece, ...]:
    """What stands between the `%`."""
    pieces: list[list[str | None]] = [[]]
    for character, wild in parts(pattern, escape):
        if wild and character == "%":
            pieces.append([])
        else:
            pieces[-1].append(None if wild else character)
    return tuple(_piece(characters) for characters in pieces)


def _piece(characters: list[str | None]) -> Piece:
    plain = [character for character in characters if character is not None]
    return "".join(plain) if len(plain) == len(characters) else tuple(characters)


def _follow(pieces: Sequence[Piece], text: str, at: int, end: int) -> bool:
    """Whether the pieces stand one after the other: the first place of each leaves most to those behind it."""
    for piece in pieces:
        place = _first_place(piece, text, at, end)
        if place < 0:
            return False
        at = place + len(piece)
    return True


def _first_place(piece: Piece, text: str, at: int, end: int) -> int:
    if isinstance(piece, str):
        return text.find(piece, at, end)
    return next((place for place in range(at, end - len(piece) + 1) if _stands(piece, text, place)), -1)


def _stands(piece: Piece, text: str, at: int) -> bool:
    if isinstance(piece, str):
        return text.startswith(piece, at)
    return all(wanted is None or text[at + place] == wanted for place, wanted in enumerate(piece))


def regex(pattern: str, escape: str) -> str | None:
    """The pattern as a Java regular expression, to be found in a text, that never looks twice for what it has found.

    Spark makes `.*` of each `%`, and where a text isn't like the pattern Java tries every way to share it among them. What stands
    between two `%` has a fixed length, so the first place that it fits leaves the most for what follows: no other has to be
    tried, and `(?>…)` tries none. None where Spark's own LIKE has only one way. Raises BadPattern.
    """
    first, *others = _pieces(pattern, escape)
    if len(others) < 2 or (len(others) == 2 and not first and not others[-1]):
        return None
    *middle, last = others
    steps = "".join(f"(?>.*?{_regex_of(piece)})" for piece in middle if piece)
    return rf"(?s)\A{_regex_of(first)}{steps}" + (rf".*{_regex_of(last)}\z" if last else "")


def _regex_of(piece: Piece) -> str:
    return "".join("." if c is None else c if _PLAIN.fullmatch(c) else "\\" + c for c in piece)
