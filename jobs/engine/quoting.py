"""The one way to put a name or path into a Spark statement."""

from __future__ import annotations


def quoted(name: str) -> str:
    """`name` as an identifier of Spark SQL: one backquoted part, whatever it contains. Raises ValueError if it is empty or contains NUL."""
    if not name:
        raise ValueError("an identifier can't be empty")
    if "\x00" in name:
        raise ValueError("an identifier can't contain NUL")
    return "`" + name.replace("`", "``") + "`"


def quoted_name(parts: tuple[str, ...]) -> str:
    """A dotted name, each part quoted."""
    return ".".join(quoted(part) for part in parts)


def literal(text: str) -> str:
    """`text` as a string literal of Spark SQL, whatever it contains."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def path_table(source_format: str, path: str) -> str:
    """A path as a table: parquet.`/lake/orders`."""
    return f"{quoted(source_format)}.{quoted(path)}"
