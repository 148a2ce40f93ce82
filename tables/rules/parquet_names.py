"""Which file names are of parquet files, and which say nothing: Hive, Impala and Trino write `000000_0` without an extension."""

from __future__ import annotations

MAGIC = b"PAR1"  # the first and the last four bytes of a parquet file
MOST_OPENED = 3  # files of one directory that are opened to find out


def is_parquet(name: str) -> bool:
    return name.lower().endswith((".parquet", ".parq")) and not _is_hidden(name)


def has_no_extension(name: str) -> bool:
    """Whether only a file's first bytes tell what it is. A number behind the last dot is no extension: Impala numbers files so."""
    extension = name.rpartition(".")[2] if "." in name else ""
    return not _is_hidden(name) and (not extension or extension.isdigit())


def _is_hidden(name: str) -> bool:
    return name.startswith(("_", "."))
