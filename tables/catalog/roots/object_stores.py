"""The buckets that roots lie in: how each is reached, with which credential, and its rotation.

One credential for each bucket: Spark's file systems are kept by the name of the bucket, so that a second one would be ignored.
"""

from __future__ import annotations

import ipaddress
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from django.db import connection, transaction
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
from tables.models.object_store import ENDPOINT, REGION
from tables.storage.s3 import buckets as object_stores
from tables.storage.s3.buckets import ObjectStoreOptions, ending
from tables.storage.s3.kind import S3
from tables.storage.store import StorageError
from tables.storage.stores import kind_of

KEPT_SECONDS = 2.0  # that a process goes by a description it has read; a change counts everywhere after them
REGION_OF_NONE = "us-east-1"  # what stores other than AWS go by unless told otherwise
_lock = threading.Lock()
_read: dict[str, tuple[float, ObjectStoreOptions]] = {}


@dataclass(frozen=True, slots=True)
class Description:
    """How a bucket is to be reached, as a person entered it. An empty secret keeps the present one of the same key and endpoint."""

    endpoint: str = ""
    region: str = ""
    path_style: bool = True
    key_id: str = ""
    secret: str = field(default="", repr=False)
    session_token: str = field(default="", repr=False)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Description:
        """From a form's or body's values. Raises Problem 400 `invalid` that names the field."""
        texts = ("endpoint", "region", "key_id", "secret", "session_token")
        values = {name: str(given.get(name) or "").strip() for name in texts}
        values["endpoint"] = values["endpoint"].rstrip("/")
        values["region"] = values["region"] or REGION_OF_NONE
        description = cls(**values, path_style=bool(given.get("path_style", True)))
        if faults := dict(_faults(description)):
            raise Problem(400, "invalid", " ".join(faults.values()), fields=faults)
        return description

    def options(self, bucket: str) -> ObjectStoreOptions:
        """As the stores' clients take it."""
        return ObjectStoreOptions(
            bucket, self.endpoint, self.region, self.key_id, self.secret, self.session_token, self.path_style
        )


def _faults(given: Description) -> Any:
    if given.endpoint and not _is_endpoint(given.endpoint):
        yield (
            "endpoint",
            "The endpoint must be http:// or https:// and a host, with a port perhaps and without a path; empty means AWS.",
        )
    elif (
        given.endpoint and not given.path_style and not object_stores.is_address(given.endpoint.replace("://", "://x."))
    ):
        yield "path_style", "A store named by an IP address takes path style."
    if not re.fullmatch(REGION, given.region):
        yield "region", "A region has letters, digits and dashes."
    if len(given.key_id) > 128 or not re.fullmatch(r"[\x21-\x7e]*", given.key_id):
        yield "key_id", "A key ID has at most 128 printable characters, without spaces."
    for name, most in (("secret", 1_000), ("session_token", 10_000)):
        value = getattr(given, name)
        if len(value) > most or not re.fullmatch(r"[\x21-\x7e]*", value):
            yield name, f"A {name.replace('_', ' ')} has at most {most:,} printable characters, without spaces."
        elif value and not given.key_id:
            yield "key_id", "A secret or session token needs the key ID that it belongs to."


def _is_endpoint(text: str) -> bool:
    if len(text) > 300 or not re.fullmatch(ENDPOINT, text):
        return False
    try:
        parts = urlsplit(text)
        has_port = parts.port is None or parts.port > 0
        return has_port and _is_host(parts.hostname or "") and object_stores.is_address(text)
    except ValueError:
        return False


def _is_host(name: str) -> bool:
    """Not `1.2.3`, which URLs take for 1.2.0.3. Raises ValueError for what ends as an IP address does and is none."""
    if re.fullmatch(r"\d+|0x[0-9a-f]*", name.rstrip(".").rsplit(".", 1)[-1]):
        ipaddress.ip_address(name)
    return bool(name)


def bucket_of(uri: str) -> str | None:
    """The bucket that a canonical place lies in; None for a directory of this machine or on HDFS."""
    return object_stores.split(uri)[0] if kind_of(uri).is_described else None


def roots_in(bucket: str) -> list[Root]:
    """The registered roots in a bucket, by name."""
    return [
        root for root in Root.objects.filter(uri__startswith=f"{S3.prefix}{bucket}") if bucket_of(root.uri) == bucket
    ]


def hold(bucket: str | None) -> None:
    """Has the acts on one bucket's roots and credential take turns, until the transaction ends. Before any row is locked."""
    if bucket is not None:
        with connection.cursor() as cursor:
            cursor.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"bucket {bucket}"])


def row_of(root: Root) -> ObjectStore | None:
    """How the root's bucket is reached; None for a directory of this machine."""
    bucket = bucket_of(root.uri)
    return None if bucket is None else ObjectStore.objects.select_related("changed_by").filter(pk=bucket).first()


def shown(store: ObjectStore) -> dict[str, Any]:
    """What of a description may be shown: never more of the credential than the end of a long key's id."""
    return {
        "endpoint": store.endpoint,
        "region": store.region,
        "path_style": store.path_style,
        "key": ending(store.key_id),
        "session": store.session_token is not None,
    }


def lookup(bucket: str) -> ObjectStoreOptions | None:
    """A bucket's description for this process's readers; None for a bucket without a root. Raises StorageError for a wrong key."""
    now = time.monotonic()
    with _lock:
        at, options = _read.get(bucket, (0.0, None))
    if options is not None and now - at < KEPT_SECONDS:
        return options
    store = ObjectStore.objects.filter(pk=bucket).first()
    if store is None:
        forget(bucket)
        return None
    options = options_of(store)
    with _lock:
        _read[bucket] = (now, options)
    return options


def forget(bucket: str) -> None:
    """Has this process read the bucket's description anew, and ask it again."""
    with _lock:
        _read.pop(bucket, None)
    object_stores.ask_again(bucket)


def options_of(store: ObjectStore) -> ObjectStoreOptions:
    """The description with its credential. Raises StorageError where the credential can't be decrypted."""
    try:
        secret, token = (_decrypted(stored, store.pk, name) for name, stored in _stored(store))
    except (encryption.WrongKey, OSError):
        names = ", ".join(root.name for root in roots_in(store.pk)) or store.pk
        raise StorageError(
            f"the credential of the root {names} can't be decrypted: {encryption.SETTING} (or the home's file "
            f"{encryption.FILE}) isn't the key that it was encrypted with. Bring that key back, or enter the credential again"
        ) from None
    return ObjectStoreOptions(
        store.pk, store.endpoint, store.region, store.key_id, secret, token, path_style=store.path_style
    )


def _stored(store: ObjectStore) -> list[tuple[str, Any]]:
    return [("secret", store.secret), ("session_token", store.session_token)]


def _decrypted(stored: Any, bucket: str, name: str) -> str:
    return "" if stored is None else encryption.decrypt(bytes(stored), f"{name} of {bucket}")


def _encrypted(text: str, bucket: str, name: str) -> bytes | None:
    """Raises Problem 503 `no_key` where Levee has no key to encrypt it with and can't make one."""
    try:
        return encryption.encrypt(text, f"{name} of {bucket}") if text else None
    except OSError as error:
        raise Problem(
            503,
            "no_key",
            f"Levee can’t keep the credential: its key, the file {encryption.FILE} in Levee’s home, can’t be read or made"
            f" ({error.strerror}). Nothing was changed. Have an administrator make the home writable, or set {encryption.SETTING}.",
        ) from None


def described(uri: str, given: Description | None) -> ObjectStoreOptions:
    """How to reach the bucket of a place that is tested or added: as it is known, else as it is given.

    Raises Problem: 400 `invalid` where nothing is known and nothing given, 409 `storage_known` where other roots have one.
    """
    bucket = bucket_of(uri) or ""
    store = ObjectStore.objects.filter(pk=bucket).first()
    others = roots_in(bucket) if store is not None else []
    if store is not None and others:
        if given is not None:
            raise _already_described(bucket, others[0])
        try:
            return options_of(store)
        except StorageError as error:
            raise Problem(422, "unreadable", f"Levee can’t reach {bucket}: {error}.") from None
    if given is None:
        raise Problem(
            400,
            "invalid",
            f"Describe how the bucket {bucket} is reached: endpoint, region, and a key where it needs one.",
            fields={"region": "Enter the storage’s region, endpoint and key: no root lies in this bucket yet."},
        )
    if given.key_id and not given.secret:
        raise _missing_secret()
    return given.options(bucket)


def _already_described(bucket: str, root: Root) -> Problem:
    detail = (
        f"The bucket {bucket} has a credential already, which the root {root.name} uses. Leave the storage’s fields empty, or change "
        "them on that root’s page: one bucket has one credential."
    )
    return Problem(409, "storage_known", detail)


def _missing_secret() -> Problem:
    text = "Enter the secret: it is kept only while endpoint and key ID stay the same."
    return Problem(400, "invalid", text, fields={"secret": text})


def enter(actor: Actor, bucket: str, given: Description) -> ObjectStore:
    """Keeps a new bucket's description, in the caller's transaction and as part of its event. Raises Problem 409 `storage_known`."""
    store, _ = ObjectStore.objects.update_or_create(pk=bucket, defaults=_row(actor, bucket, given))
    if others := roots_in(bucket):  # after the wait for another addition in the same bucket
        raise _already_described(bucket, others[0])
    _forget_after(bucket)
    return store


def _row(actor: Actor, bucket: str, given: Description) -> dict[str, Any]:
    return {
        "endpoint": given.endpoint,
        "region": given.region,
        "path_style": given.path_style,
        "key_id": given.key_id,
        "secret": _encrypted(given.secret, bucket, "secret"),
        "session_token": _encrypted(given.session_token, bucket, "session_token"),
        "changed_at": timezone.now(),
        "changed_by": actor.person,
    }


def require_known(bucket: str) -> None:
    """For a new root without a description, in `hold`. Raises Problem 409 `storage_gone` once the bucket's last root has gone."""
    if not ObjectStore.objects.filter(pk=bucket).exists():
        text = f"The bucket {bucket} lost its last root, and its credential with it. Enter how it is reached; nothing was changed."
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
        store = ObjectStore.objects.select_for_update().filter(pk=bucket).first()
        if not given.secret and given.key_id:
            given = _with_present_secret(store, given)
        before = None if store is None else shown(store)
        row = _row(actor, bucket, given)
        after = {**shown(ObjectStore(bucket=bucket, **row)), "bucket": bucket, "credential": _news(store, given)}
        record(actor, Action.ROOT_CREDENTIAL, ObjectKind.ROOT, root.id, root.name, before=before, after=after)
        changed, _ = ObjectStore.objects.update_or_create(pk=bucket, defaults=row)
        _set_due(bucket)
    _forget_after(bucket)
    return changed


def _set_due(bucket: str) -> None:
    """Has the bucket's tables read again soon: those that failed by the old description wait for up to a day."""
    for root in roots_in(bucket):
        if root.sync_seconds is not None:  # else what waits was asked for by hand
            sync_interval.set_due(root)


def wanted(root: Root, given: Description) -> ObjectStoreOptions:
    """The bucket as it would be reached, for a test of it. Raises Problem as `change` does."""
    bucket = _require_bucket(root)
    if not given.secret and given.key_id:
        given = _with_present_secret(ObjectStore.objects.filter(pk=bucket).first(), given)
    return given.options(bucket)


def _require_bucket(root: Root) -> str:
    bucket = bucket_of(root.uri)
    if bucket is None:
        raise Problem(
            409,
            "not_in_storage",
            f"The root {root.name} is no prefix of an object store: it has no storage to describe.",
        )
    return bucket


def _with_present_secret(store: ObjectStore | None, given: Description) -> Description:
    """The same with the present secret: only where it would go to the same endpoint for the same key."""
    if store is None or (store.endpoint, store.key_id) != (given.endpoint, given.key_id):
        raise _missing_secret()
    try:
        present = options_of(store)
    except StorageError as error:
        raise Problem(422, "unreadable", f"Nothing was changed: {error}.") from None
    token = given.session_token or present.token
    return Description(given.endpoint, given.region, given.path_style, given.key_id, present.secret, token)


def _news(store: ObjectStore | None, given: Description) -> str:
    if not given.key_id:
        return "none"
    try:
        present = None if store is None else options_of(store)
    except StorageError:
        return "changed"
    same = present is not None and (present.key_id, present.secret, present.token) == (
        given.key_id,
        given.secret,
        given.session_token,
    )
    return "as it was" if same else "changed"


def goes_with(root: Root) -> bool:
    """Whether a bucket's credential has no other registered root."""
    bucket = bucket_of(root.uri)
    return bucket is not None and roots_in(bucket) == [root] and ObjectStore.objects.filter(pk=bucket).exists()


def drop(root: Root) -> None:
    """Removes the credential of the root's bucket, in the caller's transaction and as part of its event."""
    bucket = bucket_of(root.uri) or ""
    ObjectStore.objects.filter(pk=bucket).delete()
    _forget_after(bucket)
