"""What stands for and against a prefix of an object store as a root: each question is one request, answered within seconds."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import obstore
from obstore.exceptions import BaseError, InvalidPathError
from obstore.store import ObjectStore

from console.base.text.counted import counted
from tables.storage.description import Options
from tables.storage.folders import PAGE
from tables.storage.objects import buckets as object_stores
from tables.storage.objects.errors import refusal, turning_panics
from tables.storage.paths import BadPlace
from tables.storage.patience import BRIEF
from tables.storage.probe import NAME, Probe
from tables.storage.store import StorageError

MOST_SKEW_S = 300  # stores refuse a request whose time differs by 15 minutes; shown well before


@dataclass(frozen=True, slots=True)
class Prefix:
    """A prefix that is looked at, in its bucket as it is described."""

    uri: str
    options: Options
    store: ObjectStore

    @classmethod
    def of(cls, uri: str, options: Options) -> Prefix:
        """Opens it; nothing is asked yet. Raises BadPlace."""
        try:
            return cls(uri, options, options.store(BRIEF))
        except StorageError as error:
            raise BadPlace(f"{error}.") from None

    @property
    def key(self) -> str:
        """What all keys below it begin with; empty for a whole bucket."""
        _, key = object_stores.split(self.uri)
        return f"{key}/" if key else ""


def listable(prefix: Prefix) -> str:
    """Raises BadPlace where nothing lies below the prefix, for a store that sends it elsewhere, and for what the store says."""
    if (other := prefix.options.sent_on_to()) is not None:
        raise BadPlace(
            f"The endpoint sends requests on to {other}, and Levee follows a store nowhere else. Enter the endpoint that "
            "answers itself (endpoint)."
        )
    page = _first(prefix)
    if not page and prefix.key:
        raise BadPlace(f"Nothing lies below {prefix.uri}.")
    more = "at least " if len(page) >= PAGE else ""
    return f"Levee can list it; it holds {more}{counted(len(page), 'key')}."


def readable(prefix: Prefix) -> str:
    """Reads a byte of one object. Raises BadPlace."""
    sized = [meta for meta in _first(prefix) if meta["size"]]
    if not sized:
        return "There is no object to read yet."
    with _refusing(prefix, f"Levee can’t read an object in {prefix.uri}"):
        obstore.get_range(prefix.store, sized[0]["path"], start=0, end=1)
    return "Levee can read its objects."


def writable(prefix: Prefix) -> str:
    """Writes one object of no bytes, compares the clocks by its time, and removes it. Raises BadPlace."""
    name = f"{prefix.key}{NAME}{uuid.uuid4().hex}"
    with _refusing(prefix, f"Levee can’t write in {prefix.uri}"):
        before = time.time()
        obstore.put(prefix.store, name, b"")
    try:
        with _refusing(prefix, f"Levee can’t look at what it wrote in {prefix.uri}"):
            written = cast(dict[str, Any], obstore.head(prefix.store, name))["last_modified"].timestamp()
    finally:
        left = _removed(prefix, name)
    if not left:
        raise BadPlace(f"Levee can write in {prefix.uri} and not delete there: {name} was left behind.")
    skew = before - written
    if abs(skew) > MOST_SKEW_S:
        way = "ahead of" if skew > 0 else "behind"
        raise BadPlace(
            f"This machine’s clock is {abs(skew):,.0f} seconds {way} the store’s. Set it by the network’s time."
        )
    return "Levee can write and delete there; the clocks agree."


def _removed(prefix: Prefix, name: str) -> bool:
    with suppress(BaseError), turning_panics:
        obstore.delete(prefix.store, name)
        return True
    return False


def _first(prefix: Prefix) -> list[dict[str, Any]]:
    """A page of keys below the prefix, without its own mark."""
    with _refusing(prefix, f"Levee can’t list {prefix.uri}"):
        try:
            pages = obstore.list(prefix.store, prefix.key or None, chunk_size=PAGE)
            page = cast(list[dict[str, Any]], next(iter(pages), []))
        except InvalidPathError:  # a key like a//b somewhere below, for which obstore drops its page
            found = obstore.list_with_delimiter(prefix.store, prefix.key or None)
            below = [{"path": each, "size": 0} for each in found["common_prefixes"]]
            page = [*cast(list[dict[str, Any]], found["objects"]), *below]
    return [meta for meta in page if str(meta["path"]).startswith(prefix.key)]


@contextmanager
def _refusing(prefix: Prefix, what: str) -> Iterator[None]:
    try:
        with turning_panics:
            yield
    except (BaseError, FileNotFoundError) as error:
        refused = refusal(error, silence=prefix.options.silence)
        about = f" ({_LABELS[refused.field]})" if refused.field in _LABELS else ""
        raise BadPlace(f"{what}: {refused}{about}.") from None


_LABELS = {
    "bucket": "bucket",
    "key_id": "key ID",
    "secret": "secret",
    "session_token": "session token",
    "region": "region",
    "endpoint": "endpoint",
}


def probe(uri: str, options: Callable[[], Options]) -> Probe:
    """The questions about a prefix, in its bucket as it is described; the first of them opens it."""
    prefix = cache(lambda: Prefix.of(uri, options()))
    return Probe(
        looks=[
            ("Storage", lambda: prefix().options.reach()),
            ("Listable", lambda: listable(prefix())),
            ("Readable", lambda: readable(prefix())),
        ],
        writes=[("Writable", lambda: writable(prefix()))],
        required=[lambda: listable(prefix())],
        beside=lambda _others: None,
    )
