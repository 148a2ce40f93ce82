"""Table features that a table's metadata switches on: a protocol that lists features must list these, or Delta opens no version.

Source: Delta 4.4.0, `DeltaLog.assertTableFeaturesMatchMetadata`, which every snapshot is made with, and the features that are
`FeatureAutomaticallyEnabledByMetadata` (`TableFeature.scala`). Other writers leave some out: to Delta a NOT NULL column is an invariant,
and deltalake once listed `timestampNtz` alone for a table with both (delta-rs, pull request 2957).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tables.deltalog.read.actions import Metadata, Protocol
from tables.deltalog.rules.property_types import CONSTRAINT_PREFIX, features_asked
from tables.deltalog.rules.schema import Column, Primitive, SchemaError, Struct, parse_schema, types_in

UNLISTED = "the protocol doesn’t list "
_INVARIANTS = "delta.invariants"
_IDENTITY = frozenset({"delta.identity.start", "delta.identity.step", "delta.identity.allowExplicitInsert"})
_OF_TYPES = {"timestamp_ntz": "timestampNtz", "variant": "variantType"}
_INSTEAD = {
    "variantType": "variantType-preview",
    "typeWidening": "typeWidening-preview",
    "variantShredding-preview": "variantShredding",
}
REQUIRED = {
    "clustering": ("domainMetadata",),
    "rowTracking": ("domainMetadata",),
    "icebergCompatV1": ("columnMapping",),
    "icebergCompatV2": ("columnMapping",),
    "icebergCompatV3": ("columnMapping", "rowTracking"),
    "variantShredding": ("variantType",),
    "coordinatedCommits-preview": ("inCommitTimestamp", "vacuumProtocolCheck"),
    "catalogManaged": ("inCommitTimestamp", "vacuumProtocolCheck"),
    "adaptiveMetadata-preview": ("catalogManaged", "columnMapping", "deletionVectors", "domainMetadata", "rowTracking"),
}
"""What else a feature takes, listed or switched on."""


def unlisted_features(protocol: Protocol, metadata: Metadata) -> tuple[str, ...]:
    """The features that the protocol doesn't list though the metadata switches them on, or another one requires them; sorted.

    None for a protocol whose versions list no features, and of the schema for one that can't be read.
    """
    return _unlisted(protocol, metadata.configuration, _schema_of(metadata))


def unlisted_reason(protocol: Protocol | None, metadata: Metadata | None) -> str | None:
    """What keeps Delta from opening a table of this protocol and metadata, as a log's problem; None for nothing."""
    if protocol is None or metadata is None:
        return None
    return reason_of(protocol, metadata.configuration, _schema_of(metadata))


def reason_of(protocol: Protocol, configuration: Mapping[str, str], schema: Struct | None) -> str | None:
    """The same of a protocol, properties and schema; without a schema by the rest alone."""
    names = _unlisted(protocol, configuration, schema)
    if not names:
        return None
    return f"{UNLISTED}{', '.join(names)}, which the table’s schema, properties or other features ask for"


def has_conditions(configuration: Mapping[str, str], schema: Struct) -> bool:
    """Whether Delta keeps to expressions by this metadata: CHECK constraints, invariants or generated columns. NOT NULL isn't counted."""
    return (
        any(name.lower().startswith(CONSTRAINT_PREFIX) for name in configuration)
        or any(column.generation_expression is not None for column in schema.columns)
        or has_invariants(schema)
    )


def has_invariants(schema: Struct) -> bool:
    """Whether a column has an invariant of its own, which Delta reads in every transaction. NOT NULL isn't counted."""
    return any(_INVARIANTS in column.metadata for column in _of_structs(schema))


def _schema_of(metadata: Metadata) -> Struct | None:
    try:
        return parse_schema(metadata.schema_json)
    except SchemaError:
        return None


def _unlisted(protocol: Protocol, configuration: Mapping[str, str], schema: Struct | None) -> tuple[str, ...]:
    if protocol.writer_features is None:
        return ()
    listed = frozenset(protocol.writer_features)
    active = {name for name in _active(configuration, schema) if _INSTEAD.get(name) not in listed}
    return tuple(sorted(_with_required(active | listed) - listed))


def _with_required(names: frozenset[str] | set[str]) -> set[str]:
    found, waiting = set[str](), list(names)
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            waiting += REQUIRED.get(name, ())
    return found


def _active(configuration: Mapping[str, str], schema: Struct | None) -> Iterator[str]:
    yield from features_asked(configuration)
    if any(name.lower().startswith(CONSTRAINT_PREFIX) for name in configuration):
        yield "checkConstraints"
    if schema is None:
        return
    if any(not column.nullable or _INVARIANTS in column.metadata for column in _of_structs(schema)):
        yield "invariants"
    if any(column.generation_expression is not None for column in schema.columns):
        yield "generatedColumns"
    if any(column.metadata.keys() >= _IDENTITY for column in schema.columns):
        yield "identityColumns"
    for kind in types_in(schema):
        if isinstance(kind, Primitive) and kind.name in _OF_TYPES:
            yield _OF_TYPES[kind.name]


def _of_structs(schema: Struct) -> Iterator[Column]:
    """The columns, and the fields of structs; an invariant of a field below an array or a map isn't counted."""
    for column in schema.columns:
        yield column
        if isinstance(column.type, Struct):
            yield from _of_structs(column.type)
