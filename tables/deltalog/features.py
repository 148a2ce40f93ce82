"""Table features: which ones a protocol asks for, what each demands, and which ones this reader understands."""

from __future__ import annotations

from dataclasses import dataclass

from tables.deltalog.actions import Protocol

LEGACY: dict[str, tuple[int, int]] = {
    "appendOnly": (0, 2),
    "invariants": (0, 2),
    "checkConstraints": (0, 3),
    "changeDataFeed": (0, 4),
    "generatedColumns": (0, 4),
    "columnMapping": (2, 5),
    "identityColumns": (0, 6),
}
"""Feature → the legacy (reader, writer) versions that imply it."""


def implied_features(protocol: Protocol) -> tuple[str, ...]:
    """Features that a legacy protocol stands for without naming them, sorted; none for protocols that list theirs."""
    if protocol.writer_features is not None or protocol.min_writer_version >= 7:
        return ()
    found = [
        name
        for name, (reader, writer) in LEGACY.items()
        if protocol.min_writer_version >= writer and protocol.min_reader_version >= reader
    ]
    return tuple(sorted(found))


def features_of(protocol: Protocol) -> tuple[str, ...]:
    """All features in force: listed for readers, listed for writers, or implied. Sorted."""
    listed = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    return tuple(sorted(listed | set(implied_features(protocol))))


@dataclass(frozen=True, slots=True)
class Understanding:
    """What of a table can't be interpreted; empty when all can. `texts` are sentences for a page."""

    needs: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


_UNDERSTOOD_BY_READERS = frozenset(
    {
        "columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "typeWidening-preview", "v2Checkpoint", "vacuumProtocolCheck",
        "variantType", "variantType-preview", "variantShredding", "variantShredding-preview", "geospatial", "geospatial-dev",
    }
)  # fmt: skip


def understand(protocol: Protocol | None) -> Understanding:
    """Names reader features (or a reader version) that this reader has no knowledge of."""
    if protocol is None:
        return Understanding()
    needs: list[str] = []
    texts: list[str] = []
    if protocol.min_reader_version > 3:
        texts.append(f"needs reader version {protocol.min_reader_version}, newer than this reader knows (3)")
        needs.append(f"reader version {protocol.min_reader_version}")
    for name in protocol.reader_features or ():
        if name not in _UNDERSTOOD_BY_READERS:
            needs.append(name)
            texts.append(f"needs feature {name}")
    return Understanding(tuple(needs), tuple(texts))
