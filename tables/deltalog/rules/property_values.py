"""Values of table properties that Delta can't read, as other writers leave them in a log, and what fails by them.

Delta checks a value where a statement sets it. Afterwards it reads it by its type's parser alone: as it opens the table, or in a change.
Source: Delta 4.4.0, `DeltaConfig.scala` (`fromString`); what fails was tried on Spark, property by property.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tables.deltalog.read.actions import Protocol
from tables.deltalog.rules.column_lists import listed_columns
from tables.deltalog.rules.property_conflicts import MODE
from tables.deltalog.rules.property_types import TYPES, ValueFault, ValueKind, check, is_on
from tables.deltalog.rules.retention import DELETED_FILES, LOG, TRANSACTIONS, read_interval

UNREAD = "Delta can’t read the value of "
MEND = "Set a value that Delta takes, or unset the property: that is a change of the table’s properties."
LOCKED = "Restore a version from before it, or set another value with the engine that wrote it."
POLICY, TIMES = "delta.checkpointPolicy", "delta.enableInCommitTimestamps"
_PARQUET = "delta.parquet.format.version"
_SEMANTIC = re.compile(r"\d+\.\d+\.\d+[^-+]*(-[^+]*)?(\+.*)?")
_INTERVAL = "delta.checkpointInterval"  # by which Delta divides
_RANDOM, _PREFIX = "delta.randomizeFilePrefixes", "delta.randomPrefixLength"  # the second is read with the first alone
_MOST_NAMED = 5  # values in one sentence
_LONGEST = 60  # characters of a value that a sentence holds
_WHOLE = re.compile(r"[+-]?\d{1,1000}")
_LENGTHS = frozenset({DELETED_FILES, TRANSACTIONS})  # asked for as Delta opens a table; months have none
_CHOICES = {
    MODE: ("none", "name", "id"),
    "delta.isolationLevel": ("serializable", "writeserializable", "snapshotisolation"),
}  # in any case
# Where a protocol lists features, Delta compares them with those that the properties ask for whenever it opens a version.
_WITH_FEATURES = frozenset(
    name for name, known in TYPES.items() if known.feature is not None and known.kind is not ValueKind.KEPT
)
_ON_OPENING = _LENGTHS | {MODE, "delta.enableRowTracking"}
_VERSIONS = frozenset({"delta.minReaderVersion", "delta.minWriterVersion"})  # no writer should keep these as properties
_IN_METADATA = _WITH_FEATURES | _VERSIONS | {"delta.compatibility.symlinkFormatManifest.enabled"}
_ON_CHANGES = _IN_METADATA | {
    "delta.autoOptimize.optimizeWrite",
    _INTERVAL,
    "delta.checkpoint.writeStatsAsJson",
    "delta.dataSkippingStatsColumns",
    "delta.dataSkippingNumIndexedCols",
    "delta.dataSkippingStringPrefixLength",
    "delta.isolationLevel",
    _RANDOM,
    "delta.writePartitionColumnsToParquet",
    _PARQUET,
}
_ON_CHECKPOINTS = frozenset({"delta.checkpoint.writeStatsAsStruct"})
_LOCKED = frozenset(f"delta.enableIcebergCompatV{number}" for number in (1, 2, 3))


@dataclass(frozen=True, slots=True)
class UnreadValue:
    """A property whose value Delta can't read, and how it fails."""

    name: str
    value: str
    fault: ValueFault

    def __str__(self) -> str:
        """`delta.appendOnly: yes`, with the value as `shown`."""
        return f"{self.name}: {shown(self.value)}"


def shown(value: str) -> str:
    """A value as a sentence can hold it: cut where it is long, without signs that aren't printed, and none that may hold a credential."""
    if "://" in value or "@" in value:
        return f"a text of {len(value):,} characters"
    plain = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in value[:_LONGEST])
    return plain if len(value) <= _LONGEST else f"{plain[:-1]}…"


def named(found: Sequence[UnreadValue]) -> str:
    """The values as a sentence names them, the first few of many."""
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    return f"{', '.join(map(str, found[:_MOST_NAMED]))}{more}"


def stopping_value(protocol: Protocol, configuration: Mapping[str, str]) -> UnreadValue | None:
    """The first value, by name, for which Delta opens no version of this protocol and these properties; None if it opens them."""
    names = _ON_OPENING if protocol.writer_features is None else _ON_OPENING | _WITH_FEATURES
    return next(iter(_unread(names, configuration)), None)


def failing_values(configuration: Mapping[str, str]) -> list[UnreadValue]:
    """The values, by name, for which Delta fails in changes of a table that it opens; of some, after the commit."""
    is_random = is_on(_RANDOM, configuration.get(_RANDOM))
    return _unread(_ON_CHANGES | {_PREFIX} if is_random else _ON_CHANGES, configuration)


def quiet_values(configuration: Mapping[str, str]) -> list[UnreadValue]:
    """The values, by name, for which Delta writes no checkpoint any more: it only notes a warning, and the change has succeeded."""
    return _unread(_ON_CHECKPOINTS, configuration)


def locked_values(before: Mapping[str, str], after: Mapping[str, str]) -> list[UnreadValue]:
    """Those for which a change of properties fails too, though it would mend them: Delta reads the ones before it."""
    names = _LOCKED | {TIMES} if is_on(TIMES, after.get(TIMES)) else _LOCKED
    return _unread(names, before)


def retention_values(configuration: Mapping[str, str]) -> list[UnreadValue]:
    """A retention of the log to which Delta can't compare another one of removed files."""
    found = configuration.get(LOG)
    read = None if found is None else read_interval(found)
    if found is None or (read is not None and not read.months):
        return []
    return [UnreadValue(LOG, found, _fault(LOG, ValueKind.INTERVAL, found))]


def remedy(found: Sequence[UnreadValue]) -> str:
    """How to mend these values."""
    return LOCKED if any(unread.name in _LOCKED for unread in found) else MEND


def uncommitted_values(configuration: Mapping[str, str]) -> list[UnreadValue]:
    """Those for which Delta makes no commit that carries such properties, even if the table had others before."""
    return _unread(_IN_METADATA, configuration)


def _unread(names: Collection[str], configuration: Mapping[str, str]) -> list[UnreadValue]:
    given = [(name, configuration[name]) for name in sorted(configuration) if name in names]
    return [UnreadValue(name, value, fault) for name, value in given if (fault := unreadable(name, value)) is not None]


def unreadable(name: str, value: str) -> ValueFault | None:
    """How Delta fails to read the value of one of its properties; None if it reads it, or reads no such property."""
    known = TYPES.get(name)
    return None if known is None or _is_read(name, known.kind, value) else _fault(name, known.kind, value)


def _fault(name: str, kind: ValueKind, value: str) -> ValueFault:
    text = shown(value)
    if kind is ValueKind.INTERVAL and read_interval(value) is not None:
        return ValueFault(f"{name} has months or years, which have no fixed length.", "INTERNAL_ERROR", "XX000")
    in_words = kind in (ValueKind.INTERVAL, ValueKind.CHOICE, ValueKind.VERSION) and name not in _VERSIONS
    if in_words and (fault := check(name, text)) is not None:
        return fault
    if kind is ValueKind.COLUMNS:
        return ValueFault("None.get")
    is_zero = name == _INTERVAL and _WHOLE.fullmatch(value) is not None and int(value) == 0
    return ValueFault("/ by zero" if is_zero else f'For input string: "{text}"')


def _is_read(name: str, kind: ValueKind, value: str) -> bool:
    if kind is ValueKind.BOOLEAN:
        return value.lower() in ("true", "false")
    if kind is ValueKind.INTEGER or name in _VERSIONS:
        number = int(value) if _WHOLE.fullmatch(value) else None
        if number is None or not -(1 << 31) <= number < 1 << 31:
            return False
        return number > 0 if name == _PREFIX else number != 0 or name != _INTERVAL
    if kind is ValueKind.INTERVAL:
        read = read_interval(value)
        return read is not None and not (read.months and name in _LENGTHS)
    if name == _PARQUET:
        return _SEMANTIC.fullmatch(value) is not None
    if kind is ValueKind.COLUMNS:
        return listed_columns(value) is not None
    if name in _CHOICES:
        return value.lower() in _CHOICES[name]
    return name != POLICY or value in TYPES[POLICY].choices
