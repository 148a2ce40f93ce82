"""A bucket behind a door, with a table in it."""

from collections.abc import Iterator
from typing import Any

import pytest

from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from tables.catalog.roots import entries as roots
from tables.catalog.roots.object_stores import description_of
from tables.models import Table
from tests import factories, s3


@pytest.fixture(scope="module")
def served() -> Iterator[Any]:
    with s3.serving() as made:
        yield made


@pytest.fixture
def store(served: Any) -> Iterator[s3.Store]:
    inside = served[1].inside
    with s3.a_bucket(*served) as bucket:
        yield bucket
    served[1].inside = inside


@pytest.fixture
def table(store: s3.Store, olga: Person) -> Table:
    ines = Actor.acting_for(factories.appointed("ines", Role.ADMIN))
    root = roots.add_root(ines, "store", store.uri, storage=description_of(store.storage()))
    return factories.TableFactory(root=root, name="orders", path=store.delta("orders", rows=10))
