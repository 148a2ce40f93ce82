"""A place by its text alone: the kind of storage that it lies in, and the names on the way down.

Paths are literal. `/lake/50% off` is a name, nothing is decoded, and no character means a pattern. Only `scheme://` makes a URI; `file:`
and an absolute path is that path.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tables.storage.kind import StoreKind
from tables.storage.local.kind import LOCAL
from tables.storage.paths import BadPlace
from tables.storage.stores import SCHEME, kind_with

MAX_BYTES = 2_000  # of a path as UTF-8: an index of PostgreSQL holds no entry beyond 2,704
# Control characters, and bytes that are no UTF-8: no path that Levee takes or finds holds them.
NOT_IN_PATHS = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Place:
    """A place of a kind of storage (None: one that Levee doesn't read). `prefix` is scheme and authority, "" on this machine."""

    kind: StoreKind | None
    prefix: str
    components: tuple[str, ...]

    @property
    def path(self) -> str:
        """The canonical text of the place."""
        return "/".join([self.prefix, *self.components]) if self.components or self.prefix else "/"


def fits(path: str) -> bool:
    """Whether a path is short enough for the catalog."""
    return len(path.encode("utf-8", "surrogatepass")) <= MAX_BYTES


def place_of(text: str) -> Place:
    """The place that an absolute path or URI names.

    Doubled and trailing slashes and `.` go; `file:/a`, `file:///a` and `/a` are one, as are `s3a://b/a` and `s3://b/a`. Raises BadPlace
    for what is relative, climbs (`..`), leads through a storage's own names, holds control characters, or is longer than any path may be.
    """
    if not fits(text) or NOT_IN_PATHS.search(text):
        raise BadPlace(f"This is not a path: it is longer than {MAX_BYTES:,} bytes, or holds control characters.")
    kind, prefix, path = _without_scheme(text)
    if not path.startswith("/"):
        raise BadPlace("Enter an absolute path, such as /lake/orders.")
    components = tuple(part for part in path.split("/") if part not in ("", "."))
    if ".." in components:
        raise BadPlace("Levee doesn’t accept a path with “..”.")
    if kind is not None and not set(kind.reserved).isdisjoint(components):
        names = " or ".join(f"“{name}”" for name in kind.reserved)
        raise BadPlace(f"Levee doesn’t accept a path {kind.where} with {names}.")
    return Place(kind, prefix, components)


def _without_scheme(text: str) -> tuple[StoreKind | None, str, str]:
    if text[:5].lower() == "file:":
        rest = text[5:]
        if rest.startswith("//") and not rest.startswith("///"):
            raise BadPlace("Levee doesn’t accept a file URI that names a host.")
        return LOCAL, "", rest
    match = SCHEME.match(text)
    if match is None:
        return LOCAL, "", text
    authority, slash, path = text[match.end() :].partition("/")
    if not authority or "@" in authority:
        raise BadPlace("A URI needs a bucket or host, and must not carry credentials.")
    scheme = match[1].lower()
    kind = kind_with(scheme)
    if kind is not None:
        scheme, authority = kind.scheme, kind.authority(authority)
    return kind, f"{scheme}://{authority}", slash + path if slash else "/"
