"""A Z-order by columns of which no statistics are kept: refused at its request, as Delta refuses it in the run."""

from pathlib import Path
from typing import Any

import pytest

from jobs.commands.optimize.log import from_log
from jobs.commands.optimize.rules import Optimize
from jobs.domain.errors import CommandRefused
from jobs.targets.subject import Subject, subject_of
from tables.sync import table as syncing
from tests import factories
from tests.factories import lakes

CONDITION = "DELTA_ZORDERING_ON_COLUMN_WITHOUT_STATS"
COUNT, LISTED = "delta.dataSkippingNumIndexedCols", "delta.dataSkippingStatsColumns"


@pytest.fixture
def table_with(db: None, tmp_path: Path) -> Any:
    """A table of `id`, `s.a`, `s.b`, `l`, in this order, with a property."""

    def make(**properties: str) -> Subject:
        root = factories.RootFactory(name="lake", uri=str(tmp_path))
        columns = {"id": [1], "s": [{"a": 1, "b": 2}], "l": [[1]]}
        place = lakes.delta(tmp_path / "t", columns, configuration=properties)
        return subject_of(syncing.sync(factories.TableFactory(root=root, path=str(place), name="t").pk).pk)

    return make


@pytest.mark.parametrize(
    ("properties", "columns", "named"),
    [
        ({COUNT: "0"}, ["id"], "id"),
        ({COUNT: "2"}, ["id", "s.b"], "s.b"),
        ({COUNT: "1"}, ["s"], "s"),
        ({COUNT: "3"}, ["l"], "l"),
        ({LISTED: "s.b"}, ["id", "s.a"], "id, s.a"),
    ],
)
def test_it_is_refused_with_deltas_condition(table_with: Any, properties: Any, columns: Any, named: str) -> None:
    with pytest.raises(CommandRefused) as refused:
        from_log(table_with(**properties), Optimize("t", zorder_by=columns), None)
    [refusal] = refused.value.refusals
    assert (refusal.code, refusal.engine and refusal.engine.condition) == ("invalid", CONDITION)
    assert refusal.message.startswith(f"Z-Ordering on {named} will be ineffective")
    assert "delta.dataSkippingStatsColumns" in (refusal.remedy or "")


@pytest.mark.parametrize(
    ("properties", "columns"),
    [
        ({}, ["id", "s.b", "l"]),
        ({COUNT: "2"}, ["s"]),
        ({COUNT: "-1"}, ["l"]),
        ({LISTED: "s.b"}, ["s", "s.b"]),
        ({COUNT: "0"}, None),
    ],
)
def test_one_by_others_is_taken(table_with: Any, properties: Any, columns: Any) -> None:
    from_log(table_with(**properties), Optimize("t", zorder_by=columns), None)
