"""Which versions of a table lose files: a function of the log's commits and of the files that go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise

import pyarrow as pa
import pyarrow.compute as pc

from tables.deltalog.vacuum.removals import FileChanges

Span = tuple[int, int]
"""First and last version, both included."""


def dying(changes: FileChanges, doomed: pa.Array, first: int, head: int) -> list[Span]:
    """The versions from `first` on, the head excluded, that need one of the files whose keys are `doomed`.

    `changes` hold the removals and additions of all commits after `first`. None of the doomed files is of the head.
    """
    edges: Counter[int] = Counter()
    for start, end in _lives(_events(changes, doomed, first), first):
        if start <= end:
            edges[start] += 1
            edges[end + 1] -= 1
    return _covered(edges, head)


def _events(changes: FileChanges, doomed: pa.Array, first: int) -> pa.Table:
    """Removals and additions of the doomed files after `first`, by file and version; a commit's removal before its addition."""
    tables = []
    for files, is_added in ((changes.removed, 0), (changes.added, 1)):
        table = files.table().select(["key", "version"])
        table = table.filter(pc.and_(pc.greater(table["version"], first), pc.is_in(table["key"], value_set=doomed)))
        tables.append(table.append_column("added", pa.repeat(pa.scalar(is_added, pa.int8()), table.num_rows)))
    return pa.concat_tables(tables).sort_by([("key", "ascending"), ("version", "ascending"), ("added", "ascending")])


def _lives(events: pa.Table, first: int) -> Iterator[Span]:
    """From when to when each file was part of the table, one after the other; one that was there before `first` since then."""
    before, since = None, first
    for batch in events.to_batches(max_chunksize=65_536):
        rows = zip(*(batch.column(name).to_pylist() for name in ("key", "version", "added")), strict=True)
        for file, version, added in rows:
            since = since if file == before else first
            if not added:
                yield since, version - 1
            before, since = file, version


def _covered(edges: Counter[int], head: int) -> list[Span]:
    """The spans of versions that at least one life covers, below the head."""
    places = sorted(edges)
    depths = accumulate(edges[place] for place in places)
    spans = [(start, end - 1) for (start, end), depth in zip(pairwise(places), depths, strict=False) if depth > 0]
    return joined((start, min(end, head - 1)) for start, end in spans if start < head)


def joined(spans: Iterable[Span]) -> list[Span]:
    """Spans in their order, neighbours as one."""
    merged: list[Span] = []
    for start, end in spans:
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def within(spans: Iterable[Span], allowed: Iterable[Span]) -> list[Span]:
    """The parts of the spans that lie in one of the allowed ones."""
    there = list(allowed)
    parts = [(max(a, c), min(b, d)) for a, b in spans for c, d in there if max(a, c) <= min(b, d)]
    return joined(sorted(parts))
