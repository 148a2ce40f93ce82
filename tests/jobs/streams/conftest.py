"""A lake with a landing directory and a Delta table, and people who may run streams into it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from console.accounts.models import Person
from console.audit.actor import Actor
from jobs.models import Stream
from jobs.streams import acts
from tables.models import Root, Table
from tests import factories
from tests.factories import lakes
from tests.jobs import small_delta

SCHEMA = "id BIGINT, p STRING"


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return factories.root_at(tmp_path)


@pytest.fixture
def landing(root: Root) -> Path:
    """Three JSON files of one row each."""
    place = Path(root.uri) / "landing"
    place.mkdir()
    for number in range(3):
        (place / f"{number}.json").write_text(json.dumps({"id": number, "p": "a"}) + "\n")
    return place


@pytest.fixture
def sales(root: Root) -> Table:
    """A Delta table of a few rows that no stream made."""
    return lakes.sales_in(root)


@pytest.fixture
def olga(db: None) -> Person:
    return factories.person_with("operator")


@pytest.fixture
def actor(olga: Person) -> Actor:
    return Actor.acting_for(olga)


@pytest.fixture
def asked(landing: Path, root: Root) -> dict[str, Any]:
    """What a person asks for: JSON files into a table that isn't there yet, every ten seconds."""
    return {
        "source": {"path": str(landing), "format": "json", "schema": SCHEMA},
        "target": {"path": f"{root.uri}/clicks"},
        "output_mode": "append",
        "trigger": {"interval": "10s"},
    }


@pytest.fixture
def stream(actor: Actor, asked: dict[str, Any]) -> Stream:
    return acts.create(actor, "clicks-ingest", "clicks of the shop", asked)


@pytest.fixture
def counted(asked: dict[str, Any], sales: Table) -> dict[str, Any]:
    """A Complete stream into a table that it didn't make."""
    return {
        **asked,
        "aggregate": {"group_by": ["p"], "count_as": "id"},
        "target": {"table": str(sales.pk)},
        "output_mode": "complete",
    }


def rows(path: Path) -> list[Any]:
    return small_delta.rows_of(path)
