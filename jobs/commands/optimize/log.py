"""An optimize's preview: the files that Delta would join, by the log alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.commands.optimize.rules import MAX_FILE_BYTES, File, Mode, Optimize, consequences_of, packed
from jobs.domain.errors import CommandRefused, EngineFailure, Refusal
from jobs.domain.predicates.tree import Node, columns
from jobs.pruning.matching import everything, match
from jobs.pruning.prediction import files_of
from jobs.targets.subject import Subject
from tables.deltalog.rules.retention import deleted_file_retention
from tables.deltalog.state.livefiles import PARTITION

NOTHING = {
    "compaction": "No two small files lie in one partition, so Delta has nothing to join and commits nothing.",
    "zorder": "No file matches, so Delta has nothing to sort and commits nothing.",
    "clustering": "The table has no files, so Delta has nothing to cluster and commits nothing.",
}


@dataclass(frozen=True, slots=True)
class _Work:
    """The files that Delta rewrites, and how many it writes at most; None where the log doesn't tell."""

    files_in: int | None
    bytes_in: int | None
    files_out: int | None
    vectors: int | None
    partitions: int | None
    exact: bool


def from_log(subject: Subject, command: Optimize, node: Node | None) -> dict[str, Any]:
    """What an optimize would rewrite at the subject's version; `node` is the predicate's tree.

    Raises CommandRefused with Delta's own condition for what Delta would refuse.
    """
    mode = mode_of(subject, command)
    _refuse(subject, command, node)
    files = files_of(subject.snapshot, subject.struct, subject.schema)
    outcome = everything(files) if node is None else match(node, files)
    chosen = files.table.filter(outcome.true)
    sure = bool(pc.all(pc.or_(pc.invert(outcome.true), outcome.must)).as_py())
    work = _work(mode, chosen, sure)
    return {
        "class": "ordinary",
        "mode": mode,
        "files_total": files.count,
        "files_in": work.files_in,
        "bytes_in": work.bytes_in,
        "files_out": work.files_out,
        "deletion_vectors": work.vectors,
        "partitions": work.partitions,
        "exact": work.exact,
        "nothing_to_do": work.files_in == 0,
        "table_id": subject.metadata.id,
        "shape_sha256": subject.shape_sha256,
        "measured_at_version": subject.version,
        "speed": "log",
        "consequences": consequences_of(
            retention=deleted_file_retention(subject.configuration),
            num_bytes=work.bytes_in,
            vectors=work.vectors or 0,
        ),
    }


def mode_of(subject: Subject, command: Optimize) -> Mode:
    """How Delta would go about it."""
    if clustering_columns(subject):
        return "clustering"
    return "zorder" if command.zorder_by else "compaction"


def clustering_columns(subject: Subject) -> Sequence[str]:
    """The columns by which Delta clusters the table; none if it isn't clustered."""
    return subject.table.clustering_columns if "clustering" in subject.snapshot.features else ()


def _refuse(subject: Subject, command: Optimize, node: Node | None) -> None:
    """Raises CommandRefused for what Delta refuses, in the order in which it looks."""
    if "clustering" in subject.snapshot.features:
        _refuse_on_clustered(command, node)
    partitions = {name.lower(): name for name in subject.metadata.partition_columns}
    _refuse_data_columns(node, partitions)
    for name in command.zorder_by or ():
        _refuse_zorder(subject, name, partitions)
    if command.full and not clustering_columns(subject):
        text = "OPTIMIZE FULL is only supported for clustered tables with non-empty clustering columns."
        raise _refused("DELTA_OPTIMIZE_FULL_NOT_SUPPORTED", "42601", text, "Leave out full.")


def _refuse_on_clustered(command: Optimize, node: Node | None) -> None:
    if node is not None:
        text = "OPTIMIZE of a clustered table takes no predicate."
        raise _refused("DELTA_CLUSTERING_WITH_PARTITION_PREDICATE", "0A000", text, "Leave out the predicate.")
    if command.zorder_by:
        text = "OPTIMIZE of a clustered table takes no ZORDER BY: it sorts by the clustering columns."
        raise _refused("DELTA_CLUSTERING_WITH_ZORDER_BY", "42613", text, "Leave out the columns.")


def _refuse_data_columns(node: Node | None, partitions: Mapping[str, str]) -> None:
    named = sorted(".".join(path) for path in columns(node)) if node is not None else []
    wrong = next((name for name in named if name.lower() not in partitions), None)
    if wrong is not None:
        known = ", ".join(partitions.values()) or "none"
        text = f"The predicate names {wrong}, which is no partition column. The table’s partition columns: {known}."
        remedy = "Ask by partition columns alone, or leave the predicate out."
        raise _refused("DELTA_NON_PARTITION_COLUMN_REFERENCE", "42P10", text, remedy)


def _refuse_zorder(subject: Subject, name: str, partitions: Mapping[str, str]) -> None:
    if name.lower() in partitions:
        text = f"{name} is a partition column: Delta sorts by data columns only."
        raise _refused("DELTA_ZORDERING_ON_PARTITION_COLUMN", "42P10", text, "Choose other columns.")
    known = {field.name.lower() for field in subject.schema.fields}
    if name.split(".", 1)[0].lower() not in known and name.lower() not in known:
        text = f"The table has no column {name}."
        raise _refused("DELTA_ZORDERING_COLUMN_DOES_NOT_EXIST", "42703", text, "Choose other columns.")


def _refused(condition: str, sqlstate: str, text: str, remedy: str) -> CommandRefused:
    return CommandRefused(Refusal("invalid", text, remedy=remedy, engine=EngineFailure(condition, sqlstate, text)))


def _work(mode: Mode, files: pa.Table, sure: bool) -> _Work:
    if mode == "clustering" and files.num_rows:
        return _Work(None, None, None, None, None, exact=False)
    groups = list(packed(_files(files))) if mode == "compaction" else list(_by_partition(files))
    members = [file for group in groups for file in group]
    return _Work(
        files_in=len(members),
        bytes_in=sum(file.size for file in members),
        files_out=sum(_written(mode, group) for group in groups),
        vectors=sum(file.has_vector for file in members),
        partitions=len({group[0].partition for group in groups}),
        exact=sure,
    )


def _written(mode: Mode, group: Sequence[File]) -> int:
    """Compaction writes a group as one file; a Z-order cuts a partition at the largest size."""
    return 1 if mode == "compaction" else max(1, sum(file.size for file in group) // MAX_FILE_BYTES)


def _by_partition(files: pa.Table) -> Iterator[list[File]]:
    groups: dict[int, list[File]] = {}
    for file in _files(files):
        groups.setdefault(file.partition, []).append(file)
    yield from groups.values()


def _files(files: pa.Table) -> Iterator[File]:
    vector = files.column("deletion_vector").combine_chunks()
    rows = zip(
        _partition_numbers(files),
        pc.fill_null(files.column("size"), 0).to_pylist(),
        files.column("num_records").to_pylist(),
        pc.is_valid(vector).to_pylist(),
        pc.struct_field(vector, "cardinality").to_pylist(),
        strict=True,
    )
    for partition, size, count, has_vector, deleted in rows:
        yield File(partition, size, count, has_vector, deleted if has_vector else 0)


def _partition_numbers(files: pa.Table) -> list[int]:
    """A number for each file's partition: equal for equal partition values, NULL among them."""
    names = [name for name in files.column_names if name.startswith(PARTITION)]
    numbers: dict[tuple[str | None, ...], int] = {}
    values = zip(*(files.column(name).to_pylist() for name in names), strict=True) if names else ()
    found = [numbers.setdefault(value, len(numbers)) for value in values]
    return found if names else [0] * files.num_rows
