"""What a person may do with a table: the one list that its header, its tabs, the palette and the findings of its health offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse

from console.accounts.models import Person
from console.accounts.roles import Permission
from tables import ports
from tables.models import Table
from tables.ports import Offer, ProtectionText


@dataclass(frozen=True, slots=True)
class TableAct:
    """An offer on one table, by the address of its form there."""

    offer: Offer
    url: str


def _describe_at(table: Table) -> str:
    return reverse("tables:describe", args=[table.pk])


DESCRIBE = Offer("describe", "Describe…", _describe_at, words="owner tags name description rename")


def known() -> list[Offer]:
    """What can be done with some table, in the order in which it is offered."""
    return [*ports.offers(), DESCRIBE]


def acts_on(
    person: Person, table: Table, streaming: str, protections: Sequence[ProtectionText] = ()
) -> dict[str, TableAct]:
    """By kind, what the person may do with the table as it is.

    `streaming` says why a plain directory isn't converted now, if it isn't; `protections` are the rules that keep jobs from the table.
    """
    requested = ports.offers() if may(person, table, Permission.JOB_REQUEST) else []
    free = [offer for offer in requested if not any(rule.forbids(offer) for rule in protections)]
    offers = [offer for offer in free if _fits(offer, table, streaming)]
    if may_describe(person, table):
        offers.append(DESCRIBE)
    return {offer.kind: TableAct(offer, offer.address(table)) for offer in offers}


def streaming_at(person: Person, table: Table) -> str:
    """Why a plain directory isn't converted now: a stream reads it or writes into it; "" for any other table."""
    return ports.streams_at(person, [table.path]).get(table.path, "") if _is_plain(table) else ""


def in_places(acts: Mapping[str, TableAct], tab: str) -> dict[str, list[TableAct]]:
    """The acts where a tab's page shows them: the menu, the buttons with the weightiest last, and those beside what the tab shows."""
    offered = [act for act in acts.values() if act.offer is not DESCRIBE]
    return {
        "menu_acts": [act for act in offered if not act.offer.is_button],
        "button_acts": [act for act in reversed(offered) if act.offer.is_button],
        "acts_beside": [act for act in offered if act.offer.beside == tab],
    }


def may(person: Person, table: Table, permission: Permission) -> bool:
    """Whether the person has the permission for this table."""
    return person.scopes(permission).covers_table(table.root_id, table.pk)


def may_describe(person: Person, table: Table) -> bool:
    """Whether the page of description, owner and tags has something to change for the person."""
    return may(person, table, Permission.TABLE_ADD) or may(person, table, Permission.TAG_MANAGE)


def _fits(offer: Offer, table: Table, streaming: str) -> bool:
    if offer.of_plain:
        return _is_plain(table) and not streaming
    return table.version is not None and not table.missing_since


def _is_plain(table: Table) -> bool:
    """Whether it is a directory of parquet files that could be converted."""
    return not (table.is_delta or table.is_not_there_yet or table.missing_since)
