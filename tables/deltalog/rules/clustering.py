"""The columns by which a table is clustered, from the domain `delta.clustering`, which names them as data files do.

Source: Delta 4.4.0, `ClusteringMetadataDomain.scala` (lists of the parts of physical names) and `ClusteringColumn.scala`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tables.deltalog.read.lines import parse_json
from tables.deltalog.rules.schema import SchemaError, Struct, dotted, parse_schema

DOMAIN = "delta.clustering"
Path = tuple[str, ...]


def physical_paths(configuration: str) -> tuple[Path, ...]:
    """The columns' physical paths in a configuration of the domain; none in a text that is no such configuration."""
    try:
        columns = parse_json(configuration)["clusteringColumns"]
        return tuple(tuple(map(str, parts)) for parts in columns if parts)
    except (ValueError, KeyError, TypeError):
        return ()


def column_names(physical: Sequence[Path], schema_json: str) -> tuple[str, ...]:
    """The columns' names as people write them; a column that the schema lacks by its physical name, and said to be unknown."""
    if not physical:
        return ()
    try:
        known = dict(_logical(parse_schema(schema_json)))
    except SchemaError:
        known = {}
    return tuple(dotted(known[path]) if path in known else f"{dotted(path)} (unknown column)" for path in physical)


def _logical(struct: Struct, above: Path = (), path: Path = ()) -> Iterator[tuple[Path, Path]]:
    """Every field's physical path and its path in the schema. Not below arrays and maps, where no column is clustered by."""
    for column in struct.columns:
        physical, logical = (*above, column.physical_name), (*path, column.name)
        yield physical, logical
        if isinstance(column.type, Struct):
            yield from _logical(column.type, physical, logical)
