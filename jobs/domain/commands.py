"""Commands: values that say what to do. A job stores one as JSON with its schema version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Convert:
    """CONVERT TO DELTA of a parquet directory, by path or by catalog name (exactly one of them).

    `partition_schema` is Spark DDL (`"day date, country string"`); None means unpartitioned, or as the catalog's entry declares.
    What Levee fills in from its catalog for a `name`: `location` is its directory; `declared_schema` (Spark's JSON struct of all
    columns) and `declared_partitions` (names among them) are what the entry declares, None where it declares nothing.
    """

    kind: ClassVar[str] = "convert"
    schema_version: ClassVar[int] = 1

    path: str | None
    name: str | None
    source_format: str
    partition_schema: str | None
    collect_stats: bool = True
    location: str | None = None
    declared_schema: Mapping[str, Any] | None = None
    declared_partitions: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE of the rows of a Delta table that match a predicate; of all of them where `predicate` is None.

    `table` is the catalog's id and `path` its canonical location. `predicate` is the text that `tree` (its stored form,
    `predicates.stored`) prints; what runs, is previewed and is approved is the tree.
    """

    kind: ClassVar[str] = "delete"
    schema_version: ClassVar[int] = 1

    table: str
    predicate: str | None
    path: str = ""
    tree: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Restore:
    """RESTORE of a Delta table to one of its versions.

    `undoes` is the id of the job whose commit is undone by it, None for a restore asked for by itself; `accepted_commits` are the
    later versions that its requester has said may be undone as well.
    """

    kind: ClassVar[str] = "restore"
    schema_version: ClassVar[int] = 1

    table: str
    version: int
    path: str = ""
    undoes: str | None = None
    accepted_commits: Sequence[int] = ()


Command = Convert | Delete | Restore

# Open: a command registers itself here, and in the policies and engines that know it.
COMMANDS: dict[str, type[Command]] = {Convert.kind: Convert, Delete.kind: Delete, Restore.kind: Restore}


def command_to_json(command: Command) -> dict[str, Any]:
    """The command's parameters as they are stored; `command_from_json` reads them back."""
    return asdict(command)


def command_from_json(kind: str, schema_version: int, parameters: Mapping[str, Any]) -> Command:
    """The command that a job stores. Raises KeyError for an unknown kind, ValueError for another schema version."""
    cls = COMMANDS[kind]
    if schema_version != cls.schema_version:
        raise ValueError(f"{kind}: schema version {schema_version}, this build knows {cls.schema_version}")
    return cls(**parameters)
