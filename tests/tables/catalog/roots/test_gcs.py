"""Roots in Google Cloud Storage: tested, added, scanned, read and given another key, beside an emulator of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command

from console.accounts.roles import Role
from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from tables.catalog.adding import additions
from tables.catalog.roots import entries as roots
from tables.catalog.roots import object_stores, scans
from tables.catalog.roots import places as root_places
from tables.catalog.roots.object_stores import description_of
from tables.models import Finding, ObjectStore, Root
from tables.storage.description import Description
from tables.storage.gcs.options import GcsOptions
from tables.storage.stores import files_at
from tables.sync import table as syncing
from tables.web.table_state import has_unguarded_writers
from tests import gcs
from tests.clients import Caller, confirmed_browser
from tests.factories.people import person_named

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def _google() -> Iterator[tuple[str, gcs.Door]]:
    with gcs.serving() as served:
        yield served


@pytest.fixture
def bucket(_google: tuple[str, gcs.Door]) -> Iterator[gcs.Store]:
    with gcs.a_bucket(*_google) as made:
        yield made


def storage(bucket: gcs.Store, key_id: str = gcs.KEY_ID, **other: Any) -> dict[str, Any]:
    return {"endpoint": bucket.endpoint, "secret": bucket.account(key_id), **other}


def described(bucket: gcs.Store, key_id: str = gcs.KEY_ID) -> Description:
    return description_of(storage(bucket, key_id))


@pytest.fixture
def root(admin: Actor, bucket: gcs.Store) -> Root:
    bucket.delta("sales/orders")
    return roots.add_root(admin, "google", f"{bucket.uri}/sales", storage=described(bucket))


def failed(admin: Actor, bucket: gcs.Store, given: Description | None = None) -> str:
    checks = root_places.examine(admin, f"{bucket.uri}/sales", given or described(bucket), writes=True)
    (bad,) = (check for check in checks if check.passed is False)
    return bad.answer


def test_a_prefix_is_tested_added_scanned_and_its_tables_are_read(admin: Actor, bucket: gcs.Store) -> None:
    place = bucket.delta("sales/orders")
    bucket.delta("sales/orders", mode="append")
    bucket.delta("sales/deep/er/clicks")
    bucket.put("sales/plain/day=1/a.parquet")
    checks = root_places.examine(admin, f"{bucket.uri}/sales/", described(bucket), writes=True)
    assert [check.passed for check in checks] == [True] * len(checks), checks
    assert gcs.ACCOUNT in checks[1].answer
    assert not any("probe" in key for key in bucket.listed())

    root = roots.add_root(admin, "google", f"GS://{bucket.bucket}/sales", storage=described(bucket))
    assert root.uri == f"{bucket.uri}/sales"
    answer = scans.scan_root(root.pk)
    assert (answer["found"], answer["complete"], answer["stopped"]) == (3, True, None)
    found = dict(Finding.objects.filter(root=root).values_list("path", "kind"))
    assert found == {place: "delta", f"{root.uri}/deep/er/clicks": "delta", f"{root.uri}/plain": "parquet"}
    table = additions.add_table(admin, place).table
    assert (table.sync_error, table.version, table.name) == ("", 1, "orders")
    assert not has_unguarded_writers(table), "Delta commits there on a condition"
    bucket.delta("sales/orders", mode="append")
    assert syncing.sync(table.pk).version == 2


def test_what_the_store_refuses_is_one_line(admin: Actor, bucket: gcs.Store) -> None:
    bucket.put("sales/a")
    assert "doesn’t accept the key" in failed(admin, bucket, described(bucket, "an-unknown-key-0001"))
    bucket.door.refuses = (403, "AccessDenied")
    assert "the key may not do this" in failed(admin, bucket)
    bucket.door.refuses = (503, "SlowDown")
    assert "overloaded or out of order (HTTP 503)" in failed(admin, bucket)
    bucket.door.refuses = None
    with pytest.raises(Problem) as refused:
        root_places.examine(admin, f"{bucket.uri}/sales", description_of(storage(bucket, secret="AKIA")))
    assert refused.value.fields == {"secret": "Enter the whole JSON file of the service account’s key."}
    away = description_of(storage(bucket) | {"endpoint": "http://127.0.0.1:9"})
    with pytest.raises(Problem) as refused:
        roots.add_root(admin, "google", f"{bucket.uri}/sales", storage=away)
    assert "token_uri" in (refused.value.fields or {})["secret"]


def test_a_key_is_stored_encrypted_shown_to_nobody_and_replaced(bucket: gcs.Store, root: Root) -> None:
    ines = Caller(person_named("nora", Role.ADMIN))
    row = ObjectStore.objects.get()
    assert (row.bucket, row.region, row.key_id) == ("gs://", "", gcs.KEY_ID)
    assert b"PRIVATE KEY" not in bytes(row.secret or b"")
    shown = ines.get(f"/roots/{root.pk}").json()["storage"]
    assert (shown["bucket"], shown["key"], shown["region"]) == (bucket.bucket, "…0001", "")
    bucket.door.key_ids = {"key-of-the-tests-0002"}
    answer = ines.put(f"/roots/{root.pk}/storage", storage(bucket, "key-of-the-tests-0002") | {"key_id": gcs.KEY_ID})
    assert (answer.status_code, answer.json()["key"]) == (200, "…0002")
    assert list(files_at(f"{root.uri}/orders").names("_delta_log")) == [f"{0:020d}.json"]
    assert "PRIVATE KEY" not in str([ines.get(f"/roots/{root.pk}").content, *Event.objects.values()])
    keeping = ines.put(f"/roots/{root.pk}/storage", {"endpoint": bucket.endpoint, "key_id": "key-of-the-tests-0002"})
    assert keeping.status_code == 200
    options = object_stores.lookup(bucket.uri)
    assert options is not None
    assert "…0002" in options.reach()


def test_its_pages_ask_for_what_google_asks_for(bucket: gcs.Store, root: Root) -> None:
    rita = confirmed_browser(person_named("rita", Role.ADMIN))
    page = rita.get(f"/roots/{root.pk}/storage/").content.decode()
    asked = ("endpoint", "key_id", "secret", "region", "path_style", "session_token")
    assert [name for name in asked if f'name="{name}"' in page] == ["endpoint", "key_id", "secret"]
    assert "JSON file" in page
    added = rita.get("/roots/add/").content.decode()
    assert 'name="region"' in added
    assert "Empty: AWS or Google." in added
    detail = rita.get(f"/roots/{root.pk}/").content.decode()
    assert "region" not in detail.partition("<dt>Storage</dt>")[2].partition("</dd>")[0]
    saved = rita.post(f"/roots/{root.pk}/storage/", {**storage(bucket), "key_id": gcs.KEY_ID, "do": "save"})
    assert saved.status_code == 302, saved.content.decode()


def test_all_its_buckets_have_one_credential(admin: Actor, bucket: gcs.Store, root: Root) -> None:
    other = f"{bucket.uri}-b"
    bucket.make(f"{bucket.bucket}-b").put("lake/x")
    with pytest.raises(Problem) as known:
        roots.add_root(admin, "other", f"{other}/lake", storage=described(bucket))
    assert known.value.code == "storage_known"
    assert "All of Google’s buckets have one credential" in known.value.detail
    second = roots.add_root(admin, "other", f"{other}/lake")
    assert object_stores.sharing(root) == [second]
    bucket.door.key_ids = {"key-of-the-tests-0002"}
    object_stores.change(admin, second, described(bucket, "key-of-the-tests-0002"))
    assert list(files_at(f"{root.uri}/orders").names("_delta_log")) == [f"{0:020d}.json"]
    assert not object_stores.goes_with(root)
    assert ObjectStore.objects.count() == 1


@pytest.mark.parametrize("by", ["page", "command"])
def test_levees_own_identity_is_what_an_empty_form_says(
    admin: Actor, monkeypatch: pytest.MonkeyPatch, bucket: gcs.Store, by: str
) -> None:
    """Its store is the emulator's: the identity of this machine isn't one of Google's."""
    place = f"{bucket.uri}/sales"
    bucket.put("sales/a")
    monkeypatch.setattr(GcsOptions, "store", lambda *_: bucket.opened())
    if by == "page":
        form = {"name": "own", "uri": place, "path_style": "on", "sync_seconds": "300", "do": "add"}
        assert confirmed_browser(person_named("rita", Role.ADMIN)).post("/roots/add/", form).status_code == 302
    else:
        call_command("root", "add", "own", place)
    row = ObjectStore.objects.get()
    assert (row.key_id, row.secret, Root.objects.get().uri) == ("", None, place)
    assert all(check.passed for check in root_places.examine(admin, f"{place}/", None) if check.name == "Storage")
