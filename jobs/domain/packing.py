"""How Delta packs the files that it rewrites into groups, each written as one file.

Rules: Delta 4.4.0, OptimizeTableCommand (`OptimizeExecutor`, `groupFilesIntoBins`) and OptimizeTableStrategy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

# Delta's defaults. The runs set the same values, so that they follow the prediction whatever the session's settings are.
MIN_FILE_BYTES = MAX_FILE_BYTES = 1 << 30
MOST_DELETED = 0.05


def bins(sizes: Sequence[int], *, alone: bool = False) -> Iterator[range]:
    """How Delta groups the files of one partition, given their sizes in bytes from small to large: the places of each group.

    Compaction leaves a group of one file as it is, so such a group isn't given; with `alone`, as in a reorg, it is.
    """
    start = filled = 0
    least = 1 if alone else 2
    for place, size in enumerate(sizes):
        if filled + size > MAX_FILE_BYTES:
            yield from _joined(start, place, least)
            start, filled = place, 0
        filled += size
    yield from _joined(start, len(sizes), least)


def _joined(start: int, end: int, least: int) -> Iterator[range]:
    if end - start >= least:
        yield range(start, end)
