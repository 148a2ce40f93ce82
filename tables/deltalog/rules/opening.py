"""What in a table's protocol and metadata keeps Delta 4.4 from opening it, though nothing of its log is damaged."""

from __future__ import annotations

from collections.abc import Iterator

from tables.deltalog.read.actions import Metadata, Protocol
from tables.deltalog.rules.active_features import unlisted_reason
from tables.deltalog.rules.property_values import UNREAD, stopping_value


def reasons(protocol: Protocol | None, metadata: Metadata | None) -> Iterator[str]:
    """Each as a log's problem says it. None where one of the two is unknown."""
    if protocol is None or metadata is None:
        return
    if value := stopping_value(protocol, metadata.configuration):
        yield f"{UNREAD}{value}"
    elif reason := unlisted_reason(protocol, metadata):
        yield reason
