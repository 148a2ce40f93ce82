"""The buckets that roots lie in: how each is reached, with which credential, and its rotation.

One credential for each bucket: Spark's file systems are kept by the name of the bucket, so that a second one would be ignored. Of a kind
whose settings in Spark know no buckets, as Google's, all have one together.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base import encryption
from console.base.errors import Problem
from tables.catalog.rights import require_everywhere
from tables.catalog.roots import sync_interval
from tables.models import ObjectStore, Root
from tables.storage.description import Described, Description, Options, ending
from tables.storage.objects import buckets
from tables.storage.store import StorageError
from tables.storage.stores import kind_of

KEPT_SECONDS = 2.0  # that a process goes by a description it has read; a change counts everywhere after them
_lock = threading.Lock()
_read: dict[str, tuple[float, Description]] = {}  # by the row's key


def description_of(given: Mapping[str, Any]) -> Description:
    """A form's or body's values. What is wrong with them depends on the bucket's kind of storage: `checked` says it."""
    texts = ("endpoint", "region", "key_id", "secret", "session_token")
    values = {name: str(given.get(name) or "").strip() for name in texts}
    values["endpoint"] = values["endpoint"].rstrip("/")
    return Description(**values, path_style=bool(given.get("path_style", True)))


def checked(place: str, given: Description) -> Description:
    """The description with its kind's usual region, and what follows from the rest. Raises Problem 400 `invalid` that names the field."""
    described = described_in(place)
    given = described.completed(replace(given, region=given.region or described.region))
    if faults := dict(described.faults(given)):
        raise Problem(400, "invalid", " ".join(faults.values()), fields=faults)
    return given


def described_in(place: str) -> Described:
    """How the kind of storage of a bucket takes a description. Raises ValueError for what isn't one's."""
    described = kind_of(place).described
    if described is None:
        raise ValueError(f"{place} lies in no bucket")
    return described


def bucket_of(uri: str) -> str | None:
    """The bucket that a canonical path lies in, as `s3://lake`; None for a directory of this machine or on HDFS."""
    return buckets.split(uri)[0] if kind_of(uri).described else None


def name_of(bucket: str) -> str:
    """A bucket's name, as sentences have it."""
    return bucket.partition("://")[2]


def key_of(bucket: str) -> str:
    """The key of a bucket's row: the same for all buckets of a kind that has one credential for them."""
    return described_in(bucket).key(bucket)


def stored(bucket: str) -> QuerySet[ObjectStore]:
    """The row of a bucket, if it has one."""
    return ObjectStore.objects.filter(pk=key_of(bucket))


def roots_in(bucket: str) -> list[Root]:
    """The registered roots that are reached by a bucket's row, by name."""
    alike = Root.objects.filter(uri__startswith=kind_of(bucket).prefix)
    return [root for root in alike if _key_of(root) == key_of(bucket)]


def sharing(root: Root) -> list[Root]:
    """The other roots that are reached as this one is, by name."""
    bucket = bucket_of(root.uri)
    return [] if bucket is None else [other for other in roots_in(bucket) if other != root]


def hold(bucket: str | None) -> None:
    """Has the acts on one bucket's roots and credential take turns, until the transaction ends. Before any row is locked."""
    if bucket is not None:
        with connection.cursor() as cursor:
            cursor.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"bucket {key_of(bucket)}"])


def _key_of(root: Root) -> str | None:
    """The key of the row of the root's bucket; None for a directory of this machine."""
    bucket = bucket_of(root.uri)
    return None if bucket is None else key_of(bucket)


def row_of(root: Root) -> ObjectStore | None:
    """How the root's bucket is reached; None for a directory of this machine."""
    bucket = bucket_of(root.uri)
    return None if bucket is None else stored(bucket).select_related("changed_by").first()


def shown(store: ObjectStore) -> dict[str, Any]:
    """What of a description may be shown: never more of the credential than the end of a long key's id."""
    return {
        "endpoint": store.endpoint,
        "region": store.region,
        "path_style": store.path_style,
        "key": ending(store.key_id),
        "session": store.session_token is not None,
    }


def lookup(bucket: str) -> Options | None:
    """A bucket's description for this process's readers; None for a bucket without a root. Raises StorageError for a wrong key."""
    now = time.monotonic()
    with _lock:
        at, known = _read.get(key_of(bucket), (0.0, None))
    if known is None or now - at >= KEPT_SECONDS:
        store = stored(bucket).first()
        if store is None:
            forget(bucket)
            return None
        known = description_in(store)
        with _lock:
            _read[store.pk] = (now, known)
    return described_in(bucket).options(name_of(bucket), known)


def forget(bucket: str) -> None:
    """Has this process read the bucket's description anew, and ask it again."""
    with _lock:
        _read.pop(key_of(bucket), None)
    buckets.ask_again(bucket)


def options_of(bucket: str, store: ObjectStore) -> Options:
    """How the bucket is reached, with its credential. Raises StorageError where the credential can't be decrypted."""
    return described_in(bucket).options(name_of(bucket), description_in(store))


def description_in(store: ObjectStore) -> Description:
    """What the row holds. Raises StorageError as `options_of`."""
    try:
        secret, token = (_decrypted(text, store.pk, name) for name, text in _stored(store))
    except (encryption.WrongKey, OSError):
        names = ", ".join(root.name for root in Root.objects.all() if _key_of(root) == store.pk) or store.pk
        raise StorageError(
            f"the credential of the root {names} can't be decrypted: {encryption.SETTING} (or the home's file "
            f"{encryption.FILE}) isn't the key that it was encrypted with. Bring that key back, or enter the credential again"
        ) from None
    return Description(store.endpoint, store.region, store.path_style, store.key_id, secret, token)


def _stored(store: ObjectStore) -> list[tuple[str, Any]]:
    return [("secret", store.secret), ("session_token", store.session_token)]


def _decrypted(given: Any, key: str, name: str) -> str:
    return "" if given is None else encryption.decrypt(bytes(given), f"{name} of {key}")


def _encrypted(text: str, key: str, name: str) -> bytes | None:
    """Raises Problem 503 `no_key` where Levee has no key to encrypt it with and can't make one."""
    try:
        return encryption.encrypt(text, f"{name} of {key}") if text else None
    except OSError as error:
        raise Problem(
            503,
            "no_key",
            f"Levee can’t keep the credential: its key, the file {encryption.FILE} in Levee’s home, can’t be read or made"
            f" ({error.strerror}). Nothing was changed. Have an administrator make the home writable, or set {encryption.SETTING}.",
        ) from None


def described(uri: str, given: Description | None) -> Options:
    """How to reach the bucket of a place that is tested or added: as it is known, else as it is given.

    Raises Problem: 400 `invalid` where nothing is known and nothing given, 409 `storage_known` where other roots have one.
    """
    bucket, _ = buckets.split(uri)
    store = stored(bucket).first()
    others = roots_in(bucket) if store is not None else []
    if store is not None and others:
        if given is not None:
            raise _already_described(bucket, others[0])
        try:
            return options_of(bucket, store)
        except StorageError as error:
            raise Problem(422, "unreadable", f"Levee can’t reach {name_of(bucket)}: {error}.") from None
    given = given or first_of(bucket)
    if given is None:
        raise _undescribed(bucket)
    given = checked(bucket, given)
    if given.key_id and not given.secret:
        raise _missing_secret()
    return described_in(bucket).options(name_of(bucket), given)


def first_of(bucket: str) -> Description | None:
    """What an empty form says of a bucket without a row: Levee's own identity, where its kind asks for nothing more."""
    asks_for_more = described_in(bucket).region
    return None if asks_for_more or stored(bucket).exists() else Description()


def _undescribed(bucket: str) -> Problem:
    return Problem(
        400,
        "invalid",
        f"Describe how the bucket {name_of(bucket)} is reached: endpoint, region, and a key where it needs one.",
        fields={"region": "Enter the storage’s region, endpoint and key: no root lies in this bucket yet."},
    )


def _already_described(bucket: str, root: Root) -> Problem:
    detail = (
        f"The bucket {name_of(bucket)} has a credential already, which the root {root.name} uses. Leave the storage’s fields empty, or "
        f"change them on that root’s page. {described_in(bucket).shares}"
    )
    return Problem(409, "storage_known", detail)


def _missing_secret() -> Problem:
    text = "Enter the secret: it is kept only while endpoint and key ID stay the same."
    return Problem(400, "invalid", text, fields={"secret": text})


def enter(actor: Actor, bucket: str, given: Description) -> ObjectStore:
    """Keeps a new bucket's description, in the caller's transaction and as part of its event. Raises Problem 409 `storage_known`."""
    store = _keep(bucket, _row(actor, bucket, checked(bucket, given)))
    if others := roots_in(bucket):  # after the wait for another addition in the same bucket
        raise _already_described(bucket, others[0])
    _forget_after(bucket)
    return store


def _keep(bucket: str, row: dict[str, Any]) -> ObjectStore:
    store, _ = ObjectStore.objects.update_or_create(pk=key_of(bucket), defaults=row)
    return store


def _row(actor: Actor, bucket: str, given: Description) -> dict[str, Any]:
    key = key_of(bucket)
    return {
        "endpoint": given.endpoint,
        "region": given.region,
        "path_style": given.path_style,
        "key_id": given.key_id,
        "secret": _encrypted(given.secret, key, "secret"),
        "session_token": _encrypted(given.session_token, key, "session_token"),
        "changed_at": timezone.now(),
        "changed_by": actor.person,
    }


def require_known(bucket: str) -> None:
    """For a new root without a description, in `hold`. Raises Problem 409 `storage_gone` once the bucket's last root has gone."""
    if not stored(bucket).exists():
        text = f"The bucket {name_of(bucket)} lost its last root, and its credential with it. Enter how it is reached; nothing was changed."
        raise Problem(409, "storage_gone", text)


def _forget_after(bucket: str) -> None:
    forget(bucket)
    transaction.on_commit(lambda: forget(bucket))


def change(actor: Actor, root: Root, given: Description) -> ObjectStore:
    """Changes how the root's bucket is reached, for all roots in it; every process goes by it KEPT_SECONDS later.

    Raises Problem: 403 `forbidden` unless the actor manages all roots, 400 `invalid`, 404 `not_found`, 409 `not_in_storage` for a
    directory of this machine, 503 `no_key`.
    """
    require_everywhere(actor, Permission.ROOT_MANAGE)
    bucket = _require_bucket(root)
    with transaction.atomic():
        hold(bucket)
        if not Root.objects.filter(pk=root.pk).exists():
            raise Problem(404, "not_found", f"The root {root.name} was removed. Nothing was changed.")
        store = stored(bucket).select_for_update().first()
        given = _with_secret(store, checked(bucket, given))
        before = None if store is None else shown(store)
        row = _row(actor, bucket, given)
        after = {
            **shown(ObjectStore(**row)),
            "bucket": name_of(bucket),
            "credential": _news(store, given),
        }
        record(actor, Action.ROOT_CREDENTIAL, ObjectKind.ROOT, root.id, root.name, before=before, after=after)
        changed = _keep(bucket, row)
        _set_due(bucket)
    _forget_after(bucket)
    return changed


def _set_due(bucket: str) -> None:
    """Has the bucket's tables read again soon: those that failed by the old description wait for up to a day."""
    for root in roots_in(bucket):
        if root.sync_seconds is not None:  # else what waits was asked for by hand
            sync_interval.set_due(root)


def wanted(root: Root, given: Description) -> Options:
    """The bucket as it would be reached, for a test of it. Raises Problem as `change` does."""
    bucket = _require_bucket(root)
    given = _with_secret(stored(bucket).first(), checked(bucket, given))
    return described_in(bucket).options(name_of(bucket), given)


def _require_bucket(root: Root) -> str:
    bucket = bucket_of(root.uri)
    if bucket is None:
        raise Problem(
            409,
            "not_in_storage",
            f"The root {root.name} is no prefix of an object store: it has no storage to describe.",
        )
    return bucket


def _with_secret(store: ObjectStore | None, given: Description) -> Description:
    """The same with the present secret where it has none: only where that would go to the same endpoint for the same key."""
    if given.secret or not given.key_id:
        return given
    if store is None or (store.endpoint, store.key_id) != (given.endpoint, given.key_id):
        raise _missing_secret()
    try:
        present = description_in(store)
    except StorageError as error:
        raise Problem(422, "unreadable", f"Nothing was changed: {error}.") from None
    return replace(given, secret=present.secret, session_token=given.session_token or present.session_token)


def _news(store: ObjectStore | None, given: Description) -> str:
    if not given.key_id:
        return "none"
    try:
        present = None if store is None else description_in(store)
    except StorageError:
        return "changed"
    names = ("key_id", "secret", "session_token")
    same = present is not None and all(getattr(present, name) == getattr(given, name) for name in names)
    return "as it was" if same else "changed"


def goes_with(root: Root) -> bool:
    """Whether a bucket's credential has no other registered root."""
    bucket = bucket_of(root.uri)
    return bucket is not None and roots_in(bucket) == [root] and stored(bucket).exists()


def drop(root: Root) -> None:
    """Removes the credential of the root's bucket, in the caller's transaction and as part of its event."""
    if (bucket := bucket_of(root.uri)) is not None:
        stored(bucket).delete()
        _forget_after(bucket)
