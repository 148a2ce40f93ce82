"""A round of a stream as a value: a structured streaming query run once, for all that its source holds now (`availableNow`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any, ClassVar, Literal

from jobs.domain.consequences import Consequence, said
from jobs.domain.delta.feature_support import Cells, Refused

OutputMode = Literal["append", "complete"]
APPEND: OutputMode = "append"
COMPLETE: OutputMode = "complete"
# What Spark reads as files in a directory, beside Delta tables.
FILE_FORMATS = ("parquet", "json", "csv", "text")
LEAST_INTERVAL = timedelta(seconds=10)

# Delta's own options of a sink and of a source, Spark's of its file sources and formats: a closed list. Whatever is not on it
# could change what a round reads or writes in ways that nobody sees in a definition.
SINK_OPTIONS = ("mergeSchema", "overwriteSchema", "userMetadata")
TABLE_OPTIONS = ("maxFilesPerTrigger", "maxBytesPerTrigger", "ignoreDeletes")
FILE_OPTIONS = ("maxFilesPerTrigger", "maxBytesPerTrigger", "latestFirst", "pathGlobFilter", "recursiveFileLookup")
FORMAT_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "csv": ("header", "sep", "quote", "escape", "nullValue", "dateFormat", "timestampFormat", "mode"),
    "json": ("multiLine", "dateFormat", "timestampFormat", "mode"),
    "text": ("wholetext",),
    "parquet": (),
}
# What Spark does with a line that doesn't fit the schema. Its default is PERMISSIVE: a row of NULLs, with the file taken for good.
PARSE_MODES = ("FAILFAST", "PERMISSIVE", "DROPMALFORMED")
PARSED_FORMATS = ("json", "csv")


@dataclass(frozen=True, slots=True)
class FileSource:
    """Files of one format below a directory. `schema` is Spark's struct as JSON; `options` are of FILE_OPTIONS and FORMAT_OPTIONS."""

    path: str
    format: str
    schema: Mapping[str, Any]
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def parse_mode(self) -> str | None:
        """What a damaged line does: FAILFAST unless the options name another mode. None for formats that aren't parsed by line."""
        return self.options.get("mode", PARSE_MODES[0]) if self.format in PARSED_FORMATS else None

    @property
    def read_options(self) -> dict[str, str]:
        """The options that Spark gets: the definition's, and the mode for damaged lines."""
        return {**self.options, **({"mode": mode} if (mode := self.parse_mode) else {})}


@dataclass(frozen=True, slots=True)
class TableSource:
    """A Delta table, read from its start (the snapshot, then each commit), or from a version or time on (commits alone).

    `table` is the catalog's id; `table_id` is Delta's own, so that a table made anew at the path is told from this one.
    `options` are of TABLE_OPTIONS.
    """

    table: str
    path: str
    table_id: str
    starting_version: int | None = None
    starting_timestamp: str | None = None
    skip_change_commits: bool = False
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Steps:
    """What happens to each row, in this order: rename, cast, filter, select, aggregate.

    `rename` and `cast` map a column to its new name or to a type's name; `filter` is the stored tree of a predicate (`filter_text`
    is how a person reads it); `group_by` with `count_as` counts rows by columns (empty and None: no aggregation).
    """

    rename: Mapping[str, str] = field(default_factory=dict)
    cast: Mapping[str, str] = field(default_factory=dict)
    filter: Mapping[str, Any] | None = None
    filter_text: str = ""
    select: Sequence[str] = ()
    group_by: Sequence[str] = ()
    count_as: str | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """A stream: from where, through which steps, into which table, how. Two streams with one definition do the same.

    `path` is the target's directory, `checkpoint` the query's own; `options` are of SINK_OPTIONS, by Delta's names.
    """

    source: FileSource | TableSource
    path: str
    checkpoint: str
    output_mode: OutputMode = APPEND
    partition_by: Sequence[str] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    steps: Steps = field(default_factory=Steps)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Definition:
        """The definition that `as_json` gave. Raises TypeError for another shape."""
        source = value["source"]
        kind = TableSource if "table_id" in source else FileSource
        return cls(**{**value, "source": kind(**source), "steps": Steps(**value["steps"])})

    @property
    def merges_schema(self) -> bool:
        return is_on(self.options.get("mergeSchema"))

    @property
    def overwrites_schema(self) -> bool:
        """Whether a batch replaces the table's schema: Delta heeds the option in Complete mode alone."""
        return self.output_mode == COMPLETE and is_on(self.options.get("overwriteSchema"))


REFUSED: Cells = {
    "appendOnly": (Refused("DELTA_CANNOT_MODIFY_APPEND_ONLY", "in Complete mode, while `delta.appendOnly` is true"),),
    "identityColumns": (
        Refused(
            "DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED",
            "for a batch with a column that is GENERATED ALWAYS AS IDENTITY",
        ),
    ),
    **{
        f"icebergCompatV{number}": (
            Refused(
                "DELTA_ICEBERG_COMPAT_VIOLATION.UNSUPPORTED_DATA_TYPE",
                f"for a batch that adds a column of type {kinds}, while `delta.enableIcebergCompatV{number}` is true",
            ),
        )
        for number, kinds in ((1, "array or map"), (2, "variant"))
    },
    "changeDataFeed": (
        Refused("RESERVED_CDC_COLUMNS_ON_WRITE", "for a batch that adds a column with a name of the change feed’s"),
    ),
}


@dataclass(frozen=True, slots=True)
class StreamRound:
    """One round of a stream, or (`reset`) the removal of its checkpoint instead.

    `definition` is `Definition.as_json` as it was when the round was opened. `query_id` is the checkpoint's, None before the
    first round; `table_id` is Delta's id of the target, None while there is no table. `replaces`: it removes every row of a table
    that the stream didn't make, as its approvers know.
    """

    kind: ClassVar[str] = "stream_round"
    schema_version: ClassVar[int] = 1

    stream: str
    name: str
    definition: Mapping[str, Any]
    query_id: str | None = None
    table_id: str | None = None
    reset: bool = False
    replaces: bool = False
    number: int = 1  # of the stream's rounds: two rounds are two requests


def is_on(value: str | None) -> bool:
    """Whether an option's text switches it on, as Spark reads it."""
    return (value or "").strip().lower() == "true"


def consequences_of(definition: Definition, *, reset: bool, replaces: bool) -> list[Consequence]:
    """What follows from approving it. `replaces`: each batch removes every row of a table that the stream didn't create."""
    if reset:
        return [
            said(
                "loads_again",
                "The next round reads the source from its start under a new query id: Delta can’t tell that it has these rows already,"
                " so in Append mode every row that was loaded is loaded again.",
            ),
            said("checkpoint_kept", "The old checkpoint is moved aside, not deleted: its path is in the result."),
        ]
    if not replaces:
        return []
    consequences = [
        said(
            "replaces_rows",
            "Each batch removes every row of the table and writes the aggregation’s result in their place.",
        ),
        said(
            "standing",
            "This approval covers every later round of this definition; a change of the definition voids it.",
        ),
    ]
    if definition.overwrites_schema:
        consequences.append(said("overwrites_schema", "A batch with another schema replaces the table’s schema."))
    return consequences
