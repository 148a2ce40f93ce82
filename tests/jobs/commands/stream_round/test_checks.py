"""What is refused before a round, without Spark."""

from types import SimpleNamespace
from typing import Any

import pytest

from jobs.commands.stream_round.spark.checks import Ground, _refuse_older
from jobs.domain.errors import CommandRefused

QUERY = "3f1f2f6e-0000-4000-8000-000000000001"


def table(newest: int | None) -> Any:
    """Delta's object of a table whose log holds the query's batch `newest`."""
    known = SimpleNamespace(isEmpty=lambda: newest is None, get=lambda: newest)
    transactions = SimpleNamespace(get=lambda query: known)
    return SimpleNamespace(initialSnapshot=lambda: SimpleNamespace(transactions=lambda: transactions))


@pytest.mark.parametrize(
    ("planned", "newest", "refused"), [(1, 1, False), (2, 1, False), (1, None, False), (1, 2, True), (-1, 0, True)]
)
def test_a_checkpoint_that_lacks_a_batch_of_the_table_is_refused(tmp_path, planned, newest, refused):
    checkpoint = tmp_path / "checkpoint"
    (checkpoint / "offsets").mkdir(parents=True)
    (checkpoint / "metadata").write_text(f'{{"id": "{QUERY}"}}')
    for batch in range(planned + 1):
        (checkpoint / "offsets" / str(batch)).write_text("v1\n{}")
    ground = Ground("/lake/t", table(newest), 7, ())
    if not refused:
        _refuse_older(ground, str(checkpoint))
        return
    with pytest.raises(CommandRefused) as raised:
        _refuse_older(ground, str(checkpoint))
    (refusal,) = raised.value.refusals
    assert (refusal.code, f"has batch {newest} of this query" in refusal.message) == ("checkpoint_older", True)
    assert refusal.remedy


def test_a_stream_without_a_checkpoint_is_older_than_nothing(tmp_path):
    _refuse_older(Ground("/lake/t", table(3), 7, ()), str(tmp_path / "none"))
