"""Object stores that speak S3, as a kind of storage."""

from __future__ import annotations

import re

from tables.storage.description import Described
from tables.storage.objects.kind import object_store
from tables.storage.paths import BadPlace
from tables.storage.s3.options import REGION_OF_NONE, S3Options, faults

_BUCKET = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


def _name(prefix: str) -> str:
    return prefix.removeprefix("s3://")


def _require_bucket(prefix: str) -> None:
    if not _BUCKET.fullmatch(prefix):
        raise BadPlace(f"{_name(prefix)} can’t be the name of a bucket.")


S3 = object_store(
    Described(S3Options.of, faults, REGION_OF_NONE, cloud="AWS", key=_name),
    scheme="s3",
    what="s3:// prefixes",
    example="s3://bucket/lake",
    aliases=frozenset({"s3a", "s3n"}),
    guards_commits=False,
    require_root=_require_bucket,
)
