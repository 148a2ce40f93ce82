"""Which names a vacuum passes over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tables.deltalog.rules.other_formats import other_formats

_GARBAGE = ("_delta_index", "_change_data")


def is_hidden(name: str, partition_columns: Sequence[str], *, iceberg: bool = False) -> bool:
    """Whether a vacuum leaves a file or directory of this name alone, and all below it.

    Source: DeltaTableUtils.isHiddenDirectory of Delta 4.4.0. A partition's directory never is, whatever its column is called.
    """
    if iceberg and name == "metadata":
        return True
    if not name.startswith((".", "_")) or name.startswith(_GARBAGE):
        return False
    return not any(name.startswith(f"{column}=") for column in partition_columns)


def has_iceberg(configuration: Mapping[str, str]) -> bool:
    """Whether the table keeps Iceberg's metadata in its directory `metadata`."""
    return "Iceberg" in other_formats(configuration)
