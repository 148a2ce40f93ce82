"""LIKE patterns: `%` any text, `_` one character, and an escape before either of them or before itself."""

from __future__ import annotations

from collections.abc import Iterator


class BadPattern(ValueError):
    """An escape that Spark would refuse."""


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
    found = ""
    for character, wild in parts(pattern, escape):
        if wild:
            return found, False
        found += character
    return found, True


def matches(text: str, pattern: str, escape: str) -> bool:
    """Whether the text is like the pattern, in time proportional to both lengths. Raises BadPattern."""
    states = [True] + [False] * len(text)
    for character, wild in parts(pattern, escape):
        if wild and character == "%":
            states = _any_from(states)
        else:
            step = [was and (wild or character == found) for was, found in zip(states, text, strict=False)]
            states = [False, *step]
    return states[-1]


def _any_from(states: list[bool]) -> list[bool]:
    """Once reached, all later places are."""
    first = states.index(True) if True in states else len(states)
    return [place >= first for place in range(len(states))]
