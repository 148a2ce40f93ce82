"""Roots and tables of the catalog."""

from __future__ import annotations

from pathlib import Path

import factory

from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.models import Event
from console.audit.services import record
from tables.models import Root, Table


class RootFactory(factory.django.DjangoModelFactory):  # type: ignore[misc]  # the package is untyped
    """A root; give it `uri=str(tmp_path)` where its directory must exist."""

    class Meta:
        model = Root

    name = factory.Sequence(lambda n: f"lake{n}")
    uri = factory.Sequence(lambda n: f"/nowhere/lake{n}")


class TableFactory(factory.django.DjangoModelFactory):  # type: ignore[misc]  # the package is untyped
    """A table of the catalog that has never been synced."""

    class Meta:
        model = Table

    root = factory.SubFactory(RootFactory)
    name = factory.Sequence(lambda n: f"table{n}")
    path = factory.LazyAttribute(lambda o: f"{o.root.uri}/{o.name}")
    format = Table.Format.DELTA


def root_at(path: Path) -> Root:
    """The root of a directory, named as the directory is."""
    made: Root = RootFactory(name=path.name, uri=str(path))
    return made


def table_in(root: Root, name: str) -> Table:
    """A directory below the root, and its entry as one of parquet files."""
    (Path(root.uri) / name).mkdir(parents=True, exist_ok=True)
    made: Table = TableFactory(root=root, name=name, format=Table.Format.PARQUET)
    return made


def event(table: Table) -> Event:
    """An audit event about the table."""
    return record(Actor.system("tests"), Action.TABLE_SYNC, ObjectKind.TABLE, table.pk, table.name)
