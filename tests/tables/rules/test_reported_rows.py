"""What metrics say of rows: by Spark's names and delta-rs's, and nothing where one is missing or is no count."""

from __future__ import annotations

import pytest

from tables.rules.reported_rows import reported_change, reported_taken

MERGE = {"numTargetRowsInserted": "4", "numTargetRowsUpdated": "2", "numTargetRowsDeleted": "1", "numOutputRows": "9"}
RUST = {"num_target_rows_inserted": "4", "num_target_rows_updated": "2", "num_target_rows_deleted": "1"}


@pytest.mark.parametrize(
    ("operation", "metrics", "change", "taken"),
    [
        ("UPDATE", {"numUpdatedRows": "12", "numCopiedRows": "3"}, 0, 12),
        ("UPDATE", {"num_updated_rows": "12"}, 0, 12),
        ("UPDATE", {"numUpdatedRows": "0"}, 0, 0),
        ("UPDATE", {"numCopiedRows": "3"}, None, None),
        ("UPDATE", {"numUpdatedRows": "many"}, None, None),
        ("DELETE", {"numDeletedRows": "5"}, -5, 5),
        ("DELETE", {"num_deleted_rows": "5"}, -5, 5),
        ("TRUNCATE", {"numDeletedRows": "5"}, None, 5),
        ("MERGE", MERGE, 3, 3),
        ("MERGE", RUST, 3, 3),
        ("MERGE", {"numTargetRowsInserted": "4"}, None, None),
        ("WRITE", {"numOutputRows": "4"}, None, None),
        (None, {"numUpdatedRows": "4"}, None, None),
    ],
)
def test_rows_are_reported_by_either_writer_s_names(
    operation: str | None, metrics: dict[str, str], change: int | None, taken: int | None
) -> None:
    assert (reported_change(operation, metrics), reported_taken(operation, metrics)) == (change, taken)
