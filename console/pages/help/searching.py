"""The search of the help: sections that hold every word, those with the words in their headings first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from console.pages.help.site import HelpPage, Section

MOST_WORDS = 8
MOST_HITS = 30
AROUND = 110  # characters of an excerpt on each side of the first word found


@dataclass(frozen=True)
class Hit:
    """A section that was found; `parts` is its excerpt in pieces, of which every second one is a word that was found."""

    page: HelpPage
    section: Section
    parts: list[str]

    @property
    def is_page(self) -> bool:
        return self.section.level == 1


def search(text: str, pages: Mapping[str, HelpPage]) -> list[Hit]:
    """At most 30 sections, best first; none for a text without words."""
    words = text.lower().split()[:MOST_WORDS]
    if not words:
        return []
    scored = sorted(_scored(words, pages), key=lambda each: -each[0])
    return [Hit(page, section, _excerpt(section.text, words)) for _, page, section in scored[:MOST_HITS]]


def _scored(words: list[str], pages: Mapping[str, HelpPage]) -> Iterator[tuple[int, HelpPage, Section]]:
    for page in pages.values():
        for section in page.sections:
            score = _score(words, page.title.lower(), section.title.lower(), section.text.lower())
            if score:
                yield score, page, section


def _score(words: list[str], page: str, heading: str, text: str) -> int:
    """0 unless the section holds every word; a heading that is the whole text searched for wins."""
    counts = [8 * (word in heading) + min(text.count(word), 3) for word in words]
    if not all(counts):
        return 0
    return sum(counts) + 20 * (heading == " ".join(words)) + sum(2 for word in words if word in page)


def _excerpt(text: str, words: list[str]) -> list[str]:
    found = re.search("|".join(re.escape(word) for word in words), text, re.IGNORECASE)
    begin = max(found.start() - AROUND, 0) if found else 0
    begin = text.find(" ", begin) + 1 if begin else 0
    piece = " ".join(text[begin : begin + 2 * AROUND].split())
    return re.split(f"({'|'.join(re.escape(word) for word in words)})", piece, flags=re.IGNORECASE)
