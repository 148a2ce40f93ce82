"""A lake, a root and three people, as the catalog's tests need them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from tables.catalog.roots import entries as roots
from tables.catalog.roots.object_stores import description_of
from tables.models import Root
from tests import factories, s3
from tests.factories import lakes


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    (tmp_path / "lake").mkdir()
    return tmp_path / "lake"


@pytest.fixture
def write(lake: Path) -> Callable[..., Path]:
    """Writes rows as a Delta table below the lake, by another engine than Levee's."""

    def write(name: str = "orders", rows: int = 3, **options: Any) -> Path:
        table = pa.table({"id": list(range(rows)), "country": [("DE", "FR")[i % 2] for i in range(rows)]})
        return lakes.delta(lake / name, options.pop("table", table), **options)

    return write


@pytest.fixture
def person(db: None) -> Callable[..., Person]:
    """Makes a person with roles on everything, a root or a table."""

    return factories.person_named


@pytest.fixture
def admin(person: Callable[..., Person]) -> Actor:
    return Actor.acting_for(person("ines", Role.ADMIN, Role.OPERATOR))


@pytest.fixture
def root(admin: Actor, lake: Path) -> Root:
    return roots.add_root(admin, "lake", str(lake))


@pytest.fixture(scope="session")
def _store_server() -> Iterator[tuple[str, s3.Door]]:
    with s3.serving() as served:
        yield served


@pytest.fixture
def store(_store_server: tuple[str, s3.Door]) -> Iterator[s3.Store]:
    """An empty bucket in an object store that knows one key."""
    with s3.a_bucket(*_store_server) as bucket:
        yield bucket


@pytest.fixture
def stored(admin: Actor, store: s3.Store) -> Root:
    """A root in it, below a prefix with one Delta table."""
    store.delta("sales/orders")
    return roots.add_root(admin, "stored", f"{store.uri}/sales", storage=description_of(store.storage()))
