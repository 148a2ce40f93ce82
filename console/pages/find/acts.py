"""Acts on tables by their words: `optimize sales` leads to the form that optimizes the table sales."""

from __future__ import annotations

from collections.abc import Sequence

from console.accounts.models import Person
from console.accounts.roles import Permission
from tables import ports
from tables.catalog import listing
from tables.models import Table
from tables.rules.search_index import normal, terms
from tables.web.table import acts

MOST = 6
TABLES = 8  # that are looked through for one on which the person may do it
SHORTEST = 2  # letters of a word that begins an act's


def acts_on_tables(person: Person, q: str, here: Table | None) -> list[tuple[str, str, Table]]:
    """The acts that words of the question begin, on the tables that its other words find: text, address and table.

    Whether an act is offered is the table's header's to say. Without another word it is offered on the tables that changed last. The
    table of the page (`here`) has its acts in a group of its own.
    """
    left, texts = acts_named(q)
    if not texts or not person.may(Permission.TABLE_READ):
        return []
    order = listing.SEARCH_ORDER if left else "-changed"
    tables = listing.table_page(person, listing.TableFilter(q=" ".join(left)), order, TABLES, "").rows
    protected = ports.protected(person, [table.path for table in tables])
    found = [
        (f"{act.offer.text.removesuffix('…')}: {table.catalog_name or table.name}", act.url, table)
        for table in tables
        if here is None or table.pk != here.pk
        for act in acts.acts_on(person, table, acts.streaming_at(person, table), protected.get(table.path, ())).values()
        if act.offer.text in texts
    ]
    return found[:MOST]


def acts_named(q: str) -> tuple[list[str], list[str]]:
    """The words of the question that begin no word of an act, and the acts that take the most of its words; none without such a word."""
    asked = terms(q)
    left_by = {
        offer.text: _left(asked, f"{normal(offer.text).rstrip('…')} {offer.words}".split()) for offer in acts.known()
    }
    fewest = min(map(len, left_by.values()))
    if fewest == len(asked):
        return asked, []
    texts = [text for text, left in left_by.items() if len(left) == fewest]
    left = left_by[texts[0]]
    return left, [text for text in texts if left_by[text] == left]


def _left(asked: Sequence[str], words: Sequence[str]) -> list[str]:
    return [term for term in asked if len(term) < SHORTEST or not any(word.startswith(term) for word in words)]
