"""Which properties don't go together, in the words in which Delta refuses them.

Source: Delta 4.4.0: `DeltaConfig.scala` (retentions), `DeltaColumnMapping.scala`, `IcebergCompat.scala`, `UniversalFormat.scala`,
`RowTracking.scala`, `ValidateTableProperties`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta

from tables.deltalog.rules.property_types import ValueFault, is_on
from tables.deltalog.rules.retention import DELETED_FILES, LOG, deleted_file_retention, log_retention

MODE = "delta.columnMapping.mode"
VECTORS = "delta.enableDeletionVectors"
Properties = Mapping[str, str]


def conflicts(before: Properties, after: Properties) -> Iterator[ValueFault]:
    """What Delta refuses of the properties together, given those before the change. Names are canonical."""
    yield from _retentions(before, after)
    yield from _column_mapping(before, after)
    yield from _row_tracking(after)
    yield from _iceberg(before, after)
    yield from _vectors(before, after)


def _changed(name: str, before: Properties, after: Properties) -> bool:
    return before.get(name) != after.get(name)


def _retentions(before: Properties, after: Properties) -> Iterator[ValueFault]:
    """Delta checks this when either is set, not when one is unset; Levee checks it then too, since the log would be cut short."""
    log, files = log_retention(after), deleted_file_retention(after)
    if log >= files or not (_changed(LOG, before, after) or _changed(DELETED_FILES, before, after)):
        return
    first, second, order = (
        (LOG, DELETED_FILES, "greater") if _changed(LOG, before, after) else (DELETED_FILES, LOG, "less")
    )
    length = {LOG: log, DELETED_FILES: files}
    yield ValueFault(
        f"The table property {first}({_days(length[first])}) needs to be {order} than or equal to {second}({_days(length[second])})."
    )


def _days(span: timedelta) -> str:
    return f"{span.days} days" if not span.seconds else f"{span.total_seconds() / 3600:g} hours"


def _column_mapping(before: Properties, after: Properties) -> Iterator[ValueFault]:
    old, new = before.get(MODE, "none").lower(), after.get(MODE, "none").lower()
    if old == new or (old, new) == ("none", "name"):
        return
    if new == "none":
        yield ValueFault(
            "Without column mapping Delta has to rewrite every file of the table.",
            remedy="Drop the feature columnMapping instead: that is a request of its own.",
        )
        return
    text = f"Changing column mapping mode from '{old}' to '{new}' is not supported."
    yield ValueFault(text, "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE", "0AKDC")


def _row_tracking(after: Properties) -> Iterator[ValueFault]:
    on = is_on("delta.enableRowTracking", after.get("delta.enableRowTracking"))
    if on and after.get("delta.rowTrackingSuspended", "").lower() == "true":
        yield ValueFault(
            "Illegal table state was detected. Table properties `delta.enableRowTracking` and `delta.rowTrackingSuspended` are both set"
            " to true.",
            "DELTA_ROW_TRACKING_ILLEGAL_PROPERTY_COMBINATION",
            "55000",
        )


def _iceberg(before: Properties, after: Properties) -> Iterator[ValueFault]:
    versions = [number for number in (1, 2, 3) if _on(after, f"delta.enableIcebergCompatV{number}")]
    for number in versions:
        name = f"IcebergCompatV{number}"
        if after.get(MODE, "none").lower() == "none":
            yield ValueFault(
                f"The validation of {name} has failed. {name} requires table property '{MODE}' to be set to 'name'. Current value:"
                " 'NoMapping'.",
                "DELTA_ICEBERG_COMPAT_VIOLATION.WRONG_REQUIRED_TABLE_PROPERTY",
                "KD00E",
            )
        if len(versions) > 1:
            yield ValueFault(
                f"The validation of {name} has failed. Only one IcebergCompat version can be enabled, please explicitly disable all other"
                " IcebergCompat versions that are not needed.",
                "DELTA_ICEBERG_COMPAT_VIOLATION.VERSION_MUTUAL_EXCLUSIVE",
                "KD00E",
            )
        if number < 3 and _on(after, VECTORS):
            yield ValueFault(
                f"The validation of {name} has failed. {name} requires Deletion Vectors to be disabled on the table first. Then run REORG"
                " PURGE command to purge the Deletion Vectors on the table.",
                "DELTA_ICEBERG_COMPAT_VIOLATION.DELETION_VECTORS_SHOULD_BE_DISABLED",
                "KD00E",
            )
    third = "delta.enableIcebergCompatV3"
    if _on(after, third) and _changed(third, before, after) and _on(before, "delta.enableRowTracking"):
        yield ValueFault(
            "Alter Table enable icebergCompatV3 with RowTracking enabled is not supported. Please disable RowTracking first."
        )
    formats = "delta.universalFormat.enabledFormats"
    if "iceberg" in after.get(formats, "") and not versions and _changed(formats, before, after):
        yield ValueFault(
            "The validation of Universal Format (iceberg) has failed: Requires IcebergCompat to be explicitly enabled in order for"
            " Universal Format (Iceberg) to be enabled on an existing table.",
            "DELTA_UNIVERSAL_FORMAT_VIOLATION",
            "KD00E",
        )


def _vectors(before: Properties, after: Properties) -> Iterator[ValueFault]:
    manifests = "delta.compatibility.symlinkFormatManifest.enabled"
    if (
        _on(after, manifests)
        and _on(after, VECTORS)
        and (_changed(manifests, before, after) or _changed(VECTORS, before, after))
    ):
        yield ValueFault(
            "Persistent deletion vectors and incremental symlink manifest generation are mutually exclusive.",
            "DELTA_VIOLATE_TABLE_PROPERTY_VALIDATION_FAILED.PERSISTENT_DELETION_VECTORS_WITH_INCREMENTAL_MANIFEST_GENERATION",
            "0A000",
        )


def _on(properties: Properties, name: str) -> bool:
    return properties.get(name, "").lower() == "true"
