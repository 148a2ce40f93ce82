"""Files of a table by short keys: what lets millions of paths be compared without being held.

A key is the first 64 bits of a hash of the path below the table's directory, as the file system has it. Two of a million paths share one
with a probability of 1 to 40 million.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from array import array
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from tables.deltalog.read.paths import decoded, is_absolute, is_plain
from tables.storage.stores import canonical_scheme

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):(.*)", re.DOTALL)
KEY = pa.uint64()


def key(path: str) -> int:
    """The key of a decoded path below the table's directory."""
    text = path.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def below(path: str, root: str) -> str | None:
    """The decoded path, below the table's directory `root`, of a file as the log names it; None for a file that lies elsewhere.

    As Delta's VacuumCommand: names are decoded once, an absolute path below the table counts as a relative one.
    """
    if is_plain(path) and "//" not in path and "/./" not in path:
        return path
    text = decoded(path)
    if is_absolute(path):
        top = spelled(root).rstrip("/") + "/"
        place = spelled(text)
        return place.removeprefix(top) if place.startswith(top) else None
    return posixpath.normpath(text)


def spelled(text: str) -> str:
    """A location in one spelling: `file:///a`, `file:/a` and `/a` are one, and so are the schemes of one store, as `s3://b` and `s3a://b`."""
    match = _SCHEME.fullmatch(text)
    scheme, rest = (match[1].lower(), match[2]) if match else ("file", text)
    host, path = "", rest
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        path = slash + path
    return f"{canonical_scheme(scheme)}://{host}{posixpath.normpath(path) if path else ''}"


def column(values: array[int], kind: pa.DataType) -> pa.Array:
    """The numbers of an array as an Arrow column, without a copy. `kind` has as many bytes as they."""
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def sizes_of(values: array[int]) -> pa.Array:
    """Sizes as a column: null where one is negative, which is unknown."""
    sizes = column(values, pa.int64())
    return pc.if_else(pc.less(sizes, 0), pa.scalar(None, pa.int64()), sizes)


def bytes_of(files: pa.Table) -> int | None:
    """The sizes of files (column `size`) added up; None if one of them is unknown."""
    return None if files["size"].null_count else int(pc.sum(files["size"]).as_py() or 0)


def keys_of(paths: Iterable[str]) -> pa.Array:
    """The keys of decoded paths."""
    return column(array("Q", map(key, paths)), KEY)


def with_parents(folder: str) -> Iterator[str]:
    """A directory below the table's own, and those that it lies in, from the top: for `a/b` these are `a` and `a/b`."""
    if not folder:
        return
    end = folder.find("/")
    while end >= 0:
        yield folder[:end]
        end = folder.find("/", end + 1)
    yield folder
