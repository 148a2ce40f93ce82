"""Whether Delta can write to a table at all: asked before anybody reviews a change of it."""

from __future__ import annotations

import uuid

from jobs.domain.delta.protocols import unwritable
from jobs.domain.errors import CommandRefused, EngineFailure, Refusal
from jobs.targets.definition import protocol_of
from jobs.targets.metadata import failure_of_schema, refuse_values
from jobs.targets.subject import Subject, subject_of
from tables.deltalog.checkpoints.newest import LACKS
from tables.deltalog.read.filenames import commit_version
from tables.deltalog.read.parsing import MISMATCH
from tables.deltalog.read.problems import LogProblem
from tables.deltalog.replay.obstacles import obstacles
from tables.deltalog.rules.active_features import UNLISTED
from tables.deltalog.rules.property_values import UNREAD, failing_values, stopping_value
from tables.rules.health import CHANGE_ELSEWHERE, advice_on
from tables.storage.store import StorageError


def subject_to_change(table_id: uuid.UUID) -> Subject:
    """The table as its log has it now, for a change of it; syncs the catalog.

    Raises CommandRefused as `subject_to_redefine` does, and with Delta's condition `unreadable_property` for a value by which changes fail.
    """
    subject = subject_to_redefine(table_id)
    refuse_values(failing_values(subject.configuration), subject.table.path)
    return subject


def subject_to_redefine(table_id: uuid.UUID) -> Subject:
    """The same for a change of properties and for a restore, which may mend such a value.

    Raises CommandRefused as `subject_of` does, and with Delta's condition `unsupported_protocol` if Delta 4.4 can't write to it, and
    `stops_spark` if it can't open it.
    """
    subject = subject_of(table_id)
    refuse_unwritable(subject)
    refuse_unopenable(subject)
    return subject


def subject_to_read(table_id: uuid.UUID) -> Subject:
    """The same for a command that only reads it by Spark. Raises CommandRefused as `subject_of` does, and `stops_spark`."""
    subject = subject_of(table_id)
    refuse_unopenable(subject)
    return subject


def refuse_unopenable(subject: Subject) -> None:
    """Raises CommandRefused `stops_spark` for a file of the log that Spark can't do without, as it lies there now; `unreadable`."""
    table = subject.table
    try:
        found = obstacles(table.path, subject.snapshot, table.checkpoint_version)
    except (StorageError, OSError) as error:
        raise CommandRefused(Refusal("unreadable", f"The log can’t be read: {error}")) from None
    if found:
        first = found[0]
        what = f"{first.file}: {first.reason}" if first.file else first.reason
        text = f"Spark with Delta 4.4 can’t open this table: {what}."
        remedy, engine = advice_on(first.file, first.reason), _failure_at(first, subject)
        raise CommandRefused(Refusal("stops_spark", text, place=table.path, remedy=remedy, engine=engine))


def _failure_at(problem: LogProblem, subject: Subject) -> EngineFailure:
    """How Delta 4.4 fails there: over a property's value, features that the protocol lacks, a protocol that can't be, a commit that can't
    be parsed, a state that the log doesn't give, or a file that can't be read."""
    protocol = subject.snapshot.protocol
    value = None if protocol is None else stopping_value(protocol, subject.configuration)
    if value is not None and problem.reason.startswith(UNREAD):
        return EngineFailure(value.fault.condition, value.fault.sqlstate, value.fault.text)
    if problem.reason.startswith(UNLISTED):
        return EngineFailure("DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH", "KD004", problem.reason)
    if failure := failure_of_schema(problem.reason):
        return failure
    if problem.reason.startswith(MISMATCH):
        return EngineFailure("EXPRESSION_DECODING_FAILED", "42846", f"{problem.file}: {problem.reason}")
    if commit_version(problem.file) is not None:
        return EngineFailure("CANNOT_PARSE_JSON_FIELD", "2203G", f"{problem.file}: {problem.reason}")
    if problem.file.endswith(".crc") or problem.reason == LACKS:
        return EngineFailure("DELTA_STATE_RECOVER_ERROR", "XXKDS", f"{problem.file}: {problem.reason}")
    return EngineFailure("FAILED_READ_FILE", "KD001", f"{problem.file}: {problem.reason}")


def refuse_unwritable(subject: Subject) -> None:
    """Raises CommandRefused `unsupported_protocol` for a protocol that Delta 4.4 can't write."""
    engine = unwritable(protocol_of(subject))
    if engine is not None:
        text = f"{engine.message} Levee can read the table but not change it."
        raise CommandRefused(
            Refusal("unsupported_protocol", text, place=subject.table.path, remedy=CHANGE_ELSEWHERE, engine=engine)
        )
