"""Object stores that speak S3, as a kind of storage."""

from __future__ import annotations

import re

from tables.storage.kind import StoreKind
from tables.storage.paths import BadPlace
from tables.storage.s3 import buckets
from tables.storage.s3.files import ObjectStorage
from tables.storage.s3.folders import StoredFolders
from tables.storage.s3.probe import probe
from tables.storage.s3.removal import remove_keys
from tables.storage.s3.tree import Bucket, ObjectTree
from tables.storage.trees import reached

_BUCKET = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


def _tree(path: str) -> ObjectTree:
    return ObjectTree(path, *reached(buckets.opened, path))


def _reach(path: str) -> Bucket:
    options = reached(buckets.options_of, path)
    return Bucket(options.bucket, options.for_obstore())


def _require_bucket(prefix: str) -> None:
    if not _BUCKET.fullmatch(prefix):
        raise BadPlace(f"{prefix.removeprefix('s3://')} can’t be the name of a bucket.")


S3 = StoreKind(
    scheme="s3",
    what="s3:// prefixes",
    one="a prefix of an object store",
    example="s3://bucket/lake",
    where="in an object store",
    files=ObjectStorage,
    folders=lambda _path: StoredFolders(),
    tree=_tree,
    reach=_reach,
    is_there=buckets.holds_key,
    is_away=buckets.is_away,
    probe=probe,
    is_described=True,
    remove_keys=remove_keys,
    aliases=frozenset({"s3a", "s3n"}),
    guards_commits=False,
    has_directories=False,
    require_root=_require_bucket,
)
