"""An event as JSON: the same shape in the API and in the export."""

from __future__ import annotations

from typing import Any

from console.audit.models import Event, Seal

ORIGIN = ("address", "session", "request_id", "token_id")  # where an act came from


def event_json(event: Event, *, origins: bool) -> dict[str, Any]:
    """One event with its link in the chain; the link's parts are null until it is sealed. Without `origins`, where it came from
    is null as well."""
    link: Seal | None = getattr(event, "seal", None)
    return {
        "id": event.pk,
        "sequence": link.sequence if link else None,
        "at": event.at,
        "actor": event.actor_name,
        "actor_kind": event.actor_kind,
        "actor_id": event.actor_id,
        "action": event.action,
        "object": {"kind": event.object_kind, "id": event.object_id, "name": event.object_name},
        "outcome": event.outcome,
        "reason": event.reason,
        "before": event.before,
        "after": event.after,
        "job": event.job,
        "digest": event.digest,
        "table": event.table_id,
        "table_version": event.table_version,
        **{name: (getattr(event, name) or None) if origins else None for name in ORIGIN},
        "hash": event.hash,
        "previous": link.previous if link else None,
        "link": link.hash if link else None,
    }
