"""Finding any part of a word with PostgreSQL alone: texts are cut into grams, a GIN index over the arrays does the
rest.

A text has the grams of one, two and three characters that its words contain; whoever looks for a term asks for the
texts that hold all of the term's grams, then compares (grams of one text may come from different words).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

LENGTHS = (1, 2, 3)
MAX_WORDS = 200_000  # characters of a table's text that are searched: 10,000 columns, say; wide schemas end somewhere
MAX_TERMS = 8


def normal(text: str) -> str:
    """Lower case, blanks and control characters as single blanks."""
    return " ".join("".join(c if c.isprintable() else " " for c in text.casefold()).split())


def words(parts: Iterable[str]) -> str:
    """The text to search through: every part once, in order, normalised and bounded."""
    return "\n".join(dict.fromkeys(filter(None, map(normal, parts))))[:MAX_WORDS]


def grams(text: str) -> list[str]:
    """The grams of a text as `words` gives it; none spans two words."""
    pieces = {word[i : i + n] for word in set(text.split()) for n in LENGTHS for i in range(len(word) - n + 1)}
    return sorted(pieces)


def later_words(leaf: str) -> list[str]:
    """Marks for the beginnings of the words in a name that come after its first one: `^ord` for `shop_orders`.

    A beginning goes on beyond its word (`^us_` for `stg_us_orders`), so that a term of several words has its mark too.
    """
    starts = [match.end() for match in re.finditer(r"[\W_]", leaf)]
    return sorted({f"^{leaf[start : start + n]}" for start in starts for n in LENGTHS if len(leaf) >= start + n})


def later_word_mark(term: str) -> str:
    """The mark that a name has in which a later word begins with the term."""
    return f"^{term[: LENGTHS[-1]]}"


def terms(query: str) -> list[str]:
    """The search terms: the words of the query, all of which must match."""
    return list(dict.fromkeys(normal(query).split()))[:MAX_TERMS]


def asked_grams(term: str) -> list[str]:
    """The grams that a text must hold to contain the term: its longest ones, which say most."""
    size = min(len(term), LENGTHS[-1])
    return sorted({term[i : i + size] for i in range(len(term) - size + 1)})
