"""A table's definition: its protocol and its metadata, in the form that requests about them store and compare."""

from __future__ import annotations

import hashlib
import json

from jobs.domain.delta.protocols import DeltaProtocol
from jobs.domain.errors import CommandRefused, Refusal
from jobs.targets.subject import Subject


def protocol_of(subject: Subject) -> DeltaProtocol:
    """The table's protocol. Raises CommandRefused (`unreadable`) for a log without one."""
    protocol = subject.snapshot.protocol
    if protocol is None:
        raise CommandRefused(Refusal("unreadable", "The log can’t be read with certainty: it holds no protocol."))
    return DeltaProtocol(
        protocol.min_reader_version, protocol.min_writer_version, protocol.reader_features, protocol.writer_features
    )


def definition_sha256(subject: Subject) -> str:
    """A hash of protocol, schema, partitioning and properties: another one means that what was previewed no longer holds."""
    metadata = subject.metadata
    value = [
        protocol_of(subject).as_json(),
        subject.shape_sha256,
        sorted(subject.configuration.items()),
        metadata.id,
    ]
    return hashlib.sha256(json.dumps(value, ensure_ascii=True).encode()).hexdigest()
