"""DROP FEATURE of a Delta table as a value: how Delta goes about it, what follows, and when a waiting one may go on.

Rules: Delta 4.4.0, AlterTableDropFeatureDeltaCommand and `requiresHistoryProtection` of TableFeature.scala.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Literal

from jobs.domain.consequences import Consequence, said
from jobs.domain.delta.feature_support import EVERYWHERE, Cells, Refused
from jobs.domain.delta.protocols import FEATURES, DeltaProtocol, protocol_with, protocol_without

Way = Literal["plain", "fast", "truncate"]
DROPPED = "DROP FEATURE"  # the operation of the commit that takes it out of the protocol
PROTECTION, MAPPING, VECTORS = "checkpointProtection", "columnMapping", "deletionVectors"
# Readers need them also for old versions: dropped at once, the old part of the log has to be protected; else it has to go first.
PROTECTED = frozenset(name for name, feature in FEATURES.items() if feature.removable and feature.for_readers)
MADE_CHANGES = "DELTA_FEATURE_DROP_WAIT_FOR_RETENTION_PERIOD"  # the request took the first of two steps
WAITING = (
    MADE_CHANGES,
    "DELTA_FEATURE_DROP_HISTORICAL_VERSIONS_EXIST",
    "DELTA_FEATURE_DROP_CHECKPOINT_PROTECTION_WAIT_FOR_RETENTION_PERIOD",
)
# How a feature is taken out of use before it leaves the protocol: what changes in the table.
_BEFORE: Mapping[str, str] = {
    "columnMapping": "Delta rewrites every file with the columns’ shown names.",
    "deletionVectors": "Delta rewrites the files that have deletion vectors, without the rows that these hide.",
    "typeWidening": "Delta rewrites the files that were written with a narrower type.",
    "typeWidening-preview": "Delta rewrites the files that were written with a narrower type.",
    "rowTracking": "Delta takes the row ids away: rows have none afterwards.",
    "domainMetadata": "Delta removes the domains’ configurations from the log.",
    "v2Checkpoint": "Delta writes a classic checkpoint.",
    "inCommitTimestamp": "History uses the files’ times again.",
}
REWRITING = frozenset({"columnMapping", "deletionVectors", "typeWidening", "typeWidening-preview"})


def _refused(name: str) -> Iterator[Refused]:
    """Why this feature can't be dropped, in the order in which Delta looks."""
    feature = FEATURES[name]
    if not feature.removable:
        yield Refused("DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE", "always: Delta drops no such feature", always=True)
        return
    if name == PROTECTION:
        condition = "DELTA_FEATURE_CAN_ONLY_DROP_CHECKPOINT_PROTECTION_WITH_HISTORY_TRUNCATION"
        yield Refused(condition, "without TRUNCATE HISTORY")
    elif name not in PROTECTED:
        yield Refused("DELTA_FEATURE_DROP_HISTORY_TRUNCATION_NOT_ALLOWED", "with TRUNCATE HISTORY")
    if dependents := [
        other.name for other in FEATURES.values() if name in other.requires and other.name not in EVERYWHERE
    ]:
        yield Refused("DELTA_FEATURE_DROP_DEPENDENT_FEATURE", f"while the table has {' or '.join(dependents)}")
    if name in _IN_USE:
        yield _IN_USE[name]


_IN_USE = {
    "checkConstraints": Refused("DELTA_CANNOT_DROP_CHECK_CONSTRAINT_FEATURE", "while the table has CHECK constraints"),
    MAPPING: Refused(
        "DELTA_INVALID_COLUMN_NAMES_WHEN_REMOVING_COLUMN_MAPPING",
        "while a column’s name holds a space or one of `,;{}()=`",
    ),
}
# Of dropping the very feature; one that stays stands in no other’s way, unless it requires it.
REFUSED: Cells = {name: found for name in FEATURES if name not in EVERYWHERE and (found := tuple(_refused(name)))}


@dataclass(frozen=True, slots=True)
class DropFeature:
    """ALTER TABLE … DROP FEATURE of a Delta table, with or without TRUNCATE HISTORY. `table` is the catalog's id, `path` its canonical
    location. Stored, `feature` has Delta's own spelling."""

    kind: ClassVar[str] = "drop_feature"
    schema_version: ClassVar[int] = 1

    table: str
    feature: str
    truncate_history: bool = False
    path: str = ""


def way_of(command: DropFeature) -> Way:
    """How Delta drops it: `plain` (old versions don't matter), `fast` (they are protected), or with history cut after a wait."""
    if command.truncate_history:
        return "truncate"
    return "fast" if command.feature in PROTECTED else "plain"


def protocol_after(protocol: DeltaProtocol, command: DropFeature) -> DeltaProtocol:
    """The protocol once the feature is dropped: after the second step where there are two."""
    way = way_of(command)
    return protocol_without(protocol_with(protocol, [PROTECTION]) if way == "fast" else protocol, command.feature)


def steps_of(command: DropFeature, wait: str, ready: datetime | None = None) -> list[str]:
    """What Delta does, step by step.

    `wait` is the time between the two steps of a cut history, in words; `ready` is when the second one can be taken, once the first one
    is.
    """
    if command.feature == PROTECTION:
        return [
            "Delta looks whether the log still has versions from before the protection began.",
            f"If it has, nothing changes: you wait until {_until(ready) or 'they have left the log'}, and request the same again.",
            f"If not, Delta takes {PROTECTION} out of the protocol.",
        ]
    before = _BEFORE.get(command.feature, "Delta takes the feature out of use.")
    match way_of(command):
        case "plain":
            return [before, f"One commit takes {command.feature} out of the protocol."]
        case "fast":
            return [
                before,
                "Delta protects the log’s older part by checkpoints, with three empty commits.",
                f"One commit takes {command.feature} out of the protocol and adds {PROTECTION}.",
            ]
        case "truncate":
            first = (
                "done. The table no longer uses the feature" if ready else f"{before} The feature stays in the protocol"
            )
            return [
                f"First request: {first}.",
                f"You wait until {_until(ready)}."
                if ready
                else f"You wait {wait}, until no version that used the feature is younger.",
                f"Second request, the same again: Delta cuts the history before that and takes {command.feature} out of the protocol.",
            ]


def _until(ready: datetime | None) -> str:
    return "" if ready is None else f"{ready:%Y-%m-%d %H:%M} UTC"


def irreversible_of(command: DropFeature, wait: str) -> list[str]:
    """Sentences on what nobody can take back. `wait` is the time between the two steps of a cut history, in words."""
    texts = []
    if command.feature == "rowTracking":
        texts.append("The rows’ ids are lost: switched on again, Delta gives new ones.")
    match way_of(command):
        case "truncate":
            texts.append(
                f"The second request removes from the log all versions that are older than {wait} by then: they can’t be read or restored"
                " any more."
            )
        case "fast":
            texts.append(f"The table gets {PROTECTION}: dropping that later takes a cut of the history.")
    return texts


def consequences_of(
    command: DropFeature, next_version: int, *, is_early: bool = False, needed_by: Sequence[str] = ()
) -> list[Consequence]:
    """What follows beside the steps. `next_version` is that of the first commit; `is_early`: the wait for the second step isn't over;
    `needed_by` says who still reads what a cut history takes away."""
    told = [
        said(
            "several_commits",
            f"Delta makes several commits, from version {next_version:,} on at the earliest; the result lists them.",
        )
    ]
    if command.feature in _BEFORE and "rewrites" in _BEFORE[command.feature]:
        told.append(said("files_rewritten", "The old files stay in storage until VACUUM removes them."))
    told.append(
        said("writers", "A writer that commits meanwhile can make Delta refuse the last step: request it again then.")
    )
    if is_early:
        text = "It is too early for the second step: the job would end with the same answer, until when to wait."
        told.append(said("too_early", text))
    return [*told, *(said("needed", text) for text in needed_by)]


def is_done(operations: Sequence[str | None]) -> bool:
    """Whether commits with these operations took the feature out of the protocol."""
    return DROPPED in operations


def operations_in(details: Mapping[str, Any]) -> list[str | None]:
    """The operations of a result's commits."""
    return [commit.get("operation") for commit in details.get("commits", ())]
