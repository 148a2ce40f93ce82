"""A table's protocol, and the one that it has after features are switched on or dropped.

Rules: Delta 4.4.0, TableFeature.scala (the features) and TableFeatureSupport.scala (`merge`, `removeFeature`, `normalized`,
`denormalized`). A protocol only grows: nothing but DROP FEATURE makes it smaller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jobs.domain.errors import EngineFailure

FEATURES_READER, FEATURES_WRITER = 3, 7  # the versions that list features


@dataclass(frozen=True, slots=True)
class Feature:
    """A table feature that Delta 4.4 knows. `reader` is the reader version that it asks for, 0 if readers may ignore it.

    `legacy`: its versions alone imply it in protocols that list no features. `removable`: DROP FEATURE can drop it. `requires`
    are the features that come with it.
    """

    name: str
    reader: int
    writer: int
    legacy: bool = False
    removable: bool = False
    requires: tuple[str, ...] = ()

    @property
    def for_readers(self) -> bool:
        """Whether readers must know it too."""
        return self.reader > 0


def _writers(name: str, *, removable: bool = False, requires: tuple[str, ...] = ()) -> Feature:
    return Feature(name, 0, FEATURES_WRITER, False, removable, requires)


def _readers(name: str, *, removable: bool = False, requires: tuple[str, ...] = ()) -> Feature:
    return Feature(name, FEATURES_READER, FEATURES_WRITER, False, removable, requires)


_COORDINATED = ("inCommitTimestamp", "vacuumProtocolCheck")
_FEATURES = (
    Feature("appendOnly", 0, 2, legacy=True),
    Feature("invariants", 0, 2, legacy=True),
    Feature("checkConstraints", 0, 3, legacy=True, removable=True),
    Feature("changeDataFeed", 0, 4, legacy=True),
    Feature("generatedColumns", 0, 4, legacy=True),
    Feature("columnMapping", 2, 5, legacy=True, removable=True),
    Feature("identityColumns", 0, 6, legacy=True),
    _writers("allowColumnDefaults"),
    _writers("checkpointProtection", removable=True),
    _writers("clustering", requires=("domainMetadata",)),
    _writers("coordinatedCommits-preview", removable=True, requires=_COORDINATED),
    _writers("domainMetadata", removable=True),
    _writers("icebergCompatV1", requires=("columnMapping",)),
    _writers("icebergCompatV2", requires=("columnMapping",)),
    _writers("icebergCompatV3", requires=("columnMapping", "rowTracking")),
    _writers("inCommitTimestamp", removable=True),
    _writers("materializePartitionColumns", removable=True),
    _writers("rowTracking", removable=True, requires=("domainMetadata",)),
    _readers("adaptiveMetadata-preview",
             requires=("catalogManaged", "columnMapping", "deletionVectors", "domainMetadata", "rowTracking")),
    _readers("catalogManaged", removable=True, requires=_COORDINATED),
    _readers("deletionVectors", removable=True),
    _readers("geospatial", removable=True),
    _readers("geospatial-dev", removable=True),
    _readers("timestampNtz"),
    _readers("typeWidening", removable=True),
    _readers("typeWidening-preview", removable=True),
    _readers("v2Checkpoint", removable=True),
    _readers("vacuumProtocolCheck", removable=True),
    _readers("variantShredding", requires=("variantType",)),
    _readers("variantShredding-preview"),
    _readers("variantType"),
    _readers("variantType-preview"),
)  # fmt: skip

FEATURES: Mapping[str, Feature] = {feature.name: feature for feature in _FEATURES}
_BY_LOWER = {name.lower(): feature for name, feature in FEATURES.items()}


def feature_of(name: str) -> Feature | None:
    """The feature of this name in any case; None for one that Delta 4.4 doesn't know."""
    return _BY_LOWER.get(name.lower())


@dataclass(frozen=True, slots=True)
class DeltaProtocol:
    """What readers and writers of a table must support. The lists are None in versions that list no features."""

    min_reader: int
    min_writer: int
    reader_features: tuple[str, ...] | None = None
    writer_features: tuple[str, ...] | None = None

    @property
    def listed(self) -> frozenset[str]:
        """The features that it names."""
        return frozenset((*(self.reader_features or ()), *(self.writer_features or ())))

    @property
    def features(self) -> frozenset[str]:
        """All features in force: those that it names, and those that its versions imply."""
        return self.listed | _implied(self.min_reader, self.min_writer)

    def as_json(self) -> dict[str, Any]:
        """As previews store it: `{min_reader_version, min_writer_version, reader_features, writer_features}`."""
        return {
            "min_reader_version": self.min_reader,
            "min_writer_version": self.min_writer,
            "reader_features": None if self.reader_features is None else sorted(self.reader_features),
            "writer_features": None if self.writer_features is None else sorted(self.writer_features),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> DeltaProtocol:
        """A protocol as previews and the catalog store it."""
        readers, writers = value["reader_features"], value["writer_features"]
        return cls(
            value["min_reader_version"],
            value["min_writer_version"],
            None if readers is None else tuple(sorted(readers)),
            None if writers is None else tuple(sorted(writers)),
        )


def protocol_with(protocol: DeltaProtocol, features: Iterable[str]) -> DeltaProtocol:
    """The protocol once these features, and what they require, are supported: unchanged if they are already.

    Delta writes the weakest form that stands for the same features. Raises KeyError for a feature that Delta 4.4 doesn't know.
    """
    wanted = closure(features)
    if wanted <= protocol.features:
        return protocol
    return _weakest(protocol, protocol.features | wanted)


def protocol_without(protocol: DeltaProtocol, feature: str) -> DeltaProtocol:
    """The protocol after DROP FEATURE of one feature."""
    return _weakest(protocol, protocol.features - {feature})


def protocol_at_least(protocol: DeltaProtocol, reader: int, writer: int) -> DeltaProtocol:
    """The protocol after its versions were asked for by `delta.minReaderVersion` and `delta.minWriterVersion`."""
    implied = _implied(reader, writer)
    if implied <= protocol.features:
        return protocol
    return _weakest(protocol, protocol.features | implied)


def closure(features: Iterable[str]) -> frozenset[str]:
    """These features and all that they require. Raises KeyError for a feature that Delta 4.4 doesn't know."""
    found: set[str] = set()
    waiting = list(features)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(FEATURES[name].requires)
    return frozenset(found)


def added(before: DeltaProtocol, after: DeltaProtocol) -> list[str]:
    """The features that the later protocol has and the earlier one hasn't, sorted."""
    return sorted(after.features - before.features)


def rises(before: DeltaProtocol, after: DeltaProtocol) -> bool:
    """Whether the later protocol asks for more: a feature or a higher version."""
    higher = after.min_reader > before.min_reader or after.min_writer > before.min_writer
    return higher or bool(after.features - before.features)


def irreversible(before: DeltaProtocol, after: DeltaProtocol) -> list[str]:
    """Sentences on what nobody can take back, or only by DROP FEATURE; empty if the protocol asks for no more than before."""
    new = added(before, after)
    texts = []
    if (after.min_reader, after.min_writer) != (before.min_reader, before.min_writer) and rises(before, after):
        texts.append(
            f"The protocol rises from {versions(before)} to {versions(after)}. A restore doesn’t lower it: only dropping"
            " features does."
        )
    for_ever = [name for name in new if not _removable(name)]
    if for_ever:
        texts.append(f"Delta can’t drop {_named(for_ever)}: the table keeps {'it' if len(for_ever) == 1 else 'them'}.")
    removable = [name for name in new if _removable(name)]
    if removable:
        texts.append(f"Only DROP FEATURE removes {_named(removable)} again, in several commits.")
    return texts


def unwritable(protocol: DeltaProtocol) -> EngineFailure | None:
    """How Delta 4.4 refuses any write to a table of this protocol: by its versions, or by the writer features that it doesn't know."""
    if protocol.min_writer > FEATURES_WRITER or protocol.min_reader > FEATURES_READER:
        text = f"The table asks for {versions(protocol)}; Delta 4.4 knows reader {FEATURES_READER} and writer {FEATURES_WRITER}."
        return EngineFailure("DELTA_INVALID_PROTOCOL_VERSION", "KD004", text)
    unknown = sorted(name for name in protocol.listed if name not in FEATURES)
    if not unknown:
        return None
    text = f"The table asks its writers for {_named(unknown)}, which Delta 4.4 doesn’t know."
    return EngineFailure("DELTA_UNSUPPORTED_FEATURES_FOR_WRITE", "56038", text)


def versions(protocol: DeltaProtocol) -> str:
    """`reader 3, writer 7`."""
    return f"reader {protocol.min_reader}, writer {protocol.min_writer}"


def _removable(name: str) -> bool:
    feature = FEATURES.get(name)
    return feature is not None and feature.removable


def _named(names: list[str]) -> str:
    return f"the feature {names[0]}" if len(names) == 1 else f"the features {', '.join(names)}"


def _implied(reader: int, writer: int) -> frozenset[str]:
    """The features that versions stand for without naming them; none for writers that list theirs."""
    if writer >= FEATURES_WRITER:
        return frozenset()
    return frozenset(f.name for f in _FEATURES if f.legacy and f.writer <= writer and f.reader <= reader)


def _weakest(protocol: DeltaProtocol, names: frozenset[str]) -> DeltaProtocol:
    """The lowest versions that stand for exactly these features; features that Delta doesn't know keep their lists."""
    unknown = names - FEATURES.keys()
    known = [FEATURES[name] for name in sorted(names - unknown)]
    reader = max((1, *(feature.reader for feature in known)))
    writer = max((1, *(feature.writer for feature in known)))
    if not unknown and _implied(reader, writer) == names:
        return DeltaProtocol(reader, writer)
    foreign = unknown & frozenset(protocol.reader_features or ())
    reader = FEATURES_READER if foreign else reader
    lists_readers = reader >= FEATURES_READER
    readers = (*(f.name for f in known if f.for_readers), *foreign)
    return DeltaProtocol(
        reader, FEATURES_WRITER, tuple(sorted(readers)) if lists_readers else None, tuple(sorted(names))
    )
