"""An optimize's preview: the files that Delta would join, by the log alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jobs.commands.optimize.rules import (
    MAX_FILE_BYTES,
    MIN_FILE_BYTES,
    MOST_DELETED,
    Mode,
    Optimize,
    bins,
    consequences_of,
    name_parts,
)
from jobs.domain.errors import CommandRefused, EngineFailure, Refusal
from jobs.domain.predicates.schema import Unresolved, resolve
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
    for path in sorted_by(subject, command.zorder_by or ()):
        _refuse_partition_column(path, partitions)
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


def sorted_by(subject: Subject, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """The columns' paths with the schema's own spelling. Raises CommandRefused in Delta's words."""
    return [_column(subject, name) for name in columns]


def _column(subject: Subject, name: str) -> tuple[str, ...]:
    """A column whose own name has dots comes before a struct's field."""
    with suppress(Unresolved):
        return resolve(subject.schema, [name])
    try:
        return resolve(subject.schema, name_parts(name))
    except (Unresolved, ValueError):
        text = f"The table has no column {name}."
        raise _refused("DELTA_ZORDERING_COLUMN_DOES_NOT_EXIST", "42703", text, "Choose other columns.") from None


def _refuse_partition_column(path: tuple[str, ...], partitions: Mapping[str, str]) -> None:
    if len(path) == 1 and path[0].lower() in partitions:
        text = f"{path[0]} is a partition column: Delta sorts by data columns only."
        raise _refused("DELTA_ZORDERING_ON_PARTITION_COLUMN", "42P10", text, "Choose other columns.")


def _refused(condition: str, sqlstate: str, text: str, remedy: str) -> CommandRefused:
    return CommandRefused(Refusal("invalid", text, remedy=remedy, engine=EngineFailure(condition, sqlstate, text)))


def _work(mode: Mode, files: pa.Table, sure: bool) -> _Work:
    if mode == "clustering" and files.num_rows:
        return _Work(None, None, None, None, None, exact=False)
    groups = list(_groups(mode, files))
    return _Work(
        files_in=sum(group.files for group in groups),
        bytes_in=sum(group.size for group in groups),
        files_out=sum(group.written for group in groups),
        vectors=sum(group.vectors for group in groups),
        partitions=len({group.partition for group in groups}),
        exact=sure,
    )


@dataclass(frozen=True, slots=True)
class _Group:
    """Files of one partition that are rewritten together, as `written` files at most."""

    partition: int
    files: int
    size: int
    vectors: int
    written: int = 1


def _groups(mode: Mode, files: pa.Table) -> Iterator[_Group]:
    """Works on columns: only partitions that hold more than one full file are looked at file by file."""
    chosen = files if mode == "zorder" else files.filter(_is_candidate(files))
    codes, sizes = _partition_codes(chosen), pc.fill_null(chosen.column("size").combine_chunks(), 0)
    order = pc.sort_indices(pa.table({"code": codes, "size": sizes}), [("code", "ascending"), ("size", "ascending")])
    sizes = sizes.take(order)
    vectors = pc.cast(pc.is_valid(chosen.column("deletion_vector").combine_chunks()), pa.int64()).take(order)
    ordered = _Columns(sizes, vectors)
    start = 0
    for partition, end in enumerate(pc.run_end_encode(codes.take(order)).run_ends.to_pylist()):
        if mode == "zorder":
            whole = ordered.group(partition, start, end)
            yield replace(whole, written=max(1, whole.size // MAX_FILE_BYTES))
        else:
            yield from _packed(ordered, partition, start, end)
        start = end


@dataclass(frozen=True, slots=True)
class _Columns:
    """Sizes and vectors of files in their order, summed by slices."""

    sizes: pa.Array
    vectors: pa.Array

    def group(self, partition: int, start: int, end: int) -> _Group:
        size, vectors = (
            int(pc.sum(column.slice(start, end - start)).as_py() or 0) for column in (self.sizes, self.vectors)
        )
        return _Group(partition, end - start, size, vectors)


def _packed(ordered: _Columns, partition: int, start: int, end: int) -> Iterator[_Group]:
    whole = ordered.group(partition, start, end)
    if whole.size <= MAX_FILE_BYTES:
        if whole.files > 1:
            yield whole
        return
    for places in bins(ordered.sizes.slice(start, end - start).to_pylist()):
        yield ordered.group(partition, start + places.start, start + places.stop)


def _is_candidate(files: pa.Table) -> pa.Array:
    """Whether compaction looks at a file: it is small, or too many of its rows are deleted, or that can't be told."""
    vector, rows = files.column("deletion_vector").combine_chunks(), files.column("num_records").combine_chunks()
    hidden = pc.fill_null(pc.cast(pc.struct_field(vector, "cardinality"), pa.float64()), 0.0)
    many = pc.greater(hidden, pc.multiply(pc.cast(rows, pa.float64()), MOST_DELETED))
    worn = pc.and_(pc.is_valid(vector), pc.fill_null(many, True))
    small = pc.less(pc.fill_null(files.column("size").combine_chunks(), 0), MIN_FILE_BYTES)
    return pc.or_(small, worn)


def _partition_codes(files: pa.Table) -> pa.Array:
    """A number for each file's partition: equal for equal partition values, NULL among them."""
    codes = pa.repeat(pa.scalar(0, pa.int64()), files.num_rows)
    for name in files.column_names:
        if name.startswith(PARTITION):
            values = pc.dictionary_encode(files.column(name).combine_chunks(), null_encoding="encode")
            combined = pc.add(pc.multiply(codes, len(values.dictionary)), pc.cast(values.indices, pa.int64()))
            codes = pc.cast(pc.dictionary_encode(combined).indices, pa.int64())
    return codes
