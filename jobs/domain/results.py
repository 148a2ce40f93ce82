"""Results of previews and runs, as values that are stored as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from jobs.domain.errors import Refusal


@dataclass(frozen=True, slots=True)
class PartitionProposal:
    """A partition column found in directory names, with the type proposed for it and why.

    `distinct` counts values, `nulls` the directories named `__HIVE_DEFAULT_PARTITION__`.
    """

    name: str
    proposed_type: str
    evidence: str
    distinct: int
    nulls: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SchemaConflict:
    """One column whose footers disagree. `types` maps Spark type text to the number of files."""

    column: str
    types: Mapping[str, int]
    example_files: tuple[str, ...]
    fatal: bool
    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """A remark that doesn't stop the conversion (files with no rows, an overridden column, …)."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class PartitionReading:
    """A name of partition directories that is percent-encoded UTF-8: `spark` is how Spark reads it, `utf8` what its writer meant."""

    directory: str
    name: str
    spark: str
    utf8: str


@dataclass(frozen=True, slots=True)
class FooterDifference:
    """A kind of files whose footer has a Spark schema that isn't the file's: columns only in one of them, and (column, type in
    the text, type in the file). `files` is their number, `example` one of them."""

    example: str
    files: int
    only_in_file: tuple[str, ...]
    only_in_text: tuple[str, ...]
    types: tuple[tuple[str, str, str], ...]

    def same_as(self, other: FooterDifference) -> bool:
        """Whether other files differ in the same columns."""
        return (self.only_in_file, self.only_in_text, self.types) == (
            other.only_in_file,
            other.only_in_text,
            other.types,
        )

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> FooterDifference:
        return cls(
            value["example"],
            value["files"],
            tuple(value["only_in_file"]),
            tuple(value["only_in_text"]),
            tuple((column, text, file) for column, text, file in value["types"]),
        )


@dataclass(frozen=True, slots=True)
class TimeSample:
    """A date or time as the file holds it, and as Spark reads it; `spark` is None where Spark refuses or fails to read it."""

    file: str
    spark: str | None


@dataclass(frozen=True, slots=True)
class TimeReading:
    """A column of dates or times that Spark may read as others than the files hold: its type in parquet (`stored`) and in Spark
    (`reads_as`, None where Spark refuses it), what decides (a setting with its value, or the footer), and the oldest and the largest known
    value; None where no footer tells one."""

    column: str
    stored: str
    reads_as: str | None
    decided_by: str
    files: int
    example: str
    oldest: TimeSample | None
    largest: TimeSample | None

    @property
    def differs(self) -> bool:
        """Whether a reader sees another value than the file's, in what is known."""
        return any(sample is not None and sample.file != sample.spark for sample in (self.oldest, self.largest))

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> TimeReading:
        samples = {name: TimeSample(**value[name]) if value[name] else None for name in ("oldest", "largest")}
        return cls(**{**value, **samples})


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a convert would find in a directory; the answer of `POST /conversions/inspect` and a convert job's preview.

    Paths are relative to `path` with `/` between parts; sizes are bytes. `num_records` is None when a footer can't be read.
    `schema` is Spark's JSON struct after merging all footers, without partition columns, None when it can't be merged.
    `already_delta` says that the directory is a Delta table (converting it does nothing).
    `files_digest` is a sha256 over every file's relative path, size and modification time, in whatever order they were seen.
    `layout` are the partition columns in the order of the directories. `manifest` is the list of files (base64 of zlib of lines
    `path TAB size TAB changed_ns`), by which the run names files come and gone; None when there are more than 10,000.
    `readings` are the first names of partition directories that have two readings, `footers` the kinds of files whose footer
    describes other columns than they have, `times` the columns of dates and times that Spark may read as others.
    """

    path: str
    num_files: int
    size_bytes: int
    num_records: int | None
    partition_columns: tuple[PartitionProposal, ...]
    conflicts: tuple[SchemaConflict, ...]
    stray_files: tuple[str, ...]
    nested_tables: tuple[str, ...]
    hidden_files: int
    schema: Mapping[str, Any] | None
    refusals: tuple[Refusal, ...]
    notes: tuple[Note, ...] = ()
    empty_files: int = 0
    from_metadata_log: bool = False
    already_delta: bool = False
    files_digest: str = ""
    layout: tuple[str, ...] = ()
    manifest: str | None = None
    readings: tuple[PartitionReading, ...] = ()
    footers: tuple[FooterDifference, ...] = ()
    times: tuple[TimeReading, ...] = ()

    def as_json(self) -> dict[str, Any]:
        value = asdict(self)
        value["refusals"] = [r.as_json() for r in self.refusals]
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Inspection:
        known = dict(value)
        known["partition_columns"] = tuple(
            PartitionProposal(**{**p, "examples": tuple(p["examples"])}) for p in known["partition_columns"]
        )
        known["conflicts"] = tuple(
            SchemaConflict(**{**c, "example_files": tuple(c["example_files"])}) for c in known["conflicts"]
        )
        known["refusals"] = tuple(Refusal.from_json(r) for r in known["refusals"])
        known["notes"] = tuple(Note(**n) for n in known.get("notes", ()))
        known["readings"] = tuple(PartitionReading(**r) for r in known.get("readings", ()))
        known["footers"] = tuple(FooterDifference.from_json(f) for f in known.get("footers", ()))
        known["times"] = tuple(TimeReading.from_json(t) for t in known.get("times", ()))
        for name in ("stray_files", "nested_tables", "layout"):
            known[name] = tuple(known.get(name, ()))
        return cls(**known)


def affected_rows(metrics: Mapping[str, str | None]) -> int | None:
    """`num_affected_rows` of a delete, from its commit's metrics; None where Delta recorded none (files without statistics)."""
    text = metrics.get("numDeletedRows") or ""
    return int(text) if text.isdigit() else None


@dataclass(frozen=True, slots=True)
class Result:
    """What a run did. With `no_op` nothing was committed and `version` is None.

    `operation_parameters` and `operation_metrics` are texts as DESCRIBE HISTORY gives them; a missing metric is unknown.
    `details` are facts of the one command (convert: files_converted, files_in_table, files_come, files_gone, collect_stats,
    text); `warnings` among them are sentences on what a run that succeeded leaves to do.
    """

    version: int | None
    operation: str | None
    operation_parameters: Mapping[str, str] = field(default_factory=dict)
    operation_metrics: Mapping[str, str] = field(default_factory=dict)
    num_affected_rows: int | None = None
    no_op: bool = False
    drifted: bool = False
    read_version: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Result:
        return cls(**value)


def with_warnings(result: Result, *texts: str) -> Result:
    """The result with these sentences among its `details.warnings`, each once."""
    told = list(dict.fromkeys((*result.details.get("warnings", ()), *texts)))
    return replace(result, details={**result.details, "warnings": told}) if told else result


def failed_afterwards(message: str) -> str:
    """The warning for a commit that stands though Delta failed after it, in a hook (`DELTA_POST_COMMIT_HOOK_FAILED`)."""
    first = (message.splitlines() or ["It gave no reason."])[0][:1000]
    return f"The commit stands. Then a step that Delta takes after its commits failed: {first}"


def versions_in(result: Mapping[str, Any]) -> set[int]:
    """The versions that a run committed, by its stored result: the last one, and those that `details` name of several."""
    details = result.get("details") or {}
    named = [
        result.get("version"),
        details.get("start_version"),
        *(each["version"] for each in details.get("commits") or ()),
    ]
    return {version for version in named if version is not None}
