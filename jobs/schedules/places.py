"""Where a schedule runs: on one table, on every table of a root, or on every table with a tag."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from django.db.models import QuerySet

from console.accounts.authority import EVERYTHING, GrantScope
from console.accounts.models import Person
from console.accounts.roles import Permission
from jobs.domain.commands import Command
from jobs.domain.policy import Case, TableClass
from jobs.models import Schedule
from tables.models import Root, Table


@dataclass(frozen=True, slots=True)
class SchedulePlace:
    """Exactly one of the three is set. The tables of a root or with a tag are those that have come there by the time of a run."""

    table: Table | None = None
    root: Root | None = None
    tag: str = ""

    @property
    def scope(self) -> GrantScope:
        """What a person needs a role on: a tag may be given to any table."""
        if self.table is not None:
            return GrantScope(table_id=self.table.pk)
        return EVERYTHING if self.root is None else GrantScope(root_id=self.root.pk)

    @property
    def name(self) -> str:
        """`sales`, `all tables of lake`, `all tables tagged gold`."""
        if self.table is not None:
            return self.table.name
        return f"all tables tagged {self.tag}" if self.root is None else f"all tables of {self.root.name}"

    @property
    def on(self) -> dict[str, str]:
        """`{table}`, `{root}` or `{tag}`, by their ids and the tag: as digests, the API and the list of tables name it."""
        if self.table is not None:
            return {"table": str(self.table.pk)}
        return {"tag": self.tag} if self.root is None else {"root": str(self.root.pk)}

    def tables(self) -> QuerySet[Table]:
        """The Delta tables that are there now; hidden entries and those whose directory is gone aside."""
        there = Table.objects.filter(hidden_at=None, missing_since=None, version__isnull=False)
        if self.table is not None:
            return there.filter(pk=self.table.pk)
        return there.filter(tags__contains=[self.tag]) if self.root is None else there.filter(root=self.root)

    def covers(self, table: Table) -> bool:
        """Whether the table is one of them, as it is now."""
        return self.tables().filter(pk=table.pk).exists()

    def cases(self, command: str, table_class: TableClass) -> Iterator[Case]:
        """What the rules are asked for a definition here: of many tables by their roots. A run is asked for its own table again."""
        if self.table is not None:
            yield Case(command, str(self.table.root_id), str(self.table.pk), table_class)
            return
        roots = [self.root.pk] if self.root else self.tables().order_by().values_list("root_id", flat=True).distinct()
        for root in [str(each) for each in roots] or [""]:
            yield Case(command, root, "", table_class)


def place_of(schedule: Schedule) -> SchedulePlace:
    """The schedule's."""
    return SchedulePlace(schedule.table, schedule.root, schedule.tag)


def table_of(schedule: Schedule) -> Table:
    """The table of a schedule on one. Raises ValueError for one on many."""
    if schedule.table is None:
        raise ValueError(f"the schedule {schedule.pk} is for many tables")
    return schedule.table


def may(person: Person, permission: Permission, place: SchedulePlace) -> bool:
    """Whether the person has the permission on all of the place."""
    scopes = person.scopes(permission)
    if place.table is not None:
        return scopes.covers_table(place.table.root_id, place.table.pk)
    return scopes.everything if place.root is None else scopes.covers_root(place.root.pk)


def of_no_table(command: Command) -> Command:
    """The same command as a definition for many tables holds it."""
    return cast(Command, replace(cast(Any, command), table=""))


def on_table(command: Command, table_id: uuid.UUID) -> Command:
    """The command of a definition for many tables, on one of them."""
    return cast(Command, replace(cast(Any, command), table=str(table_id)))
