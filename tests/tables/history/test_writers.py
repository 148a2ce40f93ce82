"""Who made a commit: what its writer calls itself is shown, and finds it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from console.accounts.models import Person
from console.audit.actor import Actor
from tables.catalog.adding import additions
from tables.history.queries import HistoryFilter, history_page
from tables.models import Root
from tables.sync import table as syncing
from tests.clients import browser, caller
from tests.tables.deltalog.writing import LogWriter, add, info, remove

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("said", "by"),
    [
        ({"clientVersion": "delta-rs.0.17.0"}, "delta-rs.0.17.0"),
        ({"clientVersion": "x", "engineInfo": "Databricks-Runtime/15.4"}, "Databricks-Runtime/15.4"),
        ({"engineInfo": "Databricks-Runtime/15.4", "userId": 4711, "userName": "ana@example.org"}, "ana@example.org"),
        ({"userId": "4711"}, "4711"),
    ],
)
@pytest.mark.parametrize("operation", ["WRITE", "DELETE"])
def test_the_history_shows_who_wrote_and_finds_by_it(
    admin: Actor, root: Root, lake: Path, said: dict[str, Any], by: str, operation: str
) -> None:
    log = LogWriter(lake / "orders")
    log.create(add("a"))
    table = additions.add_table(admin, str(log.table)).table
    parameters = {"partitionBy": ["a"], "mode": "Append", "rows": 5, "schema": None}
    log.commit(
        1, info(operation, operationParameters=parameters, **said), remove("a") if operation == "DELETE" else add("b")
    )
    syncing.sync(table.pk)
    assert [commit.version for commit in history_page(table, HistoryFilter(by=by), 9).rows] == [1]
    [found] = caller("viewer").get(f"/tables/{table.pk}/history", by=by).json()["results"]
    assert by in (found["engine_info"], found["user_name"])
    assert admin.person is not None
    html = browser(Person.objects.get(pk=admin.person.pk)).get(f"/tables/{table.pk}/history/").content.decode()
    assert by in html
