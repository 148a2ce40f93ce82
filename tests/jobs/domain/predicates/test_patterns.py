"""LIKE by hand: what is like a pattern, quickly, and the same as a regular expression that looks nowhere twice."""

import random
import re

import pytest

from jobs.domain.predicates import patterns

LETTERS = "ab\né.("


def slowly(text: str, pattern: str) -> bool:
    """By every way there is."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(slowly(text[at:], pattern[1:]) for at in range(len(text) + 1))
    if pattern[0] == "!":
        return text[:1] == pattern[1] and slowly(text[1:], pattern[2:])
    return bool(text) and pattern[0] in (text[0], "_") and slowly(text[1:], pattern[1:])


def pairs(count: int) -> list[tuple[str, str]]:
    chance = random.Random(5)
    wild = [*LETTERS, "%", "%", "_", "_", "!%", "!_", "!!"]
    return [
        (
            "".join(chance.choice(LETTERS + "%_!") for _ in range(chance.randrange(8))),
            "".join(chance.choice(wild) for _ in range(chance.randrange(8))),
        )
        for _ in range(count)
    ]


def test_it_finds_what_trying_every_way_finds():
    for text, pattern in pairs(20_000):
        assert patterns.matches(text, pattern, "!") == slowly(text, pattern), (text, pattern)


def test_the_regular_expression_finds_the_same():
    """Python reads these as Java does, but for the end of a text."""
    seen = 0
    for text, pattern in pairs(20_000):
        regex = patterns.regex(pattern, "!")
        if regex is not None:
            seen += 1
            found = re.search(regex.replace("\\z", "\\Z"), text)
            assert bool(found) == slowly(text, pattern), (text, pattern, regex)
    assert seen > 1_500


@pytest.mark.parametrize("pattern", ["", "a", "a%", "%a", "%a%", "a%b", "%_a%", "a!%%"])
def test_what_has_one_way_only_stays_sparks_own(pattern):
    assert patterns.regex(pattern, "!") is None
