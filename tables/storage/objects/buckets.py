"""The buckets of object stores that Levee knows: one description for each, by which this process asks it.

Who keeps the descriptions says so once per process, by `use`: the catalog does in Levee's own processes.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import obstore
from obstore.exceptions import BaseError, InvalidPathError
from obstore.store import ObjectStore

from tables.storage import patience
from tables.storage.description import Options
from tables.storage.objects.errors import StoreRefusal, refusal, turning_panics
from tables.storage.store import StorageError

_URI = re.compile(r"([a-z][a-z0-9+.-]*://[^/]+)/?(.*)", re.DOTALL)
AWAY_SECONDS = 30.0  # that a bucket which refuses everything isn't asked again, so that it keeps nothing else waiting

Lookup = Callable[[str], Options | None]


@dataclass(frozen=True, slots=True)
class _Opened:
    """A bucket's store as it was described, and as patient as this process was."""

    options: Options
    described_as: str
    store: ObjectStore


_lock = threading.Lock()
_lookup: Lookup = lambda _prefix: None  # noqa: E731
_opened: dict[str, _Opened] = {}
_away: dict[str, tuple[ObjectStore, float, str]] = {}


def use(lookup: Lookup) -> None:
    """Has this process ask `lookup` for a bucket's description each time it opens a table there, so that a new key counts at once.

    It is asked by the bucket's prefix, as `s3://lake`.
    """
    global _lookup
    _lookup = lookup


def options_of(uri: str) -> Options:
    """The description of the bucket that a URI names. Raises StorageError when no root says how to reach it, or none can by that."""
    prefix, _ = split(uri)
    options = _lookup(prefix)
    if options is None:
        raise StorageError(f"no root says how to reach the bucket {prefix.partition('://')[2]}")
    options.require_address()
    return options


def opened(uri: str) -> tuple[ObjectStore, str]:
    """The bucket's store, kept while its description stays the same, and the key of the URI in it.

    Raises StorageError, at once for a bucket that refused everything a moment ago.
    """
    options = options_of(uri)
    prefix, key = split(uri)
    described_as = f"{options.fingerprint} {patience.now()}"
    with _lock:
        found = _opened.get(prefix)
        if found is None or found.described_as != described_as:
            found = _opened[prefix] = _Opened(options, described_as, options.store(patience.now()))
        refused_by, until, why = _away.get(prefix, (None, 0.0, ""))
    if refused_by is found.store and time.monotonic() < until:
        raise StorageError(
            f"{why}, a moment ago; the bucket {options.bucket} is asked again within {AWAY_SECONDS:.0f} seconds"
        )
    return found.store, key


def refused(store: object, error: Exception) -> StoreRefusal:
    """What an exception of obstore's means; a refusal of all that is asked is remembered for a store of `opened`'s."""
    with _lock:
        known = {prefix: each for prefix, each in _opened.items() if each.store is store}
    why = refusal(error, silence=next((each.options.silence for each in known.values()), ""))
    if why.everywhere:
        with _lock:
            for prefix, each in known.items():
                _away[prefix] = (each.store, time.monotonic() + AWAY_SECONDS, str(why))
    return why


def is_away(uri: str) -> bool:
    """Whether the URI's bucket refused everything a moment ago."""
    prefix, _ = split(uri)
    with _lock:
        found = _opened.get(prefix)
        refused_by, until, _ = _away.get(prefix, (None, 0.0, ""))
    return found is not None and refused_by is found.store and time.monotonic() < until


def ask_again(prefix: str) -> None:
    """Has this process ask a bucket again that refused everything a moment ago."""
    with _lock:
        _away.pop(prefix, None)


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
    """The prefix of the bucket, as `s3://lake`, and the key, of a canonical URI. Raises ValueError for anything else."""
    match = _URI.fullmatch(uri)
    if match is None:
        raise ValueError(f"{uri!r} is no URI of an object store")
    return match[1], match[2].strip("/")
