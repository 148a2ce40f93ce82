"""The preview of a change of properties, by the log and the catalog alone: before, after, the protocol, what can't be taken back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from console.base.text.masking import masked_properties
from jobs.commands.set_properties.log.losses import losses_of, shorter_times
from jobs.commands.set_properties.log.refusals import READER, WRITER, is_protocol, refuse
from jobs.commands.set_properties.rules import SetProperties, consequences_of, final_of, is_mapped_anew, opposite_of
from jobs.domain.consequences import Consequence
from jobs.domain.delta.protocols import (
    DeltaProtocol,
    added,
    feature_of,
    irreversible,
    protocol_at_least,
    protocol_with,
    rises,
    versions,
)
from jobs.domain.delta.readers import unseen_by
from jobs.targets.definition import definition_sha256, protocol_of
from jobs.targets.engines import readers_of, stop_reading, stop_writing
from jobs.targets.metadata import refuse_schema
from jobs.targets.readers import CommitChange, with_readers
from jobs.targets.subject import Subject
from tables.deltalog.rules.other_formats import other_formats
from tables.deltalog.rules.property_types import FEATURE_PREFIX, canonical, features_asked
from tables.deltalog.rules.schema_limits import Use
from tables.rules.property_faults import property_faults

NOTHING = "Every property already has the value that you ask for, so there is nothing to commit."
# What a property asks for, and the other form of it that does as well where the table has it.
_STANDS_FOR = {"typeWidening": "typeWidening-preview", "variantShredding-preview": "variantShredding"}


def written_for(subject: Subject, command: SetProperties) -> SetProperties:
    """The command as it is stored: names in Delta's spelling, the table's path."""
    given = {canonical(name): value for name, value in command.set.items()}
    return replace(command, set=given, unset=[canonical(name) for name in command.unset], path=subject.table.path)


def preview_of(subject: Subject, command: SetProperties) -> dict[str, Any]:
    """The preview that people approve: the log's, with the streams that the commit may fail or outdate. Raises as `from_log`."""
    preview = from_log(subject, command)
    reshapes = is_mapped_anew(preview["before"], preview["after"])
    return with_readers(preview, subject, CommitChange(removes=False, adds=False, reshapes=reshapes))


def from_log(subject: Subject, command: SetProperties) -> dict[str, Any]:
    """What the change would do at the subject's version.

    Raises CommandRefused (`invalid`), with Delta's own condition for what Delta would refuse.
    """
    before = dict(subject.configuration)
    after = after_change(before, command)
    refuse(subject, command, after)
    protocol = protocol_of(subject)
    later = _protocol_after(protocol, command, after)
    refuse_schema(subject.struct, Use.METADATA, subject.table.path, features=later.features)
    touched = [*(name for name in command.set if not is_protocol(name)), *command.unset]
    old, new = ({name: values.get(name) for name in touched} for values in (before, after))
    shown_old, shown_new = masked_properties(old), masked_properties(new)
    had = {name: before[name] for name in touched if name in before}
    takes_back = shown_old == old and not property_faults(had, subject.struct, subject.metadata.partition_columns).names
    losses = list(losses_of(subject, before, after))
    lasting = [*final_of(old, new), *(loss.text for loss in losses)]
    return {
        "class": "irreversible" if rises(protocol, later) or lasting else "ordinary",
        "before": shown_old,
        "after": shown_new,
        "changes": [{"name": name, "before": shown_old[name], "after": shown_new[name]} for name in touched],
        "opposite": opposite_of(old, new) if takes_back else "",
        "protocol_before": protocol.as_json(),
        "protocol_after": later.as_json(),
        "irreversible": [*irreversible(protocol, later), *lasting],
        "readers": readers_of(later),
        "violating_rows": None,
        "nothing_to_do": old == new and protocol == later,
        "table_id": subject.metadata.id,
        "definition_sha256": definition_sha256(subject),
        "measured_at_version": subject.version,
        "speed": "log",
        "consequences": [
            *consequences_of(
                old, new, next_version=subject.version + 1, losses=losses, num_files=subject.snapshot.num_files
            ),
            *_protocol_consequences(protocol, later),
            *shorter_times(subject, before, after),
            *unseen_by(other_formats(before) or other_formats(after)),
        ],
    }


def after_change(before: Mapping[str, str], command: SetProperties) -> dict[str, str]:
    """The table's properties after the change; what asks for the protocol isn't stored among them."""
    after = {**before, **{name: value for name, value in command.set.items() if not is_protocol(name)}}
    return {name: value for name, value in after.items() if name not in command.unset}


def _protocol_after(protocol: DeltaProtocol, command: SetProperties, after: Mapping[str, str]) -> DeltaProtocol:
    """As Delta merges it: the versions and features that are asked for, and those that the properties need."""
    given = [feature_of(name[len(FEATURE_PREFIX) :]) for name in command.set if name.lower().startswith(FEATURE_PREFIX)]
    named = {feature.name for feature in given if feature is not None}
    there = protocol.features | named
    features = named | {name for name in features_asked(after) if _STANDS_FOR.get(name) not in there}
    raised = protocol_at_least(protocol, int(command.set.get(READER, 0)), int(command.set.get(WRITER, 0)))
    return protocol_with(raised, features)


def _protocol_consequences(before: DeltaProtocol, after: DeltaProtocol) -> Iterator[Consequence]:
    if not rises(before, after):
        return
    new = added(before, after)
    features = f", with the new feature{'s' if len(new) > 1 else ''} {', '.join(new)}" if new else ""
    yield {"code": "protocol", "text": f"The table’s protocol becomes {versions(after)}{features}."}
    if readers := stop_reading(before, after):
        yield {"code": "readers", "text": f"These can’t read the table afterwards: {', '.join(readers)}."}
    if writers := [name for name in stop_writing(before, after) if name not in readers]:
        yield {"code": "writers", "text": f"These can’t write to it afterwards: {', '.join(writers)}."}
