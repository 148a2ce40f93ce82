"""A table with something to optimize, and a schedule as the API is asked for it."""

from pathlib import Path
from typing import Any

import pytest

from tables.models import Root, Table
from tests import factories
from tests.clients import Caller, caller
from tests.factories import lakes
from tests.jobs import small_delta


@pytest.fixture
def root(db: None, tmp_path: Path) -> Root:
    return factories.root_at(tmp_path)


@pytest.fixture
def sales(root: Root) -> Table:
    table = lakes.sales_in(root)
    small_delta.append(Path(table.path), [{"id": 50, "p": "FR"}])
    return table


@pytest.fixture
def olga(root: Root) -> Caller:
    return caller("operator")


@pytest.fixture
def anna(root: Root) -> Caller:
    return caller("approver")


@pytest.fixture
def body(sales: Table) -> dict[str, Any]:
    return {
        "name": "nightly",
        "command": {"command": "optimize", "table": str(sales.pk), "predicate": "p = 'FR'"},
        "cron": "30 3 * * *",
        "time_zone": "Europe/Berlin",
        "window_minutes": 120,
        "bounds": {"max_bytes": 10_000_000, "max_minutes": 60},
        "reason": "small files",
    }


@pytest.fixture
def reviewed(db: None) -> None:
    """The team wants an optimize to be seen by a second person."""
    factories.PolicyRuleFactory(name="optimizing", command="optimize")


@pytest.fixture
def made(olga: Caller, body: dict[str, Any]) -> dict[str, Any]:
    answer = olga.post("/schedules", body)
    assert answer.status_code == 201, answer.content
    return answer.json()  # type: ignore[no-any-return]
