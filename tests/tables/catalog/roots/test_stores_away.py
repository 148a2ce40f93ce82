"""An object store that refuses or is away, and a credential that changes: what is said, what waits, and what is read again."""

from __future__ import annotations

import dataclasses
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from console.audit.actor import Actor
from console.base.errors import Problem
from tables.catalog.adding import additions
from tables.catalog.adding import bulk as bulk_additions
from tables.catalog.roots import entries as roots
from tables.catalog.roots import object_stores, scans
from tables.catalog.roots import places as root_places
from tables.catalog.roots import removal as root_removal
from tables.catalog.roots.object_stores import description_of
from tables.models import Finding, ObjectStore, Root, SyncTimes
from tables.rules import locations
from tables.storage import patience
from tables.storage.description import Description
from tables.storage.folders import StoreRefused
from tables.storage.objects import buckets as seam
from tables.storage.objects import probe as bucket_probe
from tables.storage.objects.files import ObjectStorage
from tables.storage.paths import BadPlace
from tables.storage.s3.options import S3Options
from tables.storage.store import StorageError
from tables.storage.stores import folders_at
from tables.sync import table as syncing
from tables.sync import unchanged
from tests.s3 import KEY_ID, Store

pytestmark = pytest.mark.django_db


def described(store: Store, **other: Any) -> Description:
    return description_of(store.storage(**other))


def questions(path: str) -> list[Callable[[], Any]]:
    """Each that reading a table asks its store."""
    commit = "_delta_log/00000000000000000000.json"
    return [
        lambda: seam.holds_key(path),
        lambda: list(ObjectStorage(path).entries("_delta_log")),
        lambda: ObjectStorage(path).entry(commit),
        lambda: list(ObjectStorage(path).chunks(commit, 10)),
        lambda: ObjectStorage(path).open(commit),
        lambda: list(folders_at(path).entries(path)),
    ]


def test_no_exception_carries_the_stores_own_answer(admin: Actor, stored: Root, store: Store) -> None:
    store.door.refuses = (403, "InvalidAccessKeyId")
    for ask in questions(f"{stored.uri}/orders"):
        seam.ask_again(f"s3://{store.bucket}")
        with pytest.raises((StorageError, StoreRefused)) as refused:
            ask()
        assert KEY_ID not in "".join(traceback.format_exception(refused.value))


def test_a_bucket_that_refuses_everything_is_left_alone_for_a_while(
    admin: Actor, stored: Root, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{stored.uri}/orders"
    store.door.refuses = (403, "InvalidAccessKeyId")
    with pytest.raises(StorageError):
        seam.holds_key(path)
    asked = len(store.door.requests)
    for _ in range(3):
        with pytest.raises(StorageError, match="doesn’t know the key ID, a moment ago"):
            ObjectStorage(path)
    assert len(store.door.requests) == asked
    assert seam.is_away(path)
    store.door.refuses = None
    assert not [c for c in root_places.examine(admin, f"{store.uri}/sales/orders", None) if "a moment ago" in c.answer]
    monkeypatch.setattr(seam, "_away", {k: (s, time.monotonic() - 1, w) for k, (s, _, w) in seam._away.items()})
    assert seam.holds_key(path)
    assert not seam.is_away(path)


BAD = [("http://127.0.0.1:9", False), ("http://host.7", True), ("http://xn--a.com", False)]


@pytest.mark.parametrize(("endpoint", "path_style"), BAD)
@pytest.mark.parametrize("checked", [True, False], ids=["checked", "panicking"])
def test_a_bucket_without_an_address_fails_its_own_tables_alone(
    admin: Actor, stored: Root, store: Store, root: Root, write: Any, monkeypatch: pytest.MonkeyPatch,
    endpoint: str, path_style: bool, checked: bool,
) -> None:  # fmt: skip
    """As it may lie in the database from before the check; and where obstore panics though the check found nothing."""
    bad, good = (additions.add_table(admin, path).table for path in (f"{stored.uri}/orders", str(write("good"))))
    ObjectStore.objects.update(endpoint=endpoint, path_style=path_style)
    object_stores.forget(f"s3://{store.bucket}")
    if not checked:
        monkeypatch.setattr(S3Options, "require_address", lambda _: None)
    assert "can’t be asked as it is described" in syncing.sync(bad.pk).sync_error.replace("'", "’")
    before = timezone.now()
    SyncTimes.objects.update(next_sync_at=before)
    while unchanged.sync_claimed():
        pass
    for table in (bad, good):
        table.refresh_from_db()
    assert good.sync_error == ""
    assert SyncTimes.objects.filter(pk=good.pk, synced_at__gt=before).exists()
    assert (bad.version, bad.missing_since) == (0, None)
    for each in (stored, root):
        scans.ask_scan(admin, each)
    while scans.scan_next_asked():
        pass
    stored.refresh_from_db()
    assert "can’t be asked as it is described" in stored.scan_stopped.replace("'", "’")
    assert Finding.objects.filter(root=root).count() == 1
    asked = [check for check in root_places.examine(admin, f"{store.uri}/hr", None) if check.passed is False]
    assert asked, "the test of a place says so too"


def test_a_sync_names_the_style_that_may_be_wrong(stored: Root, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "_now", patience.BRIEF)
    for path_style in (True, False):
        ObjectStore.objects.update(endpoint="http://localhost:9", path_style=path_style)
        object_stores.forget(f"s3://{store.bucket}")
        with pytest.raises(StorageError, match="the endpoint doesn’t answer") as refused:
            seam.holds_key(f"{stored.uri}/orders")
        assert ("wants path style" in str(refused.value)) is not path_style


def test_each_question_to_a_store_survives_a_panic(stored: Root, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(S3Options, "require_address", lambda _: None)
    ObjectStore.objects.update(endpoint="http://host.7")
    object_stores.forget(f"s3://{store.bucket}")
    path = f"{stored.uri}/orders"
    prefix = bucket_probe.Prefix.of(path, seam.options_of(path))
    places: list[Callable[[], Any]] = [
        lambda: bucket_probe.listable(prefix),
        lambda: bucket_probe.writable(prefix),
    ]
    for ask in (*questions(path), *places):
        seam.ask_again(f"s3://{store.bucket}")
        with pytest.raises((StorageError, StoreRefused, BadPlace), match="as it is described"):
            ask()


def test_what_one_place_refuses_closes_no_bucket(stored: Root, store: Store) -> None:
    store.door.refuses = (403, "AccessDenied")
    with pytest.raises(StorageError):
        seam.holds_key(f"{stored.uri}/orders")
    store.door.refuses = None
    assert seam.holds_key(f"{stored.uri}/orders")


def test_a_changed_credential_has_failed_tables_read_soon(admin: Actor, stored: Root, store: Store) -> None:
    table = additions.add_table(admin, f"{stored.uri}/orders").table
    SyncTimes.objects.filter(pk=table.pk).update(next_sync_at=timezone.now() + timedelta(hours=23))
    object_stores.change(admin, stored, described(store, secret="other-secret"))
    stored.refresh_from_db()
    assert stored.sync_seconds is not None
    within = timezone.now() + timedelta(seconds=stored.sync_seconds)
    due = SyncTimes.objects.get(pk=table.pk).next_sync_at
    assert due is not None
    assert due < within


def test_a_store_that_doesnt_tell_makes_no_table_of_the_directory_above(stored: Root, store: Store) -> None:
    location = locations.resolve(f"{stored.uri}/orders", [stored])
    for answer in ((403, "AccessDenied"), (403, "InvalidAccessKeyId")):
        store.door.refuses = answer
        with pytest.raises(Problem) as refused:
            additions.refuse_inside_table(location)
        assert (refused.value.status, refused.value.code) == (422, "unreadable")


def test_a_bulk_addition_waits_for_a_store_that_is_away(
    admin: Actor, stored: Root, store: Store, root: Root, write: Any
) -> None:
    write("orders")
    for each in (stored, root):
        scans.scan_root(each.pk)
    waiting, other = (bulk_additions.request(admin, each) for each in (stored, root))
    store.door.refuses = (403, "ExpiredToken")
    assert bulk_additions.work_next(), "the other root's goes on"
    assert not bulk_additions.work_next()
    waiting.refresh_from_db()
    other.refresh_from_db()
    assert (waiting.ended_at, waiting.refused, other.added) == (None, 0, 1)
    assert Finding.objects.get(root=stored).refusal == ""
    store.door.refuses = None
    object_stores.forget(f"s3://{store.bucket}")
    assert bulk_additions.work_next()
    waiting.refresh_from_db()
    assert (waiting.added, waiting.refused) == (1, 0)
    assert waiting.ended_at is not None


def test_a_credential_that_cant_be_encrypted_changes_nothing(
    admin: Actor, stored: Root, store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = ObjectStore.objects.get().secret
    monkeypatch.setattr(
        settings, "ENV", dataclasses.replace(settings.ENV, home=tmp_path / "gone", credentials_key=None)
    )
    with pytest.raises(Problem) as refused:
        object_stores.change(admin, stored, described(store, secret="other-secret"))
    assert (refused.value.status, refused.value.code) == (503, "no_key")
    assert "Nothing was changed" in refused.value.detail
    assert ObjectStore.objects.get().secret == before


def test_acts_on_one_bucket_take_turns_and_look_again(
    admin: Actor, stored: Root, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = root_places.checked_uri

    def last_root_goes_meanwhile(*given: Any) -> str:
        uri = checked(*given)
        root_removal.remove(admin, stored)
        return uri

    store.put("hr/x")
    with CaptureQueriesContext(connection) as asked:
        object_stores.change(admin, stored, described(store))
    assert "pg_advisory_xact_lock" in asked.captured_queries[1]["sql"], "after the savepoint, before any row is locked"
    monkeypatch.setattr(root_places, "checked_uri", last_root_goes_meanwhile)
    with CaptureQueriesContext(connection) as asked, pytest.raises(Problem) as refused:
        roots.add_root(admin, "hr", f"{store.uri}/hr")
    assert (refused.value.status, refused.value.code) == (409, "storage_gone")
    assert sum("pg_advisory_xact_lock" in each["sql"] for each in asked.captured_queries) == 2
    with pytest.raises(Problem) as refused:
        object_stores.change(admin, stored, described(store))
    assert (refused.value.status, refused.value.code) == (404, "not_found")
    assert not ObjectStore.objects.exists()
