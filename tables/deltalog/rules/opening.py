"""What in a table's protocol and metadata keeps Delta 4.4 from opening it, though nothing of its log is damaged."""

from __future__ import annotations

from tables.deltalog.read.actions import Metadata, Protocol
from tables.deltalog.rules.active_features import unlisted_reason
from tables.deltalog.rules.property_values import UNREAD, stopping_value
from tables.deltalog.rules.schema import SchemaError, parse_schema
from tables.deltalog.rules.schema_faults import schema_fault


def stopping_reason(protocol: Protocol | None, metadata: Metadata | None) -> str | None:
    """As a log's problem says it; None for nothing, and where one of the two is unknown."""
    if protocol is None or metadata is None:
        return None
    if value := stopping_value(protocol, metadata.configuration):
        return f"{UNREAD}{value}"
    return _fault_in(metadata) or unlisted_reason(protocol, metadata)


def _fault_in(metadata: Metadata) -> str | None:
    try:
        return schema_fault(parse_schema(metadata.schema_json), metadata.partition_columns)
    except SchemaError:  # a problem of its own
        return None
