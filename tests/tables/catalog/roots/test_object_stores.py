"""Roots in an object store: tested, added, scanned and synced; its refusals are one line, its credential is seen by nobody."""

from __future__ import annotations

import dataclasses
import json
import logging
import re
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.db import IntegrityError, connection, transaction

from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from console.audit.models import Event
from console.base import encryption
from console.base.errors import Problem
from tables.catalog import listing
from tables.catalog.adding import additions
from tables.catalog.roots import entries as roots
from tables.catalog.roots import object_stores, scans
from tables.catalog.roots import places as root_places
from tables.catalog.roots import removal as root_removal
from tables.catalog.roots.object_stores import description_of
from tables.models import Finding, ObjectStore, Root, Table
from tables.rules import discovery
from tables.storage.description import Description
from tables.storage.objects import probe as bucket_probe
from tables.storage.objects.buckets import opened
from tables.storage.store import StorageError
from tables.sync import table as syncing
from tests.s3 import KEY_ID, SECRET, Store, put_raw

pytestmark = pytest.mark.django_db
SECOND = "AKIATESTSSECONDKEY45"


def described(store: Store, **other: Any) -> Description:
    return description_of(store.storage(**other))


def failed(actor: Actor, text: str, given: Description | None, **options: Any) -> str:
    """The one answer that stands against a place."""
    (bad,) = (check for check in root_places.examine(actor, text, given, **options) if check.passed is False)
    assert "\n" not in bad.answer
    assert "<" not in bad.answer
    return bad.answer


def test_a_prefix_is_tested_added_scanned_and_its_tables_are_read(
    admin: Actor, store: Store, redis_server: str
) -> None:
    place = store.delta("sales/orders", 3)
    store.delta("sales/orders", 5, mode="append")
    store.delta("sales/deep/er/clicks")
    store.put("sales/plain/day=1/a.parquet")
    store.put("sales/readme.txt")
    checks = root_places.examine(admin, f"s3a://{store.bucket}/sales/", described(store), writes=True)
    assert [check.passed for check in checks] == [True] * len(checks), checks
    assert "at least" not in checks[2].answer
    assert not any("probe" in key for key in store.listed())
    assert not ObjectStore.objects.exists()
    assert not Root.objects.exists()

    root = roots.add_root(admin, "lake", f"s3a://{store.bucket}/sales", storage=described(store))
    assert root.uri == f"s3://{store.bucket}/sales"
    answer = scans.scan_root(root.pk)
    assert (answer["found"], answer["complete"], answer["stopped"]) == (3, True, None)
    found = dict(Finding.objects.filter(root=root).values_list("path", "kind"))
    assert found == {place: "delta", f"{root.uri}/deep/er/clicks": "delta", f"{root.uri}/plain": "parquet"}

    table = additions.add_table(admin, place).table
    assert (table.sync_error, table.version, table.name) == ("", 1, "orders")
    assert table.commits.count() == 2
    others = additions.add_found(admin, root, [f"{root.uri}/deep/er/clicks"])
    assert syncing.sync(others[0].table.pk).version == 0


def test_a_key_with_an_empty_part_hides_nothing_but_what_lies_beside_it(
    admin: Actor, stored: Root, store: Store
) -> None:
    for key in ("deep/odd//x.parquet", "orders/_delta_log/deep//x", "zebra/a.parquet"):
        put_raw(store.endpoint, f"{store.bucket}/sales/{key}", KEY_ID, b"x")
    scan = discovery.scan(stored.uri)
    assert {found.path for found in scan.found} == {f"{stored.uri}/orders", f"{stored.uri}/zebra"}
    assert (scan.unreadable, scan.stopped) == ((f"{stored.uri}/deep/odd",), None)
    table = additions.add_table(admin, f"{stored.uri}/orders").table
    assert (table.sync_error, table.version) == ("", 0)
    assert all(check.passed for check in root_places.examine(admin, f"{store.uri}/sales/deep", None))


def test_a_table_that_grows_and_goes_is_followed(admin: Actor, stored: Root, store: Store) -> None:
    place = f"{stored.uri}/orders"
    table = additions.add_table(admin, place).table
    store.delta("sales/orders", 2, mode="append")
    assert syncing.sync(table.pk).version == 1
    store.clear("sales/orders/")
    gone = syncing.sync(table.pk)
    assert gone.missing_since is not None
    assert gone.version == 1


def test_a_partition_is_no_table_and_nothing_lies_outside(admin: Actor, stored: Root, store: Store) -> None:
    store.delta("sales/parted", partition_by=["country"])
    store.delta("hr/pay")
    for path, code in [
        (f"{stored.uri}/parted/country=DE", "inside_table"),
        (f"{store.uri}/hr/pay", "outside_roots"),
        (f"{stored.uri}/none", "no_table"),
        (f"{stored.uri}/*", "outside_roots"),
    ]:
        with pytest.raises(Problem) as refused:
            additions.add_table(admin, path)
        assert refused.value.code == code


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((403, "InvalidAccessKeyId"), "the store doesn’t know the key ID"),
        ((403, "SignatureDoesNotMatch"), "the secret isn’t the one of this key ID"),
        ((400, "ExpiredToken"), "the session token has expired"),
        ((403, "AccessDenied"), "the key may not do this"),
        ((403, "RequestTimeTooSkewed"), "clock"),
        ((301, "PermanentRedirect"), "another region"),
        ((503, "SlowDown"), "overloaded"),
    ],
)
def test_what_a_store_refuses_is_one_line(
    admin: Actor, stored: Root, store: Store, answer: tuple[int, str], told: str
) -> None:
    table = additions.add_table(admin, f"{stored.uri}/orders").table
    store.door.refuses = answer
    assert told in failed(admin, f"{store.uri}/other", None)
    after = syncing.sync(table.pk)
    assert told in after.sync_error
    assert "\n" not in after.sync_error
    assert (after.version, after.missing_since) == (0, None)
    with pytest.raises(Problem) as refused:
        roots.add_root(admin, "more", f"{store.uri}/other")
    assert refused.value.code == "invalid"
    assert told in refused.value.detail


def test_places_that_are_not_there(admin: Actor, store: Store) -> None:
    store.put("a/b")
    assert "no such bucket" in failed(admin, "s3://there-is-none", described(store))
    assert "Nothing lies below" in failed(admin, f"{store.uri}/none", described(store))
    assert "another region" in failed(admin, store.uri, described(store, region="eu-west-1"))
    assert "doesn’t know the key ID" in failed(admin, store.uri, described(store, key_id="AKIANOBODYKNOWS12345"))
    assert "doesn’t answer" in failed(admin, store.uri, described(store, endpoint="http://127.0.0.1:9"))
    away = failed(admin, store.uri, described(store, endpoint="http://localhost:9"))
    assert "the endpoint doesn’t answer (endpoint)" in away
    away = failed(admin, store.uri, described(store, endpoint="http://localhost:9", path_style=False))
    assert "the endpoint doesn’t answer; or the store wants path style" in away
    assert "how the bucket" in failed(admin, store.uri, None)
    for text in ("s3://UPPER/x", "s3://a", "abfss://bucket/x", "s3://key:secret@bucket/x", f"{store.uri}/*"):
        with pytest.raises(Problem) as refused:
            roots.add_root(admin, "x", text, storage=described(store))
        assert refused.value.code == "invalid"
    assert not ObjectStore.objects.exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("endpoint", "127.0.0.1:9000"),
        ("endpoint", "http://key:secret@host"),
        ("endpoint", "http://host/bucket"),
        ("endpoint", "ftp://host"),
        ("endpoint", "http://host:99999"),
        ("endpoint", "http://1.2.3.4.5"),
        ("endpoint", "http://999.1.1.1"),
        ("endpoint", "http://1.2.3"),
        ("endpoint", "http://host.7"),
        ("endpoint", "http://a.0x7"),
        ("endpoint", "http://a.0x"),
        ("endpoint", "http://xn--a.com"),
        ("region", "eu west"),
        ("key_id", "two words"),
        ("secret", "line\nbreak"),
        ("secret", "a${env.HOME}b"),
        ("key_id", "AKIA${fs.x}"),
        ("session_token", "é"),
    ],
)
def test_a_description_is_judged_field_by_field(store: Store, name: str, value: str) -> None:
    with pytest.raises(Problem) as refused:
        object_stores.checked(store.uri, described(store, **{name: value}))
    assert refused.value.status == 400
    assert list(refused.value.fields or {}) == [name]
    assert name.replace("_", " ") in refused.value.detail.lower()  # all that a command says
    assert name not in ("secret", "session_token") or value not in str(refused.value)


@pytest.mark.parametrize(
    "endpoint", ["http://127.0.0.1:9000", "https://10.0.0.7", "http://[::1]:9", "http://1.2.3.4:80"]
)
def test_a_store_named_by_an_ip_address_takes_path_style(store: Store, endpoint: str) -> None:
    assert object_stores.checked(store.uri, described(store, endpoint=endpoint)).endpoint == endpoint
    with pytest.raises(Problem) as refused:
        object_stores.checked(store.uri, described(store, endpoint=endpoint, path_style=False))
    assert refused.value.fields == {"path_style": "A store named by an IP address takes path style."}


@pytest.mark.parametrize(
    "endpoint", ["http://minio:9000", "https://xn--bcher-kva.example", "https://s3.eu-1.example.org", ""]
)
def test_a_store_named_by_a_host_takes_either_style(store: Store, endpoint: str) -> None:
    for path_style in (True, False):
        given = described(store, endpoint=endpoint, path_style=path_style)
        assert object_stores.checked(store.uri, given).endpoint == endpoint


def test_a_store_that_is_away_keeps_no_other_root_waiting(
    admin: Actor, stored: Root, store: Store, root: Root, write: Any
) -> None:
    write("orders")
    scans.scan_root(stored.pk)
    assert Finding.objects.filter(root=stored, gone_at=None).count() == 1
    store.door.refuses = (403, "InvalidAccessKeyId")
    for each in (stored, root):
        scans.ask_scan(admin, each)
    while scans.scan_next_asked():
        pass
    stored.refresh_from_db()
    root.refresh_from_db()
    assert "doesn’t know the key ID" in stored.scan_stopped
    assert "\n" not in stored.scan_stopped
    assert root.scan_stopped == ""
    assert Finding.objects.filter(root=root).count() == 1
    assert Finding.objects.filter(root=stored, gone_at=None).count() == 1, "what can't be looked at isn't gone"


@pytest.mark.parametrize(("ahead", "way"), [(400, "ahead of"), (-400, "behind")])
def test_clocks_that_differ_are_told_apart(
    admin: Actor, store: Store, monkeypatch: pytest.MonkeyPatch, ahead: int, way: str
) -> None:
    def set_clock(seconds: int) -> None:
        monkeypatch.setattr(bucket_probe, "time", SimpleNamespace(time=lambda: time.time() + seconds))

    store.put("sales/x")
    set_clock(ahead // 2)
    assert all(check.passed for check in root_places.examine(admin, store.uri, described(store), writes=True))
    set_clock(ahead)
    answer = failed(admin, store.uri, described(store), writes=True)
    assert re.search(rf"clock is (399|400|401) seconds {way} the store’s", answer), answer
    assert store.listed() == ["sales/x"]


def test_a_rotated_key_counts_at_once(admin: Actor, stored: Root, store: Store) -> None:
    table = additions.add_table(admin, f"{stored.uri}/orders").table
    store.door.keys = {SECOND}
    assert "doesn’t know the key ID" in syncing.sync(table.pk).sync_error
    object_stores.change(admin, stored, described(store, key_id=SECOND, secret="second-secret"))
    assert syncing.sync(table.pk).sync_error == ""
    event = Event.objects.get(action="root.credential")
    before, after = event.before or {}, event.after or {}
    assert (before["key"], after["key"], after["credential"]) == ("…Y123", "…EY45", "changed")


def test_a_secret_stays_with_its_key_and_endpoint_alone(admin: Actor, stored: Root, store: Store) -> None:
    object_stores.change(admin, stored, described(store, secret="", path_style=True))
    assert object_stores.description_in(ObjectStore.objects.get()).secret == SECRET
    for other in ({"endpoint": "http://127.0.0.1:9"}, {"key_id": SECOND}):
        with pytest.raises(Problem) as refused:
            object_stores.change(admin, stored, described(store, secret="", **other))
        assert "Enter the secret" in refused.value.detail
    assert Event.objects.filter(action="root.credential").count() == 1


def test_one_bucket_has_one_credential_and_it_goes_with_the_last_root(admin: Actor, stored: Root, store: Store) -> None:
    store.put("hr/x")
    with pytest.raises(Problem) as refused:
        roots.add_root(admin, "hr", f"{store.uri}/hr", storage=described(store))
    assert refused.value.code == "storage_known"
    assert "stored" in refused.value.detail
    second = roots.add_root(admin, "hr", f"{store.uri}/hr")
    root_removal.remove(admin, stored)
    assert ObjectStore.objects.count() == 1
    root_removal.remove(admin, second)
    assert ObjectStore.objects.count() == 0
    removals = [event.after or {} for event in Event.objects.filter(action="root.remove").order_by("at")]
    assert [after.get("credential") for after in removals] == [None, "removed"]
    with pytest.raises(StorageError, match="no root says"):
        opened(store.uri)


def test_only_who_manages_everything_changes_it(person: Callable[..., Person], stored: Root, store: Store) -> None:
    for name, role, where in (("olaf", Role.OPERATOR, {}), ("ada", Role.ADMIN, {"root": stored})):
        with pytest.raises(Problem) as refused:
            object_stores.change(Actor.acting_for(person(name, role, **where)), stored, described(store))
        assert refused.value.code == "forbidden"


def test_another_key_of_levees_is_one_clear_error(
    admin: Actor, stored: Root, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = additions.add_table(admin, f"{stored.uri}/orders").table
    monkeypatch.setattr(settings, "ENV", dataclasses.replace(settings.ENV, credentials_key="another key " * 4))
    object_stores.forget(f"s3://{store.bucket}")
    error = syncing.sync(table.pk).sync_error
    assert "the root stored" in error
    assert "LEVEE_CREDENTIALS_KEY" in error
    assert "\n" not in error
    assert "LEVEE_CREDENTIALS_KEY" in failed(admin, f"{store.uri}/other", None)
    object_stores.change(admin, stored, described(store))
    assert syncing.sync(table.pk).sync_error == ""


def test_a_secret_is_bound_to_its_bucket_and_field(stored: Root, store: Store) -> None:
    secret = bytes(ObjectStore.objects.get().secret or b"")
    assert SECRET.encode() not in secret
    assert encryption.decrypt(secret, f"secret of {store.bucket}") == SECRET
    for owner in ("secret of another-bucket", f"session_token of {store.bucket}"):
        with pytest.raises(encryption.WrongKey):
            encryption.decrypt(secret, owner)
    assert (Path(settings.ENV.home) / encryption.FILE).stat().st_mode & 0o777 == 0o600


def test_the_secret_is_in_no_record_log_or_text(
    admin: Actor, stored: Root, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    object_stores.change(admin, stored, described(store, secret="second-secret", session_token="token-of-tests"))
    row = ObjectStore.objects.get()
    options = object_stores.options_of(f"s3://{store.bucket}", row)
    with connection.cursor() as cursor:
        cursor.execute("select e::text from audit.event e union all select s::text from tables_objectstore s")
        rows = "\n".join(each[0] for each in cursor)
    seen = [repr(options), repr(described(store)), str(row), repr(row), caplog.text, rows]
    seen.append(json.dumps(object_stores.shown(row)))
    for secret in (SECRET, "second-secret", "token-of-tests"):
        assert not [text for text in seen if secret in text or secret.encode().hex() in text]
    assert KEY_ID not in "".join(json.dumps([e.before, e.after]) for e in Event.objects.all())


@pytest.mark.parametrize(
    "wrong",
    [
        {"bucket": "Upper"},
        {"endpoint": "http://host/path"},
        {"region": ""},
        {"key_id": "", "secret": b"x"},
        {"key_id": "AKIA", "secret": None},
        {"key_id": "", "secret": None, "session_token": b"x"},
    ],
)
def test_the_database_refuses_what_cannot_be(wrong: dict[str, Any]) -> None:
    row = {"bucket": "lake", "region": "us-east-1", "path_style": True, "key_id": "k", "secret": b"x"} | wrong
    with pytest.raises(IntegrityError), transaction.atomic():
        ObjectStore.objects.create(**row)


def test_a_table_in_a_store_is_seen_where_its_root_is(
    admin: Actor, stored: Root, person: Callable[..., Person]
) -> None:
    additions.add_table(admin, f"{stored.uri}/orders")
    viewer = person("vera", Role.VIEWER, root=stored)
    assert [table.name for table in listing.visible_to(viewer)] == ["orders"]
    assert Table.objects.get().path == f"{stored.uri}/orders"
