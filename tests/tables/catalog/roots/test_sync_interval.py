"""How often a root's logs are read: set by API, page and command, on record, and heeded at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from console.audit.models import Event
from tables.catalog.adding import additions
from tables.models import Root, SyncTimes
from tests.clients import API, Caller, browser, confirmed_browser

People = Callable[..., Person]
Write = Callable[..., Path]


@pytest.fixture
def ines(admin: Actor) -> Any:
    assert admin.person is not None
    return Caller(admin.person).client


def patched(client: Any, root: Root, **body: Any) -> Any:
    return client.patch(f"{API}/roots/{root.pk}", body, content_type="application/json")


def test_a_root_is_added_with_its_schedule(ines: Any, lake: Path) -> None:
    body = {"name": "lake", "uri": str(lake), "sync_seconds": None}
    assert ines.post(f"{API}/roots", body, content_type="application/json").json()["sync_seconds"] is None
    (lake / "other").mkdir()
    body = {"name": "other", "uri": f"{lake}/other"}
    assert ines.post(f"{API}/roots", body, content_type="application/json").json()["sync_seconds"] == 300


def test_a_changed_schedule_is_on_record_and_tables_are_due_by_it(
    ines: Any, root: Root, admin: Actor, write: Write
) -> None:
    tables = [additions.add_table(admin, str(write(name))).table for name in ("a", "b")]
    SyncTimes.objects.filter(pk=tables[0].pk).update(next_sync_at=timezone.now() + timedelta(days=1))
    assert patched(ines, root, sync_seconds=60).json()["sync_seconds"] == 60
    within = timezone.now() + timedelta(seconds=61)
    assert SyncTimes.objects.filter(next_sync_at__lt=within).count() == 2
    assert patched(ines, root, sync_seconds=None).json()["sync_seconds"] is None
    assert SyncTimes.objects.filter(next_sync_at=None).count() == 2
    assert patched(ines, root, sync_seconds=3600).status_code == 200
    assert SyncTimes.objects.filter(next_sync_at=None).count() == 0
    assert patched(ines, root, sync_seconds=3600).status_code == 200  # again the same: no act
    events = Event.objects.filter(action="root.change").order_by("at")
    assert [(event.before, event.after) for event in events] == [
        ({"sync_seconds": 300}, {"sync_seconds": 60}),
        ({"sync_seconds": 60}, {"sync_seconds": None}),
        ({"sync_seconds": None}, {"sync_seconds": 3600}),
    ]


@pytest.mark.parametrize("pause", [0, 9, -1, 2_592_001, 2**70, "60", 60.5, True])
def test_an_odd_pause_is_refused(ines: Any, root: Root, pause: object) -> None:
    answer = patched(ines, root, sync_seconds=pause)
    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["sync_seconds"])
    assert Root.objects.get().sync_seconds == 300


def test_only_who_manages_the_root_changes_it(root: Root, person: People) -> None:
    operator = person("olga", Role.OPERATOR)
    assert patched(Caller(operator).client, root, sync_seconds=60).status_code == 403
    assert browser(operator).post(f"/roots/{root.pk}/edit/", {"name": "lake", "sync_seconds": 60}).status_code == 403
    assert patched(Caller(person("eve")).client, root, sync_seconds=60).status_code in {403, 404}
    own = person("rita", Role.ADMIN, root=root)
    assert patched(Caller(own).client, root, sync_seconds=60).status_code == 200


def test_an_administrator_sets_it_on_the_roots_page(root: Root, person: People, redis_server: object) -> None:
    client = confirmed_browser(person("rita", Role.ADMIN))
    assert str(root.pk) in client.get("/tables/add/").content.decode()
    page = client.get(f"/tables/roots/{root.pk}/").content.decode()
    assert "every 5 min" in page
    assert f"/tables/roots/{root.pk}/scan/" not in page  # that is for operators
    address = f"/roots/{root.pk}/edit/"
    assert f'href="{address}"' in page
    assert 'value="300"' in client.get(address).content.decode()
    assert client.post(address, {"name": "lake", "sync_seconds": "5"}).status_code == 400
    assert client.post(address, {"name": "lake", "sync_seconds": ""}).status_code == 302
    assert "by hand only" in client.get(f"/tables/roots/{root.pk}/").content.decode()
    assert client.post(f"/tables/roots/{root.pk}/", {"path": ["/x"]}).status_code == 403
    assert client.post("/tables/add/", {"path": f"{root.uri}/x"}).status_code in {403, 404}


def test_the_command_line_sets_it(db: None, lake: Path) -> None:
    def run(*arguments: str) -> str:
        out = StringIO()
        call_command("root", "add", *arguments, stdout=out)
        return out.getvalue()

    run("lake", str(lake), "--sync", "900")
    assert Root.objects.get().sync_seconds == 900
    assert "already" in run("lake", str(lake))
    assert Root.objects.get().sync_seconds == 900
    run("lake", str(lake), "--sync", "never")
    assert Root.objects.get().sync_seconds is None
    for odd in ("5", "often", "-60", "²"):
        with pytest.raises(CommandError):
            run("lake", str(lake), "--sync", odd)
