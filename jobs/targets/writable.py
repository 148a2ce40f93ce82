"""Whether Delta can write to a table at all: asked before anybody reviews a change of it."""

from __future__ import annotations

import uuid

from jobs.domain.errors import CommandRefused, Refusal
from jobs.domain.protocols import unwritable
from jobs.targets.definition import protocol_of
from jobs.targets.subject import Subject, subject_of

REMEDY = "Change it with an engine that supports all of its protocol, or drop the feature there first."


def subject_to_change(table_id: uuid.UUID) -> Subject:
    """The table as its log has it now, for a change of it; syncs the catalog.

    Raises CommandRefused as `subject_of` does, and `unsupported_protocol`, with Delta's condition, if Delta 4.4 can't write to it.
    """
    subject = subject_of(table_id)
    refuse_unwritable(subject)
    return subject


def refuse_unwritable(subject: Subject) -> None:
    """Raises CommandRefused `unsupported_protocol` for a protocol that Delta 4.4 can't write."""
    engine = unwritable(protocol_of(subject))
    if engine is not None:
        text = f"{engine.message} Levee can read the table but not change it."
        raise CommandRefused(
            Refusal("unsupported_protocol", text, place=subject.table.path, remedy=REMEDY, engine=engine)
        )
