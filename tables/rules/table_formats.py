"""Tables in other formats whose data files are parquet: which names mark one. Standard library only: Spark's Python workers go by it too.

Such a table has files that no longer count: older versions of rows, deleted rows, files of failed writes. Only its own metadata says which.
Sources: HoodieTableMetaClient of Apache Hudi (`.hoodie`, its properties and timeline); the specification of Apache Iceberg and
HadoopTableOperations (`metadata/v3.metadata.json`, `metadata/00003-<uuid>.metadata.json`, perhaps compressed); the specification of
Apache Paimon (`snapshot/snapshot-1`; data files of every bucket and level, and those of failed commits, lie beside each other);
AcidUtils of Apache Hive (`base_0000005/000000_0`, `delta_0000006_0000006_0000/…`: those of aborted transactions, and of old ones, stay);
DuckLake (`ducklake-<uuid>.parquet`, `ducklake-<uuid>-delete.parquet`: which of them count is in a database elsewhere).
"""

from __future__ import annotations

import re
from enum import StrEnum

HUDI_DIRECTORY, ICEBERG_DIRECTORY, PAIMON_DIRECTORY = ".hoodie", "metadata", "snapshot"
MARKED = (HUDI_DIRECTORY, ICEBERG_DIRECTORY, PAIMON_DIRECTORY)
_HUDI = re.compile(r"hoodie\.properties(\.backup)?|timeline|\d{3,17}(_\d{3,17})?\.[a-z]+(\.[a-z]+)?")
_ICEBERG = re.compile(r"(v\d+|\d+-[0-9A-Za-z-]+)(\.[a-z]+)?\.metadata\.json(\.gz)?")
_ACID = re.compile(r"(base_\d{7,}|(delete_)?delta_\d{7,}_\d{7,}(_\d{4})?)(_v\d{7,})?")
_ACID_FILE = re.compile(r"\d{6}_\d+(_copy_\d+)?|bucket_\d{5,}(_\d+)?|_orc_acid_version|_metadata_acid")
_DUCKLAKE = re.compile(r"ducklake-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-delete)?\.parquet")
_PAIMON = re.compile(r"snapshot-\d+")
_HUDI_PARTITION = ".hoodie_partition_metadata"


class TableFormat(StrEnum):
    """A table format that Levee knows by its marks alone."""

    HUDI = "hudi"
    ICEBERG = "iceberg"
    PAIMON = "paimon"
    HIVE_ACID = "hive_acid"
    DUCKLAKE = "ducklake"

    @property
    def code(self) -> str:
        """The stable code of a refusal."""
        return f"{self.value}_table"

    @property
    def label(self) -> str:
        return _LABELS.get(self, self.value.capitalize())


_LABELS = {TableFormat.HIVE_ACID: "Hive ACID", TableFormat.DUCKLAKE: "DuckLake"}


def may_mark(directory: str) -> bool:
    """Whether a directory of this name may mark the one in which it lies as a table in another format, by what it holds."""
    return directory in MARKED or _ACID.fullmatch(directory) is not None


def marked_format(directory: str, name: str) -> TableFormat | None:
    """The format of a table in which a directory of this name (see `may_mark`) holds this name; None if it marks none."""
    if directory == HUDI_DIRECTORY and _HUDI.fullmatch(name):
        return TableFormat.HUDI
    if directory == ICEBERG_DIRECTORY and _ICEBERG.fullmatch(name):
        return TableFormat.ICEBERG
    if directory == PAIMON_DIRECTORY and _PAIMON.fullmatch(name):
        return TableFormat.PAIMON
    if _ACID_FILE.fullmatch(name) and _ACID.fullmatch(directory):
        return TableFormat.HIVE_ACID
    return None


def format_of_file(name: str) -> TableFormat | None:
    """The format of a table that a data file of this name can only belong to."""
    return TableFormat.DUCKLAKE if name.startswith("ducklake-") and _DUCKLAKE.fullmatch(name) else None


def marks_hudi_partition(name: str) -> bool:
    """Whether a file of this name makes its directory a partition of a Hudi table."""
    return name.startswith(_HUDI_PARTITION)


def above_partitions(directory: str) -> str:
    """The directory of the table in whose partition (`p=1/q=2`) this one is; itself if it is none."""
    while "=" in directory.rpartition("/")[2]:
        directory = directory.rpartition("/")[0]
    return directory
