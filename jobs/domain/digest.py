"""The digest of a request: people approve it, and it proves that the row is unchanged."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def canonical(value: Any) -> str:
    """JSON with sorted keys and no blanks: equal values give equal texts."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sha256_of(value: Any) -> str:
    """The sha256 of a JSON value in its canonical text, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def request_digest(
    *,
    command: str,
    schema_version: int,
    parameters: Mapping[str, Any],
    location: str,
    table_id: str | None,
    base_version: int | None,
    preview: Mapping[str, Any] | None,
    policy: Mapping[str, Any],
    reason: str,
    requested_by: str,
    expires_at: str,
    revision: int = 1,
) -> str:
    """The sha256 over the stored request and its preview at the base version. It never covers drift, which has its own check."""
    return sha256_of(
        {
            "command": command,
            "schema_version": schema_version,
            "parameters": dict(parameters),
            "location": location,
            "table_id": table_id,
            "base_version": base_version,
            "preview": dict(preview) if preview is not None else None,
            "policy": dict(policy),
            "reason": reason,
            "requested_by": requested_by,
            "expires_at": expires_at,
            "revision": revision,
        }
    )
