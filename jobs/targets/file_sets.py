"""One hash of a table's live files, to compare a preview with a later read of the log."""

from __future__ import annotations

import hashlib

import pyarrow as pa
import pyarrow.compute as pc

from tables.deltalog.state.livefiles import PARTITION, keys


def files_sha256(files: pa.Table) -> str:
    """One hash of a set of live files, whatever their order: path, deletion vector and partition values."""
    combined = files.combine_chunks()
    batches = combined.to_batches()
    if not batches:
        return hashlib.sha256(b"").hexdigest()
    names = [name for name in combined.column_names if name.startswith(PARTITION)]
    columns = [keys(batches[0]), *(pc.fill_null(batches[0].column(name), "\x01") for name in names)]
    lines = sorted(pc.binary_join_element_wise(*columns, "\x02").to_pylist())
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()
