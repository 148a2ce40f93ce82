"""Google Cloud Storage, as a kind of storage."""

from __future__ import annotations

import re

from tables.storage.description import Described
from tables.storage.gcs import hadoop
from tables.storage.gcs.options import ALL, GcsOptions, completed, faults
from tables.storage.objects.kind import object_store
from tables.storage.paths import BadPlace

_BUCKET = re.compile(r"gs://[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")


def _require_bucket(prefix: str) -> None:
    if not _BUCKET.fullmatch(prefix):
        raise BadPlace(f"{prefix.removeprefix('gs://')} can’t be the name of a bucket.")


GCS = object_store(
    Described(
        GcsOptions.of,
        faults,
        cloud="Google",
        fields=("endpoint", "key_id", "secret"),
        hints={
            "key_id": "Levee reads it from the key that you enter.",
            "secret": "Enter the JSON file of a service account’s key.",
        },
        completed=completed,
        key=lambda _prefix: ALL,
        shares="All of Google’s buckets have one credential, because Spark knows one for all of them.",
    ),
    scheme="gs",
    what="gs:// prefixes",
    example="gs://bucket/lake",
    # Delta commits there with a condition that the name is new, which Google keeps (io.delta.storage.GCSLogStore).
    takes_names_once=True,
    hadoop=hadoop.ALWAYS,
    require_root=_require_bucket,
)
