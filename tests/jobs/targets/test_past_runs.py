"""How long a rewrite takes, by the runs that this table has seen."""

from datetime import UTC, datetime, timedelta

import pytest

from jobs.targets.past_runs import expected
from tests import factories

pytestmark = pytest.mark.django_db
GIB = 1 << 30
NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


def ran(table, seconds, num_bytes, number, **more):
    metrics = {} if num_bytes is None else {"numRemovedBytes": str(num_bytes)}
    return factories.job(
        "succeeded",
        table=table,
        command="optimize",
        parameters={"n": number},
        claimed_at=NOON,
        finished_at=NOON + timedelta(seconds=seconds),
        result={"operation_metrics": metrics},
        **more,
    )


def test_it_is_the_median_of_seconds_per_byte_of_the_runs_that_tell():
    table = factories.TableFactory()
    for number, (seconds, num_bytes) in enumerate([(10, GIB), (20, GIB), (90, GIB), (60, GIB // 100), (5, None)]):
        ran(table, seconds, num_bytes, number)
    ran(factories.TableFactory(), 500, GIB, 9)
    assert expected(table, "optimize", 2 * GIB) == {"seconds": 40.0, "runs": 3}


@pytest.mark.parametrize("num_bytes", [None, 0, 1000 * GIB])
def test_it_is_unknown_without_bytes_or_without_a_run_of_such_a_size(num_bytes):
    table = factories.TableFactory()
    ran(table, 10, GIB, 1)
    assert expected(table, "optimize", num_bytes) is None
    assert expected(table, "reorg", GIB) is None
