"""Table features: which ones a protocol asks for, what each demands of readers and writers, which ones this reader understands.

Source: the Delta protocol ("Table Features") and Delta 4.4.0 (`TableFeature.scala`).
"""

from __future__ import annotations

from dataclasses import dataclass

from tables.deltalog.read.actions import Protocol


@dataclass(frozen=True, slots=True)
class KnownFeature:
    """What is known of a table feature.

    `legacy` is the (reader, writer) version that implies it in protocols that don't list features, None for those that must be
    listed. `readers` and `writers` say what is demanded of each; `readers` is None when readers may ignore the feature. `removable`
    says whether Delta 4.4 can drop it. `understood` says whether Levee's reader interprets what it changes in the log.
    """

    name: str
    writers: str
    readers: str | None = None
    legacy: tuple[int, int] | None = None
    removable: bool = False
    understood: bool = True


_FEATURES = (
    KnownFeature(
        "appendOnly", "Must not delete or change rows while delta.appendOnly is true; adding rows stays allowed.", legacy=(0, 2)
    ),
    KnownFeature("invariants", "Must check the conditions kept in the schema's column metadata for every new row.", legacy=(0, 2)),
    KnownFeature(
        "checkConstraints",
        "Must check the table's CHECK constraints (delta.constraints.*) for every new row.",
        legacy=(0, 3),
        removable=True,
    ),
    KnownFeature(
        "changeDataFeed",
        "Must write change files for updates and partial deletes while delta.enableChangeDataFeed is true.",
        legacy=(0, 4),
    ),
    KnownFeature("generatedColumns", "Must compute generated columns, or check the values given for them.", legacy=(0, 4)),
    KnownFeature(
        "columnMapping",
        "Must write files with the columns' physical names and ids, and keep these when a column is renamed.",
        "Must find columns in files by physical name or id, not by the name shown.",
        legacy=(2, 5),
        removable=True,
    ),
    KnownFeature("identityColumns", "Must fill identity columns and keep the highest value in the schema.", legacy=(0, 6)),
    KnownFeature("allowColumnDefaults", "Must use a column's default where a write gives no value."),
    KnownFeature(
        "checkpointProtection",
        "Must keep the log before the version in delta.requireCheckpointProtectionBeforeVersion, unless all of it can go at once.",
        removable=True,
    ),
    KnownFeature("clustering", "Must cluster new data by the columns of the domain delta.clustering, and keep statistics for them."),
    KnownFeature(
        "coordinatedCommits-preview",
        "Must commit through the commit coordinator that the table's properties name.",
        removable=True,
        understood=False,
    ),
    KnownFeature("domainMetadata", "Must keep the configuration of domains and write at most one per domain and commit.", removable=True),
    KnownFeature("icebergCompatV1", "Must write files and metadata in a form that Iceberg readers accept (version 1 of the rules)."),
    KnownFeature("icebergCompatV2", "Must write files and metadata in a form that Iceberg readers accept (version 2 of the rules)."),
    KnownFeature("icebergCompatV3", "Must write files and metadata in a form that Iceberg readers accept (version 3 of the rules)."),
    KnownFeature(
        "inCommitTimestamp", "Must write a rising time into every commit; history then uses it, not the file's time.", removable=True
    ),
    KnownFeature(
        "materializePartitionColumns", "Must write the partition columns into the data files as well.", removable=True
    ),
    KnownFeature(
        "rowTracking", "Must give every row an id and a commit version that survive rewrites.", removable=True
    ),
    KnownFeature(
        "catalogManaged",
        "Must commit through the catalog that owns the table.",
        "Must ask the catalog for the newest commits: the log in the directory may be behind.",
        removable=True,
        understood=False,
    ),
    KnownFeature(
        "deletionVectors",
        "May mark rows as deleted instead of rewriting files, and must honour the marks that are there.",
        "Must leave out the rows that a file's deletion vector marks.",
        removable=True,
    ),
    KnownFeature(
        "geospatial",
        "Must write geometry and geography values in their own encoding.",
        "Must know the types geometry and geography.",
        removable=True,
    ),
    KnownFeature(
        "geospatial-dev",
        "As geospatial, in an early form.",
        "Must know the early form of the types geometry and geography.",
        removable=True,
    ),
    KnownFeature(
        "timestampNtz", "Must write timestamps without a time zone as such.", "Must know the type timestamp without a time zone."
    ),
    KnownFeature(
        "typeWidening",
        "Must record the type that each column had before in the schema's metadata.",
        "Must read files written with a narrower type as the column's type of today.",
        removable=True,
    ),
    KnownFeature(
        "typeWidening-preview",
        "As typeWidening, in its preview form.",
        "Must read files written with a narrower type as the column's type of today.",
        removable=True,
    ),
    KnownFeature(
        "v2Checkpoint",
        "May write checkpoints with sidecar files.",
        "Must read checkpoints whose files are listed in sidecars.",
        removable=True,
    ),
    KnownFeature(
        "vacuumProtocolCheck",
        "Must check the protocol before a vacuum deletes anything.",
        "Nothing beyond knowing the name.",
        removable=True,
    ),
    KnownFeature("variantType", "Must write variant values in their binary form.", "Must know the type variant."),
    KnownFeature("variantType-preview", "As variantType, in its preview form.", "Must know the preview form of the type variant."),
    KnownFeature("variantShredding", "May split variant values into columns.", "Must put split variant values together again."),
    KnownFeature(
        "variantShredding-preview",
        "As variantShredding, in its preview form.",
        "Must put split variant values together again.",
    ),
    KnownFeature(
        "adaptiveMetadata-preview",
        "Must keep the table's metadata in the preview's own form.",
        "Must know the preview's own form of metadata.",
        understood=False,
    ),
)  # fmt: skip

FEATURES: dict[str, KnownFeature] = {feature.name: feature for feature in _FEATURES}
LEGACY: dict[str, tuple[int, int]] = {f.name: f.legacy for f in _FEATURES if f.legacy}
NEWEST_READER, NEWEST_WRITER = 3, 7
# Its catalog takes the commits, and the log in the directory may be behind: a path alone says neither what it holds nor who may write.
CATALOG_MANAGED = frozenset({"catalogManaged", "catalogOwned-preview"})


@dataclass(frozen=True, slots=True)
class Demand:
    """A feature of one table, in words. `implied` says that the protocol's version stands for it without naming it."""

    name: str
    known: bool
    implied: bool
    understood: bool
    removable: bool
    readers: str | None
    writers: str | None


def implied_features(protocol: Protocol) -> tuple[str, ...]:
    """Features that a legacy protocol stands for without naming them, sorted; none for protocols that list theirs."""
    if protocol.writer_features is not None or protocol.min_writer_version >= NEWEST_WRITER:
        return ()
    names = [
        name
        for name, (reader, writer) in LEGACY.items()
        if protocol.min_writer_version >= writer and protocol.min_reader_version >= reader
    ]
    return tuple(sorted(names))


def listed_features(protocol: Protocol) -> tuple[str, ...]:
    return tuple(sorted({*(protocol.reader_features or ()), *(protocol.writer_features or ())}))


def features_of(protocol: Protocol) -> tuple[str, ...]:
    """All features in force: listed for readers, listed for writers, or implied. Sorted."""
    return tuple(sorted({*listed_features(protocol), *implied_features(protocol)}))


def demands(protocol: Protocol) -> tuple[Demand, ...]:
    """What each feature of the protocol demands. Of an unknown one only its name is told, and whether readers need it."""
    implied = set(implied_features(protocol))
    return tuple(_demand(name, name in implied, protocol) for name in features_of(protocol))


def _demand(name: str, implied: bool, protocol: Protocol) -> Demand:
    for_readers = name in (protocol.reader_features or ())
    feature = FEATURES.get(name)
    if feature is None:
        unknown = "Readers must know this feature; Levee doesn't." if for_readers else None
        return Demand(
            name, False, implied, not for_readers, False, unknown, "Writers must know this feature; Levee doesn't."
        )
    return Demand(name, True, implied, feature.understood, feature.removable, feature.readers, feature.writers)


@dataclass(frozen=True, slots=True)
class Understanding:
    """What of a table can't be interpreted; empty when all can. `texts` are sentences for a page."""

    needs: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


def understand(protocol: Protocol | None) -> Understanding:
    """Names what this reader has no knowledge of: a newer reader version, features that readers must know."""
    if protocol is None:
        return Understanding()
    needs: list[str] = []
    texts: list[str] = []
    if protocol.min_reader_version > NEWEST_READER:
        needs.append(f"reader version {protocol.min_reader_version}")
        texts.append(f"needs reader version {protocol.min_reader_version}, newer than Levee knows ({NEWEST_READER})")
    for demand in demands(protocol):
        if not demand.understood:
            needs.append(demand.name)
            texts.append(f"needs feature {demand.name}")
    return Understanding(tuple(needs), tuple(texts))


def locks_writers_out(protocol: Protocol | None) -> tuple[str, ...]:
    """What of the protocol Delta 4.4 can't write by, though it reads it: a newer writer version, features that it doesn't know.

    Those that readers must know too are left out: `understand` names them.
    """
    if protocol is None:
        return ()
    version = protocol.min_writer_version
    newer = (f"writer version {version}",) if version > NEWEST_WRITER else ()
    unknown = {name for name in listed_features(protocol) if name not in FEATURES} - {*(protocol.reader_features or ())}
    return newer + tuple(f"the feature {name}" for name in sorted(unknown))
