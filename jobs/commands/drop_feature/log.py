"""The preview of a dropped feature, by the log alone: the steps, the protocol afterwards, who can read the table then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from django.utils import timezone

from jobs.commands.drop_feature.rules import (
    MAPPING,
    PROTECTED,
    PROTECTION,
    VECTORS,
    DropFeature,
    consequences_of,
    irreversible_of,
    protocol_after,
    steps_of,
    way_of,
)
from jobs.domain.consequences import in_words
from jobs.domain.delta.column_names import is_invalid
from jobs.domain.delta.protocols import FEATURES, DeltaProtocol, feature_of
from jobs.domain.delta.readers import unseen_by
from jobs.domain.errors import CommandRefused, EngineFailure, Refusal
from jobs.domain.states import State
from jobs.models import Job
from jobs.targets.definition import definition_sha256, protocol_of
from jobs.targets.engines import readers_of
from jobs.targets.metadata import is_mapped, refuse_metadata
from jobs.targets.readers import CommitChange, still_to_read, with_readers
from jobs.targets.subject import Subject
from tables.deltalog.rules.property_types import CONSTRAINT_PREFIX, TYPES, features_asked
from tables.deltalog.rules.retention import parse_interval
from tables.deltalog.rules.schema import walk

RETENTION = "delta.dropFeatureTruncateHistory.retentionDuration"
DAY = "24 hours"


def written_for(subject: Subject, command: DropFeature) -> DropFeature:
    """The command as it is stored: the feature in Delta's spelling, the table's path."""
    known = feature_of(command.feature.strip())
    return replace(command, feature=known.name if known else command.feature.strip(), path=subject.table.path)


def preview_of(subject: Subject, command: DropFeature) -> dict[str, Any]:
    """The preview that people approve: the log's, with the streams that the commits may fail or outdate. Raises as `from_log`."""
    # Other files with the same rows pass streams by; without column mapping they meet another schema.
    change = CommitChange(removes=False, adds=False, reshapes=command.feature == MAPPING)
    return with_readers(from_log(subject, command), subject, change)


def from_log(subject: Subject, command: DropFeature) -> dict[str, Any]:
    """What the drop would do at the subject's version. Raises CommandRefused (`invalid`) with Delta's own condition."""
    protocol = protocol_of(subject)
    _refuse(subject, command)
    partitions, place = subject.metadata.partition_columns, subject.table.path
    refuse_metadata(subject.struct, partitions, subject.configuration, place, features=protocol.features)
    later = protocol_after(protocol, command)
    ready = ready_at(subject, command)
    needed_by = still_to_read(subject, subject.version) if command.truncate_history else []
    return {
        "class": "irreversible",
        "way": way_of(command),
        "before": {"features": sorted(protocol.features)},
        "after": {"features": sorted(later.features)},
        "protocol_before": protocol.as_json(),
        "protocol_after": later.as_json(),
        "steps": steps_of(command, wait_of(subject), ready),
        "ask_again_after": None if ready is None else ready.isoformat(),
        "irreversible": irreversible_of(command, wait_of(subject)),
        "readers": readers_of(later),
        "violating_rows": None,
        "files_total": subject.snapshot.num_files,
        "table_id": subject.metadata.id,
        "definition_sha256": definition_sha256(subject),
        "measured_at_version": subject.version,
        "speed": "log",
        "consequences": [
            *consequences_of(
                command,
                subject.version + 1,
                is_early=ready is not None and timezone.now() < ready,
                needed_by=needed_by,
            ),
            *unseen_by(subject.other_formats),
        ],
    }


def files_rewritten(subject: Subject, command: DropFeature) -> pa.Table | None:
    """The live files that Delta surely writes again before it can do without the feature: all, or those with deletion vectors."""
    if command.feature == MAPPING:
        return subject.snapshot.files() if is_mapped(subject.configuration) else None
    if command.feature != VECTORS:
        return None
    files = subject.snapshot.files()
    return files.filter(pc.is_valid(files.column("deletion_vector")))


def wait_of(subject: Subject) -> str:
    """The time between the two steps of a cut history, in words."""
    length = parse_interval(subject.configuration.get(RETENTION, DAY))
    return in_words(length) if length is not None else DAY


def ready_at(subject: Subject, command: DropFeature) -> datetime | None:
    """When Delta can take the second of two steps, as the last job that took the first one found it; None if none did, or if the
    feature's property asks for it again."""
    if not command.truncate_history or command.feature in features_asked(subject.configuration):
        return None
    # Another table may be at this path by now: its first step is still to be taken.
    asked = {
        "parameters__feature": command.feature, "parameters__truncate_history": True, "preview__table_id": subject.metadata.id,
    }  # fmt: skip
    jobs = Job.objects.filter(table_id=subject.table.pk, command=command.kind, state=State.SUCCEEDED, **asked)
    last = jobs.order_by("-finished_at").first()
    found = ((last.result or {}).get("details") or {}).get("ask_again_after") if last else None
    return datetime.fromisoformat(found) if found else None


def droppable(subject: Subject) -> list[str]:
    """The table's features that Delta can drop now, sorted."""
    names = protocol_of(subject).features
    return sorted(name for name in names if not _fault(subject, DropFeature("", name, name == PROTECTION)))


def kept(subject: Subject) -> list[tuple[str, str]]:
    """The features that Delta can't drop now, each with the reason."""
    names = sorted(protocol_of(subject).features)
    pairs = ((name, _fault(subject, DropFeature("", name, name == PROTECTION))) for name in names)
    return [(name, fault.message) for name, fault in pairs if fault is not None]


def _refuse(subject: Subject, command: DropFeature) -> None:
    fault = _fault(subject, command)
    if fault is not None:
        raise CommandRefused(
            Refusal("invalid", fault.message, remedy=_REMEDIES.get(fault.condition or ""), engine=fault)
        )


_REMEDIES = {
    "DELTA_FEATURE_CAN_ONLY_DROP_CHECKPOINT_PROTECTION_WITH_HISTORY_TRUNCATION": "Request it with TRUNCATE HISTORY.",
    "DELTA_FEATURE_DROP_HISTORY_TRUNCATION_NOT_ALLOWED": "Request it without TRUNCATE HISTORY.",
    "DELTA_CANNOT_DROP_CHECK_CONSTRAINT_FEATURE": "Drop them by a change of the table’s schema.",
    "DELTA_INVALID_COLUMN_NAMES_WHEN_REMOVING_COLUMN_MAPPING": "Rename them by a change of the table’s schema.",
}


def _fault(subject: Subject, command: DropFeature) -> EngineFailure | None:
    """What Delta refuses, in the order in which it looks."""
    return next(_faults(protocol_of(subject), command), None) or next(_uses(subject, command.feature), None)


def _faults(protocol: DeltaProtocol, command: DropFeature) -> Iterator[EngineFailure]:
    name = command.feature
    feature = FEATURES.get(name)
    if name not in protocol.features and name in TYPES:
        text = f"Cannot drop `{name}` from this table because this is a delta table property and not a table feature."
        yield EngineFailure("DELTA_FEATURE_DROP_FEATURE_IS_DELTA_PROPERTY", "42000", text)
    if feature is None:
        text = f"Cannot drop {name} because it is not supported by this Delta version.\nConsider using Delta with a higher version."
        yield EngineFailure("DELTA_FEATURE_DROP_UNSUPPORTED_CLIENT_FEATURE", "0AKDC", text)
        return
    if name not in protocol.features:
        text = f"Cannot drop {name} from this table because it is not currently present in the table's protocol."
        yield EngineFailure("DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT", "55000", text)
    if not feature.removable:
        text = f"Cannot drop {name} because dropping this feature is not supported."
        yield EngineFailure("DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE", "0AKDC", text)
    if name == PROTECTION and not command.truncate_history:
        text = (
            "Could not drop the Checkpoint Protection feature. This feature can only be dropped by truncating history."
        )
        condition = "DELTA_FEATURE_CAN_ONLY_DROP_CHECKPOINT_PROTECTION_WITH_HISTORY_TRUNCATION"
        yield EngineFailure(condition, "55000", text)
    if command.truncate_history and name not in PROTECTED and name != PROTECTION:
        text = "The particular feature does not require history truncation."
        yield EngineFailure("DELTA_FEATURE_DROP_HISTORY_TRUNCATION_NOT_ALLOWED", "42000", text)
    if dependents := sorted(other for other in protocol.features if name in _requires(other)):
        text = (
            f"Cannot drop table feature `{name}` because some other features ({', '.join(dependents)}) in this table depends on"
            f" `{name}`."
        )
        yield EngineFailure("DELTA_FEATURE_DROP_DEPENDENT_FEATURE", "55000", text)


def _uses(subject: Subject, feature: str) -> Iterator[EngineFailure]:
    """Uses of the feature that Delta doesn't take away by itself."""
    constraints = _constraints(subject.configuration)
    if feature == "checkConstraints" and constraints:
        text = f"Cannot drop the CHECK constraints table feature.\nThe following constraints must be dropped first: {constraints}."
        yield EngineFailure("DELTA_CANNOT_DROP_CHECK_CONSTRAINT_FEATURE", "0AKDE", text)
    names = ", ".join(".".join(path) for path, column in walk(subject.struct) if is_invalid(column.name))
    if feature == MAPPING and names:
        text = (
            "Found invalid character(s) among ' ,;{}()\\n\\t=' in the column names of your schema.\nInvalid column names: "
            f"{names}.\nColumn mapping cannot be removed when there are invalid characters in the column names."
        )
        yield EngineFailure("DELTA_INVALID_COLUMN_NAMES_WHEN_REMOVING_COLUMN_MAPPING", "42K05", text)


def _constraints(configuration: Mapping[str, str]) -> str:
    """The names of the table's CHECK constraints, as Delta lists them."""
    names = (name for name in configuration if name.lower().startswith(CONSTRAINT_PREFIX))
    return ", ".join(f"`{name[len(CONSTRAINT_PREFIX) :]}`" for name in sorted(names))


def _requires(name: str) -> tuple[str, ...]:
    feature = FEATURES.get(name)
    return feature.requires if feature else ()
