"""Tables in other formats whose data files are parquet: which names mark one. Standard library only: Spark's Python workers go by it too.

Such a table has files that no longer count: older versions of rows, deleted rows, files of failed writes. Only its own metadata says which.
Sources: HoodieTableMetaClient of Apache Hudi (`.hoodie`, its properties and timeline); the specification of Apache Iceberg and
HadoopTableOperations (`metadata/v3.metadata.json`, `metadata/00003-<uuid>.metadata.json`, perhaps compressed).
"""

from __future__ import annotations

import re
from enum import StrEnum

HUDI_DIRECTORY, ICEBERG_DIRECTORY = ".hoodie", "metadata"
MARKED = (HUDI_DIRECTORY, ICEBERG_DIRECTORY)
_HUDI = re.compile(r"hoodie\.properties(\.backup)?|timeline|\d{3,17}(_\d{3,17})?\.[a-z]+(\.[a-z]+)?")
_ICEBERG = re.compile(r"(v\d+|\d+-[0-9A-Za-z-]+)(\.[a-z]+)?\.metadata\.json(\.gz)?")
_HUDI_PARTITION = ".hoodie_partition_metadata"


class TableFormat(StrEnum):
    """A table format that Levee knows by its marks alone."""

    HUDI = "hudi"
    ICEBERG = "iceberg"

    @property
    def code(self) -> str:
        """The stable code of a refusal."""
        return f"{self.value}_table"

    @property
    def label(self) -> str:
        return self.value.capitalize()


def marked_format(directory: str, name: str) -> TableFormat | None:
    """The format of a table in which a directory of this name (one of `MARKED`) holds this name; None if it marks none."""
    if directory == HUDI_DIRECTORY and _HUDI.fullmatch(name):
        return TableFormat.HUDI
    if directory == ICEBERG_DIRECTORY and _ICEBERG.fullmatch(name):
        return TableFormat.ICEBERG
    return None


def marks_hudi_partition(name: str) -> bool:
    """Whether a file of this name makes its directory a partition of a Hudi table."""
    return name.startswith(_HUDI_PARTITION)
