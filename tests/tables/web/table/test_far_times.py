"""A table whose log says that it was written at the end of the calendar: it is shown, and breaks no list that it stands in."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.urls import reverse

from console.accounts.models import Person
from console.audit.actor import Actor
from console.base import zones
from tables.catalog.adding import additions
from tables.models import Root, Table
from tables.web.table import page_header
from tests import factories
from tests.clients import browser
from tests.tables.deltalog.writing import PROTOCOL, LogWriter, add, info, metadata, remove

LAST_MS = 253_402_300_799_990


@pytest.fixture
def far(lake: Path, admin: Actor, root: Root) -> Table:
    """An append and a delete, a few milliseconds before the year 10000."""
    writer = LogWriter(lake / "far")
    on = metadata(delta__enableInCommitTimestamps="true")
    writer.commit(0, info(operation="WRITE", inCommitTimestamp=LAST_MS), PROTOCOL, on, add("a.parquet"))
    writer.commit(1, info(operation="DELETE", inCommitTimestamp=LAST_MS + 9), remove("a.parquet"))
    return additions.add_table(admin, str(writer.table)).table


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/Los_Angeles"])
def test_every_page_of_it_and_every_list_with_it_is_shown(far: Table, zone: str) -> None:
    person = factories.person_named("uta", "admin", "operator", "auditor")
    Person.objects.filter(pk=person.pk).update(time_zone=zone)
    lists = [reverse(name) for name in ("home", "tables:list", "find:find")]
    commits = [f"/tables/{far.pk}/commits/{version}/" for version in (0, 1)]
    shown = browser(person)
    try:
        answers = {
            url: shown.get(url).status_code
            for url in (*lists, *commits, *(url for _, url, _ in page_header.places(person, far)))
        }
    finally:
        zones.show_in(zones.UTC_NAME)
    assert set(answers.values()) == {200}, answers
