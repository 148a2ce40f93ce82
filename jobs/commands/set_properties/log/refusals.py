"""What Delta refuses of properties, in its words and with its conditions, before a job is made; and what Levee refuses beside it."""

from __future__ import annotations

from collections.abc import Mapping

from console.base.text.masking import masked_properties
from jobs.commands.set_properties.rules import CHANGE_FEED, SetProperties
from jobs.domain.delta.protocols import FEATURES_READER, FEATURES_WRITER, feature_of
from jobs.domain.errors import CommandRefused, EngineFailure, Refusal
from jobs.targets.definition import protocol_of
from jobs.targets.metadata import refuse_listed, refuse_metadata, refuse_values
from jobs.targets.subject import Subject
from tables.deltalog.rules.column_lists import is_plain
from tables.deltalog.rules.property_conflicts import conflicts
from tables.deltalog.rules.property_types import (
    CONSTRAINT_PREFIX,
    FEATURE_PREFIX,
    TYPES,
    UNIFORM_PREFIX,
    ValueFault,
    ValueKind,
    check,
)
from tables.deltalog.rules.property_values import (
    LOCKED,
    failing_values,
    locked_values,
    retention_values,
    uncommitted_values,
)
from tables.deltalog.rules.retention import DELETED_FILES
from tables.rules.column_statistics import STATS_COLUMNS, listed_fault

READER, WRITER = "delta.minReaderVersion", "delta.minWriterVersion"
ALONE = "Delta sets properties before it unsets others. Unset it first, in a change of its own."
_QUOTE = "Put a name with other characters than letters, digits and _ in backquotes."
FEED_COLUMNS = ("_change_type", "_commit_version", "_commit_timestamp")
# Delta lets the catalog or another command decide these; by path they would only look as if they had changed something.
_RESERVED = {
    "location": ValueFault(
        "Cannot change the location of a path based table.", "DELTA_CANNOT_SET_LOCATION_ON_PATH_IDENTIFIER", "42613"
    ),
    "provider": ValueFault("'provider' is a reserved table property, and cannot be altered.", "DELTA_CANNOT_CHANGE_PROVIDER", "42939"),
    "comment": ValueFault("The table’s comment isn’t one of its properties.", remedy="Change it with the table’s schema."),
    "clusteringcolumns": ValueFault(
        "The Delta table configuration clusteringColumns cannot be specified by the user",
        "DELTA_CANNOT_MODIFY_TABLE_PROPERTY",
        "42939",
        "Cluster the table by a change of its schema.",
    ),
    "delta.enablechangedatacapture": ValueFault(
        "delta.enableChangeDataCapture is an older name.", remedy="Set delta.enableChangeDataFeed, which comes first."
    ),
    "delta.ignoreprotocoldefaults": ValueFault("Only CREATE TABLE reads delta.ignoreProtocolDefaults.", remedy="Leave it out."),
}  # fmt: skip
_NOT_BY_FEATURE = {
    "clustering": ValueFault(
        "Cannot enable clustering table feature using ALTER TABLE SET TBLPROPERTIES.",
        "DELTA_ALTER_TABLE_SET_CLUSTERING_TABLE_FEATURE_NOT_ALLOWED",
        "42000",
        "Cluster the table by a change of its schema.",
    ),
    "catalogManaged": ValueFault(
        "Delta can’t hand an existing table over to a catalog.", remedy="Create a new table there."
    ),
    "coordinatedCommits-preview": ValueFault(
        "Levee hands no table over to a commit coordinator.", remedy="Leave it out."
    ),
    "adaptiveMetadata-preview": ValueFault(
        "Levee can’t read tables with adaptiveMetadata-preview.", remedy="Leave it out."
    ),
}


def refuse(subject: Subject, command: SetProperties, after: Mapping[str, str]) -> None:
    """Raises CommandRefused (`invalid`, `bad_column_name`, `unreadable_property`) for the first fault.

    `after` are the table's properties after the change.
    """
    _refuse_values(subject, command)
    _refuse(next(conflicts(subject.configuration, after), None))
    refuse_values(locked_values(subject.configuration, after), subject.table.path, LOCKED)
    if DELETED_FILES in command.set:
        refuse_values(retention_values(after), subject.table.path)
    refuse_values(failing_values(after), subject.table.path)
    if command.set and command.unset:  # the first commit still has what the second one takes away
        between = {**subject.configuration} | {name: value for name, value in after.items() if name in command.set}
        refuse_values(uncommitted_values(between), subject.table.path, ALONE)
        refuse_listed(subject.struct, subject.metadata.partition_columns, between, subject.table.path, ALONE)
    refuse_metadata(subject.struct, subject.metadata.partition_columns, after)
    _refuse(_feed_fault(subject, after))


def is_protocol(name: str) -> bool:
    """Whether the name asks for the protocol and is stored there, not among the properties."""
    return name in (READER, WRITER) or name.lower().startswith(FEATURE_PREFIX)


def _refuse(fault: ValueFault | None, place: str | None = None) -> None:
    if fault is not None:
        engine = EngineFailure(fault.condition, fault.sqlstate, fault.text)
        raise CommandRefused(Refusal("invalid", fault.text, place=place, remedy=fault.remedy, engine=engine))


def _refuse_values(subject: Subject, command: SetProperties) -> None:
    for name, value in command.set.items():
        _refuse(_RESERVED.get(name.lower()) or _special(name, value) or _secret(name, value), name)
        if not _is_special(name):
            _refuse(check(name, value), name)
    for name in command.unset:
        _refuse(_unset_fault(subject, name), name)
    _refuse_reader_alone(subject, command)
    if command.set.get(STATS_COLUMNS, "").strip():
        _refuse(_columns_fault(subject, command.set[STATS_COLUMNS]), STATS_COLUMNS)


def _is_special(name: str) -> bool:
    return name.lower().startswith((FEATURE_PREFIX, CONSTRAINT_PREFIX))


def _special(name: str, value: str) -> ValueFault | None:
    """What is wrong with a constraint, which is none of the properties, or with a feature's name or state."""
    if name.lower().startswith(CONSTRAINT_PREFIX):
        text = "Please use ALTER TABLE ADD CONSTRAINT to add CHECK constraints."
        return ValueFault(text, "DELTA_ADD_CONSTRAINTS", "0A000", "Change the table’s schema for that.")
    if not name.lower().startswith(FEATURE_PREFIX):
        return None
    feature = feature_of(name[len(FEATURE_PREFIX) :])
    if value.lower() not in ("supported", "enabled"):
        named = name[len(FEATURE_PREFIX) :].lower()
        text = f'Expecting the status for table feature {named} to be "supported", but got "{value.lower()}".'
        return ValueFault(text, "DELTA_UNSUPPORTED_FEATURE_STATUS", "0AKDE")
    if feature is None:
        text = (
            "Table features configured in the following Spark configs or Delta table properties are not recognized by this version of Delta"
            f" Lake: {name.lower()}."
        )
        return ValueFault(text, "DELTA_UNSUPPORTED_FEATURES_IN_CONFIG", "56038")
    return _NOT_BY_FEATURE.get(feature.name)


def _secret(name: str, value: str) -> ValueFault | None:
    """Delta keeps properties in clear text in its log, and Levee shows requests to everyone who may see the table."""
    # Delta knows the values of its own; those of other formats are anything.
    is_delta_s = name.startswith("delta.") and not name.lower().startswith(UNIFORM_PREFIX)
    if is_delta_s or masked_properties({name: value})[name] == value:
        return None
    text = f"The value of {name} looks like a secret. Everyone who can read the table’s log can read its properties."
    return ValueFault(text, remedy="Keep secrets out of table properties.")


def _unset_fault(subject: Subject, name: str) -> ValueFault | None:
    if is_protocol(name) and name not in subject.configuration:
        return ValueFault(
            f"{name} isn’t stored as a property: a protocol only rises.", remedy="Drop the feature instead."
        )
    if name.lower().startswith(CONSTRAINT_PREFIX):
        return ValueFault(f"{name} is a CHECK constraint.", remedy="Drop it by a change of the table’s schema.")
    if name.lower() in _RESERVED:
        return _RESERVED[name.lower()]
    if _is_kept(name):
        return ValueFault(f"Delta keeps {name} itself.", remedy="Leave it out.")
    if name not in subject.configuration:
        text = f"Attempted to unset non-existent property '{name}' in table delta.`{subject.table.path}`"
        return ValueFault(text, "DELTA_UNSET_NON_EXISTENT_PROPERTY", "42616")
    return None


def _is_kept(name: str) -> bool:
    return name in TYPES and TYPES[name].kind is ValueKind.KEPT


def _refuse_reader_alone(subject: Subject, command: SetProperties) -> None:
    reader, writer = int(command.set.get(READER, 0)), int(command.set.get(WRITER, 0))
    if reader == FEATURES_READER and max(writer, protocol_of(subject).min_writer) < FEATURES_WRITER:
        text = (
            "Unable to upgrade only the reader protocol version to use table features. Writer protocol version must be at least 7 to"
            " proceed."
        )
        _refuse(ValueFault(text, "DELTA_READ_FEATURE_PROTOCOL_REQUIRES_WRITE", "KD004"), READER)


def _columns_fault(subject: Subject, value: str) -> ValueFault | None:
    """Names that can't be read, and what Delta refuses of the others."""
    if not is_plain(value):
        return ValueFault(f"{STATS_COLUMNS} is a list of columns: {value} has names that can’t be read.", remedy=_QUOTE)
    return listed_fault(subject.struct, subject.metadata.partition_columns, value)


def _feed_fault(subject: Subject, after: Mapping[str, str]) -> ValueFault | None:
    """Columns with names that the change feed keeps for itself."""
    is_on = after.get(CHANGE_FEED, "").lower() == "true"
    taken = [name for name in FEED_COLUMNS if name in {column.name for column in subject.struct.columns}]
    if subject.change_feed or not is_on or not taken:
        return None
    text = (
        f"Unable to enable Change Data Capture on the table. The table already contains reserved columns [{','.join(taken)}] that will be"
        " used internally as metadata for the table's Change Data Feed. To enable Change Data Feed on the table rename/drop these columns."
    )
    return ValueFault(text, "DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS", "42711")
