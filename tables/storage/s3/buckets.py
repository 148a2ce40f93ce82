"""The object stores that Levee knows: one description per bucket, from which obstore and Spark's s3a are both set up.

Who keeps the descriptions says so once per process, by `use`: the catalog in Levee's own processes, an order in Spark's Python workers.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies_environment

import obstore
from obstore.exceptions import BaseError, InvalidPathError
from obstore.store import S3Store

from tables.storage import patience
from tables.storage.patience import PATIENT, Patience
from tables.storage.s3.errors import StoreRefusal, refusal, turning_panics
from tables.storage.store import StorageError

_URI = re.compile(r"s3://([^/]+)/?(.*)", re.DOTALL)


NO_PROXY_THERE = "http://127.0.0.1:1"


@dataclass(frozen=True, slots=True)
class ObjectStoreOptions:
    """How one bucket is reached. `endpoint` is empty for AWS itself; no key means that the process's own identity is used."""

    bucket: str
    endpoint: str = ""
    region: str = "us-east-1"
    key_id: str = ""
    secret: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    path_style: bool = True

    @property
    def fingerprint(self) -> str:
        """Tells two descriptions apart without saying what they hold."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    def for_obstore(self, waiting: Patience = PATIENT) -> dict[str, Any]:
        """Keyword arguments of obstore's `S3Store`."""
        config: dict[str, Any] = {"region": self.region, "virtual_hosted_style_request": not self.path_style}
        for name, value in (
            ("endpoint", self.address),
            ("access_key_id", self.key_id),
            ("secret_access_key", self.secret),
            ("session_token", self.token),
        ):
            if value:
                config[name] = value
        client: dict[str, Any] = {
            "connect_timeout": f"{waiting.connect_s:g}s",
            "timeout": f"{waiting.answer_s:g}s",
        }
        if self.endpoint.startswith("http://"):
            client["allow_http"] = True
        client |= self._nowhere_else()
        retries = {"max_retries": waiting.retries, "retry_timeout": timedelta(seconds=waiting.answer_s)}
        return {"config": config, "client_options": client, "retry_config": retries}

    @property
    def address(self) -> str:
        """The endpoint; obstore wants the bucket in its host where the store does, and Spark's s3a puts it there itself."""
        scheme, separator, host = self.endpoint.partition("://")
        return self.endpoint if self.path_style or not separator else f"{scheme}://{self.bucket}.{host}"

    def _nowhere_else(self) -> dict[str, Any]:
        """obstore follows redirects and can't be told not to: all hosts but the store's own lie behind a proxy that isn't there.

        A proxy of the environment's stays: it decides what can be reached. Nor is it done without an endpoint or a key, since the
        process's own identity may be asked for at any host.
        """
        host = urlsplit(self.address).hostname if self.endpoint and self.key_id else None
        if host is None or getproxies_environment().keys() & {"http", "https", "all"}:
            return {}
        return {"proxy_url": NO_PROXY_THERE, "proxy_excludes": host}

    def require_address(self) -> None:
        """Raises StorageError where requests would go to what is no address, as `bucket.127.0.0.1`."""
        own = f"https://{self.bucket}.s3.amazonaws.com"
        if not is_address(self.address or own):
            raise StorageError(f"the bucket {self.bucket} can't be asked as it is described: {_NO_ADDRESS}")

    def store(self, waiting: Patience = PATIENT) -> S3Store:
        """The bucket as obstore opens it; no request is sent yet. Raises StorageError for what it can't use."""
        self.require_address()
        try:
            return S3Store(self.bucket, **self.for_obstore(waiting))
        except BaseError:
            raise StorageError(f"the bucket {self.bucket} can't be opened as it is described") from None


_NO_ADDRESS = "its endpoint, or the bucket's name in front of it, is no host. Change the endpoint, or set path style"


def ending(key_id: str) -> str:
    """The last four characters of a key's id that is long enough to keep the others; empty for no key."""
    return f"…{key_id[-4:]}" if len(key_id) > 8 else "…" if key_id else ""


def is_address(url: str) -> bool:
    """Whether obstore can read a URL. A request to one that it can't read doesn't fail but panics."""
    try:
        obstore.parse_scheme(url)
    except ValueError:
        return False
    return True


Lookup = Callable[[str], ObjectStoreOptions | None]

_lock = threading.Lock()
_lookup: Lookup = lambda _bucket: None  # noqa: E731
_opened: dict[str, tuple[str, S3Store]] = {}
AWAY_SECONDS = 30.0  # that a bucket which refuses everything isn't asked again, so that it keeps nothing else waiting
_away: dict[str, tuple[S3Store, float, str]] = {}


def use(lookup: Lookup) -> None:
    """Has this process ask `lookup` for a bucket's description each time it opens a table there, so that a new key counts at once."""
    global _lookup
    _lookup = lookup


def options_of(uri: str) -> ObjectStoreOptions:
    """The description of the bucket that a URI names. Raises StorageError when no root says how to reach it, or none can by that."""
    bucket, _ = split(uri)
    options = _lookup(bucket)
    if options is None:
        raise StorageError(f"no root says how to reach the bucket {bucket}")
    options.require_address()
    return options


def opened(uri: str) -> tuple[S3Store, str]:
    """The bucket's store, kept while its description stays the same, and the key of the URI in it.

    Raises StorageError, at once for a bucket that refused everything a moment ago.
    """
    options = options_of(uri)
    _, key = split(uri)
    described_as = f"{options.fingerprint} {patience.now()}"
    with _lock:
        fingerprint, store = _opened.get(options.bucket, ("", None))
        if store is None or fingerprint != described_as:
            store = options.store(patience.now())
            _opened[options.bucket] = (described_as, store)
        refused_by, until, why = _away.get(options.bucket, (None, 0.0, ""))
    if refused_by is store and time.monotonic() < until:
        raise StorageError(
            f"{why}, a moment ago; the bucket {options.bucket} is asked again within {AWAY_SECONDS:.0f} seconds"
        )
    return store, key


def refused(store: object, error: Exception) -> StoreRefusal:
    """What an exception of obstore's means; a refusal of all that is asked is remembered for a store of `opened`'s."""
    why = refusal(error, path_style=_is_path_style(store))
    if why.everywhere:
        with _lock:
            for bucket, (_, known) in _opened.items():
                if known is store:
                    _away[bucket] = (known, time.monotonic() + AWAY_SECONDS, str(why))
    return why


def _is_path_style(store: object) -> bool:
    return not isinstance(store, S3Store) or str(store.config.get("virtual_hosted_style_request")).lower() != "true"


def is_away(uri: str) -> bool:
    """Whether the URI's bucket refused everything a moment ago."""
    bucket, _ = split(uri)
    with _lock:
        _, store = _opened.get(bucket, ("", None))
        refused_by, until, _ = _away.get(bucket, (None, 0.0, ""))
    return refused_by is not None and refused_by is store and time.monotonic() < until


def ask_again(bucket: str) -> None:
    """Has this process ask a bucket again that refused everything a moment ago."""
    with _lock:
        _away.pop(bucket, None)


def holds_key(uri: str) -> bool:
    """Whether any key lies below the prefix: of at most one page of names. Raises StorageError."""
    store, key = opened(uri)
    try:
        with turning_panics:
            return any(True for page in obstore.list(store, f"{key}/" if key else None, chunk_size=1) if page)
    except InvalidPathError:
        return True  # one that can't be read is one
    except BaseError as error:
        raise StorageError(str(refused(store, error))) from None


def split(uri: str) -> tuple[str, str]:
    """Bucket and key of an `s3://` URI. Raises ValueError for anything else."""
    match = _URI.fullmatch(uri)
    if match is None:
        raise ValueError(f"{uri!r} is no URI of an object store")
    return match[1], match[2].strip("/")
