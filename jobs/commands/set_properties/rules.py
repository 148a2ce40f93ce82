"""A change of a table's properties as a value, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import urlencode

from console.base.text.counted import counted
from jobs.domain.consequences import Consequence, said
from jobs.domain.delta.feature_support import Cells, Refused

MOST_PROPERTIES = 100
LONGEST_NAME = 255
LONGEST_VALUE = 4000
SET, UNSET = "SET TBLPROPERTIES", "UNSET TBLPROPERTIES"  # the operations of its commits
ROW_TRACKING = "delta.enableRowTracking"
CHANGE_FEED = "delta.enableChangeDataFeed"
VECTORS = "delta.enableDeletionVectors"
MAPPING = "delta.columnMapping.mode"
Values = Mapping[str, str | None]


_ICEBERG = "DELTA_ICEBERG_COMPAT_VIOLATION"
_UNMAPPED = Refused(None, "for `delta.columnMapping.mode` none, which only dropping the feature columnMapping does")
_NO_VECTORS = Refused(f"{_ICEBERG}.DELETION_VECTORS_SHOULD_BE_DISABLED", "for `delta.enableDeletionVectors` true")
_ONE_VERSION = Refused(
    f"{_ICEBERG}.VERSION_MUTUAL_EXCLUSIVE", "for another of the `delta.enableIcebergCompatV…` beside it"
)
REFUSED: Cells = {
    "columnMapping": (
        _UNMAPPED,
        Refused(
            "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE",
            "for a change of `delta.columnMapping.mode` between name and id",
        ),
    ),
    "icebergCompatV1": (_NO_VECTORS, _ONE_VERSION),
    "icebergCompatV2": (_NO_VECTORS, _ONE_VERSION),
    "icebergCompatV3": (_ONE_VERSION,),
    "deletionVectors": (
        Refused(
            f"{_ICEBERG}.DELETION_VECTORS_SHOULD_BE_DISABLED",
            "for `delta.enableIcebergCompatV1` or V2 true while `delta.enableDeletionVectors` is",
        ),
    ),
    "variantType": (
        Refused(
            f"{_ICEBERG}.UNSUPPORTED_DATA_TYPE", "for `delta.enableIcebergCompatV2` true while a column has the type"
        ),
    ),
    **{
        name: (
            Refused(
                f"{_ICEBERG}.UNSUPPORTED_TYPE_WIDENING",
                "for one of the `delta.enableIcebergCompatV…` true while a column was widened as Iceberg can’t",
            ),
        )
        for name in ("typeWidening", "typeWidening-preview")
    },
    "rowTracking": (
        Refused(None, "for `delta.enableIcebergCompatV3` true while `delta.enableRowTracking` is"),
        Refused(
            "DELTA_ROW_TRACKING_ILLEGAL_PROPERTY_COMBINATION",
            "for `delta.rowTrackingSuspended` true while `delta.enableRowTracking` is",
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class SetProperties:
    """SET and UNSET TBLPROPERTIES of a Delta table: `set` in one commit, `unset` in the next. `table` is the catalog's id and `path` its
    canonical location. Stored, names have Delta's own spelling."""

    kind: ClassVar[str] = "set_properties"
    schema_version: ClassVar[int] = 1

    table: str
    set: Mapping[str, str] = field(default_factory=dict)
    unset: Sequence[str] = ()
    path: str = ""


def faults_of(command: SetProperties) -> dict[str, str]:
    """What is wrong with the request whatever the table is, by field."""
    names = [*command.set, *command.unset]
    if not names:
        return {"set": "Change at least one property."}
    if len(names) > MOST_PROPERTIES:
        return {"set": f"At most {MOST_PROPERTIES} properties can be changed at once."}
    fields = (("set", command.set), ("unset", command.unset))
    faults = {name: next(filter(None, map(_name_fault, given)), "") for name, given in fields}
    lower = [name.lower() for name in names]
    twice = next((name for name in names if lower.count(name.lower()) > 1), None)
    if twice is not None:
        faults["set"] = f"{twice} is given twice."
    long = next(
        (name for name, value in command.set.items() if len(value) > LONGEST_VALUE or not value.isprintable()), None
    )
    if long is not None:
        faults["set"] = f"The value of {long} is one line of at most {LONGEST_VALUE:,} characters."
    return {name: text for name, text in faults.items() if text}


def _name_fault(name: str) -> str:
    if not name.strip() or name != name.strip() or not name.isprintable():
        return "A property’s name is empty or has blanks around it."
    return f"A property’s name has at most {LONGEST_NAME} characters." if len(name) > LONGEST_NAME else ""


@dataclass(frozen=True, slots=True)
class Loss:
    """History that a change gives up: what stops at `last_version`, in a sentence, and who still needs it."""

    text: str
    needed_by: Sequence[str] = ()


def consequences_of(
    before: Values, after: Values, *, next_version: int, losses: Sequence[Loss], num_files: int | None
) -> list[Consequence]:
    """What follows from the changed properties, beside the protocol. `next_version` is that of its first commit."""
    consequences = [*_features(before, after, next_version, num_files)]
    for loss in losses:
        consequences.append(said("history", loss.text))
        consequences.extend(said("needed", text) for text in loss.needed_by)
    consequences.append(said("rows_unchanged", "No row and no file of the table changes."))
    if is_mapped_anew(before, after):
        consequences.append(
            said(
                "streams", "Streams that read the table stop at the commit, which changes its schema: start them again."
            )
        )
    return consequences


def _features(before: Values, after: Values, version: int, num_files: int | None) -> list[Consequence]:
    told = []
    if _turned(CHANGE_FEED, before, after) is True:
        told.append(
            said(
                "change_feed_begins",
                f"The change feed begins with this change’s commit, version {version:,} at the earliest: earlier changes can’t be read from"
                " it.",
            )
        )
    if _turned(CHANGE_FEED, before, after) is False:
        text = f"The change feed ends with this change’s commit, version {version:,} at the earliest: its readers, streams too, fail there."
        told.append(said("change_feed_ends", text))
    if _turned(ROW_TRACKING, before, after) is True:
        files = "every file" if num_files is None else counted(num_files, "file")
        text = f"Delta first commits the features and gives ids to the rows of {files} (ROW TRACKING BACKFILL), then sets the property."
        told.append(said("backfill", text))
    if _turned(VECTORS, before, after) is False:
        text = "New deletes rewrite files again. Deletion vectors that are there stay until a reorg purges them."
        told.append(said("vectors_stay", text))
    return told


def final_of(before: Values, after: Values) -> list[str]:
    """Sentences on what nobody can take back by the opposite change, beside the protocol and lost history."""
    texts = []
    if is_mapped_anew(before, after):
        texts.append(
            "Column mapping stays: only dropping the feature columnMapping, which rewrites every file, ends it."
        )
    if _turned(CHANGE_FEED, before, after) is False:
        texts.append(
            "What changes while the change feed is off is missing from it for good, and no read of the feed may span that gap."
        )
    if _turned(ROW_TRACKING, before, after) is False:
        texts.append("Rows that are rewritten while row tracking is off lose their ids.")
    return texts


def is_mapped_anew(before: Values, after: Values) -> bool:
    """Whether the change alters the mode of column mapping."""
    return MAPPING in after and (before.get(MAPPING) or "none").lower() != (after[MAPPING] or "none").lower()


def _turned(name: str, before: Values, after: Values) -> bool | None:
    """True if the change switches it on, False if off, None if it stays."""
    if name not in after:
        return None
    was, now = (str(values.get(name)).lower() == "true" for values in (before, after))
    return now if was != now else None


def opposite_of(before: Values, after: Values) -> str:
    """The query of the page's link that asks for the opposite change; empty if nothing changed that can be taken back."""
    changed = [name for name in after if before.get(name) != after[name] and name != MAPPING]
    given = [("set", f"{name}={before[name]}") for name in changed if before.get(name) is not None]
    return urlencode(given + [("unset", name) for name in changed if before.get(name) is None])


def missing_commits(command: SetProperties, operations: Sequence[str | None]) -> list[str]:
    """The commits that a whole run has and these operations lack."""
    wanted = [operation for operation, given in ((SET, command.set), (UNSET, command.unset)) if given]
    return [operation for operation in wanted if operation not in operations]


def operations_in(details: Mapping[str, Any]) -> list[str | None]:
    """The operations of a result's commits."""
    return [commit.get("operation") for commit in details.get("commits", ())]
