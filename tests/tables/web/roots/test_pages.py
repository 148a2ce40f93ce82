"""Roots in the browser: tested, added, changed, paused and removed, each on record, by those who may."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path, PosixPath
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from console.audit.models import Event
from tables.catalog import light_turns
from tables.catalog.adding import additions
from tables.catalog.roots import changes as root_changes
from tables.catalog.roots import entries as roots
from tables.catalog.roots import scans
from tables.models import Finding, Root, SyncTimes, Table
from tables.storage.local import probe as directory_probe
from tests.clients import Caller, confirmed_browser

People = Callable[..., Person]
Write = Callable[..., Path]
pytestmark = pytest.mark.django_db


@pytest.fixture
def rita(person: People, redis_server: object) -> Client:
    return confirmed_browser(person("rita", Role.ADMIN))


def page(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, answer.content[:2000]
    return " ".join(answer.content.decode().split())


def acts() -> list[str]:
    return list(Event.objects.filter(action__startswith="root.").order_by("at").values_list("action", flat=True))


def test_a_directory_is_tested_and_nothing_is_registered(rita: Client, root: Root, lake: Path, tmp_path: Path) -> None:
    def told(place: object) -> str:
        answer = rita.post("/roots/add/", {"do": "test", "uri": str(place)})
        assert answer.status_code == 200
        return " ".join(answer.content.decode().split())

    (tmp_path / "file").touch()
    (lake / "inner").mkdir()
    (tmp_path / "link").symlink_to(lake / "inner")
    before = acts()
    assert "Enter an absolute path" in told("lake")
    assert "There is nothing at" in told(tmp_path / "none")
    assert "is a file, not a directory" in told(tmp_path / "file")
    assert "how the bucket bucket is reached" in told("s3a://bucket/x")
    assert "directories of this machine, s3:// prefixes, gs:// prefixes and hdfs:// directories" in told(
        "abfss://bucket/x"
    )
    assert "operating system" in told("/proc/1")
    assert "as the root lake" in told(lake)
    assert "It lies in the root lake, of which 0 tables pass" in told(lake / "inner")
    assert f"leads through a link to {lake}/inner" in told(tmp_path / "link")
    assert "It holds lake" in told(tmp_path)
    assert "Levee can read it; it holds" in told(tmp_path)
    assert (acts(), Root.ever.count()) == (before, 1)


class Denied(PosixPath):
    """A place whose one act the system refuses."""

    act = ""

    def open(self, *args: Any, **more: Any) -> Any:
        return super().open(*args, **more) if self.act != "open" else self._refuse()

    def unlink(self, *args: Any, **more: Any) -> None:
        if self.act == "unlink":
            self._refuse()
        super().unlink(*args, **more)

    def _refuse(self) -> Any:
        raise PermissionError(13, "Permission denied")


def test_a_test_of_writing_leaves_nothing_in_a_directory(
    rita: Client, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(**more: str) -> str:
        answer = rita.post("/roots/add/", {"do": "test", "uri": str(lake), "name": "new", **more})
        assert answer.status_code == 200
        return " ".join(answer.content.decode().split())

    assert "Writable" not in told()
    assert "Levee can write and delete there." in told(writes="on")
    assert list(lake.iterdir()) == []
    assert "Writable" in told(writes="on", uri=str(lake / "none")), "it is a question, though not asked there"
    told_by_api = Caller(rita_of(rita)).post("/roots/test", {"uri": str(lake), "writes": True}).json()["checks"]
    assert told_by_api[-1]["name"] == "Writable"
    monkeypatch.setattr(directory_probe, "Path", Denied)
    monkeypatch.setattr(Denied, "act", "open")
    assert f"Levee’s user may not write in {lake}: Permission denied." in told(writes="on")
    monkeypatch.setattr(Denied, "act", "unlink")
    assert "and not delete there: Permission denied; _levee_probe_" in told(writes="on")


def rita_of(client: Client) -> Person:
    return Person.objects.get(pk=client.session["_auth_user_id"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "a lake"}, "A root’s name has 1 to 100 letters"),
        ({"name": "lake"}, "A root named lake exists already, at "),
        ({"name": ""}, "This field is required."),
        ({"name": "x" * 101}, "at most 100 characters"),
        ({"sync_seconds": "1"}, "greater than or equal to"),
        ({"scan_hours": "x"}, "Enter a whole number."),
        ({"uri": "s3://lake/x", "endpoint": "https://x", "secret": "s3cr3t"}, "needs the key ID that it belongs to"),
    ],
)
def test_a_test_says_what_is_wrong_with_the_form_too(
    rita: Client, root: Root, tmp_path: Path, given: dict[str, str], said: str
) -> None:
    new = {"do": "test", "uri": str(tmp_path / "other"), "name": "new", "sync_seconds": "60", **given}
    (tmp_path / "other").mkdir()
    answer = rita.post("/roots/add/", new)
    html = " ".join(answer.content.decode().split())
    checks = html.partition('id="checks"')[2]
    assert (answer.status_code, said in checks) == (200, True), (
        "a swap takes the checks alone, and no answer of another status"
    )
    assert ("Levee can read it" in checks) is ("endpoint" not in given)
    assert said in html.partition('id="checks"')[0], "without scripts it stands at the field"


def test_the_head_of_scan_results_follows_the_scan(
    person: People, root: Root, write: Write, redis_server: object
) -> None:
    client = confirmed_browser(person("ops", Role.OPERATOR))
    write("orders")
    address = f"/tables/roots/{root.pk}/"
    assert "lake hasn’t been scanned yet" in page(client, address)
    client.post(f"{address}scan/")
    scanning = page(client, address)
    assert "<h1> lake is being scanned </h1>" in scanning
    assert f'hx-get="{address}?part=1"' in scanning.partition("<h1>")[0], "the heading is part of what is polled"
    while light_turns.do_next():
        pass
    part = page(client, f"{address}?part=1")
    assert "<h1> 1 new in lake </h1>" in part
    assert "Add the new one" in part
    assert "Scan again" in part
    assert "hx-get" not in part


def test_a_root_is_added_shown_and_changed(rita: Client, lake: Path) -> None:
    assert "No roots yet" in page(rita, "/roots/")
    given = {
        "do": "add",
        "name": "lake",
        "uri": str(lake),
        "sync_seconds": "600",
        "scan_hours": "24",
        "adds_found": "on",
    }
    assert rita.post("/roots/add/", {**given, "name": "a lake"}).status_code == 400
    answer = rita.post("/roots/add/", given)
    assert answer.status_code == 302
    root = Root.objects.select_related("adds_found_by").get()
    assert (root.sync_seconds, root.scan_hours) == (600, 24)
    assert root.adds_found_by is not None
    assert root.adds_found_by.name == "rita"
    html = page(rita, answer["Location"])
    assert "10 min" in html
    assert "every 24 hours" in html
    assert "rita</span> switched this on" in html
    assert rita.post("/roots/add/", given).status_code == 409
    address = f"/roots/{root.pk}/edit/"
    assert " checked" in page(rita, address)
    assert rita.post(address, {"name": "shop", "sync_seconds": "", "scan_hours": "721"}).status_code == 400
    assert rita.post(address, {"name": "shop", "sync_seconds": "", "scan_hours": ""}).status_code == 302
    assert "by hand" in page(rita, "/roots/")
    event = Event.objects.get(action="root.change")
    assert event.after == {"name": "shop", "sync_seconds": None, "scan_hours": None, "adds_found": False}
    assert rita.post(address, {"name": "shop"}).status_code == 302  # again the same: no act
    assert acts() == ["root.add", "root.change"]


def test_what_fails_is_named(rita: Client, root: Root, admin: Actor, write: Write) -> None:
    for name in ("a", "b", "c"):
        additions.add_table(admin, str(write(name)))
    Table.objects.filter(name="a").update(sync_error="The location can’t be read: stale")
    Table.objects.filter(name="b").update(missing_since=timezone.now())
    SyncTimes.objects.filter(table__name="c").update(next_sync_at=timezone.now())
    row = page(rita, "/roots/")
    assert "2 tables fail" in row
    html = page(rita, f"/roots/{root.pk}/")
    assert "<dt>In the catalog</dt><dd>3</dd>" in html
    assert "<dt>Due for a sync</dt><dd>1</dd>" in html
    assert "stale" in html
    assert "The directory went missing" in html


def test_the_table_that_failed_last_is_named_first(
    rita: Client, person: People, root: Root, admin: Actor, write: Write
) -> None:
    now = timezone.now()
    read = {
        "fine": now - timedelta(days=9),
        "longest": None,
        "earlier": now - timedelta(days=3),
        "later": now - timedelta(hours=2),
    }
    tables = {name: additions.add_table(admin, str(write(name))).table for name in read}
    for name, synced_at in read.items():
        SyncTimes.objects.filter(pk=tables[name].pk).update(synced_at=synced_at)
    Table.objects.exclude(name="fine").update(sync_error="The location can’t be read: stale")
    Table.objects.filter(name="earlier").update(sync_error="", missing_since=now)
    (last,) = re.findall(r'data-label="Failed last">(.*?)</td>', page(rita, "/roots/"))
    assert re.findall(r'href="([^"]*)">([^<]*)<', last) == [(f"/tables/{tables['later'].pk}/", "later")]
    shown = page(rita, f"/roots/{root.pk}/").partition("Failing tables")[2]
    assert re.findall(r'class="lv-name lv-break" href="[^"]*">([^<]*)<', shown) == ["later", "earlier", "longest"]
    figures = Caller(person("vic", Role.VIEWER)).get(f"/roots/{root.pk}").json()["figures"]
    assert datetime.fromisoformat(figures["oldest_sync_at"]) == read["fine"]
    assert (figures["unreadable"], figures["missing"], figures["never_synced"]) == (2, 1, 1)


def test_a_paused_root_is_left_alone_until_it_is_resumed(
    rita: Client, person: People, root: Root, admin: Actor, write: Write
) -> None:
    table = additions.add_table(admin, str(write())).table
    operator = confirmed_browser(person("olga", Role.OPERATOR))
    SyncTimes.objects.update(next_sync_at=timezone.now())
    assert rita.post(f"/roots/{root.pk}/pause/").status_code == 302
    assert rita.post(f"/roots/{root.pk}/pause/").status_code == 302
    assert "was paused" in page(rita, f"/roots/{root.pk}/")
    assert "is paused" in page(operator, f"/tables/{table.pk}/")
    assert light_turns.do_next() is False
    for address, data in (
        (f"/tables/{table.pk}/sync/", {}),
        (f"/tables/roots/{root.pk}/scan/", {}),
        ("/tables/add/", {"path": str(write("new"))}),
    ):
        answer = operator.post(address, data)
        assert (answer.status_code, "is paused" in answer.content.decode()) == (409, True), address
    rita.post(f"/roots/{root.pk}/edit/", {"name": "lake", "sync_seconds": "60"})
    assert SyncTimes.objects.get().next_sync_at is None
    assert rita.post(f"/roots/{root.pk}/resume/").status_code == 302
    assert SyncTimes.objects.get().next_sync_at is not None
    assert acts() == ["root.add", "root.pause", "root.change", "root.resume"]


def test_a_root_is_removed_by_its_name(rita: Client, root: Root, admin: Actor, write: Write) -> None:
    additions.add_table(admin, str(write()))
    address = f"/roots/{root.pk}/remove/"
    assert "1 leaves the catalog" in page(rita, address)
    assert rita.post(address, {"name": "shop"}).status_code == 400
    assert Root.objects.count() == 1
    assert rita.post(address, {"name": "lake"})["Location"] == "/roots/"
    assert rita.get(f"/roots/{root.pk}/").status_code == 404
    assert "No roots yet" in page(rita, "/roots/")


def test_only_who_manages_a_root_reaches_it(person: People, root: Root, redis_server: Any) -> None:
    operator = confirmed_browser(person("olga", Role.OPERATOR))
    assert operator.get("/roots/").status_code == 403
    own = confirmed_browser(person("rolf", Role.ADMIN, root=root))
    other = Root.objects.create(name="other", uri="/nowhere")
    listed = page(own, "/roots/")
    assert "other" not in listed
    assert "You manage one root </h1>" in listed
    assert own.get(f"/roots/{other.pk}/").status_code == 404
    assert own.post(f"/roots/{root.pk}/pause/").status_code == 302
    assert own.get(f"/roots/{root.pk}/remove/").status_code == 403
    for address in ("/roots/add/", f"/roots/{root.pk}/remove/"):
        assert own.post(address, {"name": "lake", "uri": root.uri}).status_code == 403, address
    assert Root.objects.count() == 2


def test_finds_are_selected_only_where_they_can_be_added(
    admin: Actor, person: People, root: Root, lake: Path, redis_server: object
) -> None:
    for name in ("a", "b"):
        (lake / name).mkdir()
        (lake / name / "x.parquet").touch()
    scans.scan_root(root.pk)
    Finding.objects.filter(path=f"{lake}/b").update(gone_at=timezone.now())
    operator = confirmed_browser(person("olga", Role.OPERATOR))
    address = f"/tables/roots/{root.pk}/"
    html = page(operator, address)
    assert (html.count('name="path"'), html.count('<label class="lv-name')) == (1, 1)
    root_changes.pause(admin, root)
    html = page(operator, address)
    assert (html.count('name="path"'), html.count('<label class="lv-name')) == (0, 0)


def test_the_page_of_a_removal_says_what_becomes_of_jobs(rita: Client, root: Root, admin: Actor, lake: Path) -> None:
    (lake / "inner").mkdir()
    inner = roots.add_root(admin, "inner", f"{lake}/inner")
    assert "go by the roles and rules on lake" in page(rita, f"/roots/{inner.pk}/remove/")
    assert "no longer below a root" in page(rita, f"/roots/{root.pk}/remove/")
