"""Directories become links at every step between a request and its commit: nothing outside is opened, listed or changed.

`make soak` swaps each directory at each step; the tests swap one of each command's at every third. The dearest of them,
the rehearsal of a restore, is swapped by `make soak` alone: a delete's rehearsal and a restore itself are there every day.
"""

import itertools
import os

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from tests.jobs.engine.swaps import DELTA, PARQUET, TARGETS, checks_are_steps, swapped_everywhere

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]
NUMBERS = itertools.count(1)
FULL = os.environ.get("LEVEE_SOAK_SIZE") == "full"
STRIDE = 1 if FULL else 3
DEAR = "restore, rehearsal"


@pytest.fixture(autouse=True)
def fine():
    with checks_are_steps():
        yield


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("swaps") / "t"
    write_deltalake(path, pa.table({"id": list(range(10))}), configuration={"delta.enableChangeDataFeed": "true"})
    DeltaTable(path).delete("id = 9")
    return path


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    from tests.factories.lakes import Lake

    return Lake(tmp_path_factory.mktemp("swaps")).write("t/p=1")


@pytest.mark.parametrize(
    "what", [pytest.param(what, marks=pytest.mark.long) if what == DEAR else what for what in DELTA]
)
def test_a_table_swapped_at_any_step_leads_nowhere(engine, table, tmp_path, what):
    targets = TARGETS if FULL else (TARGETS[list(DELTA).index(what) % len(TARGETS)],)
    assert list(swapped_everywhere(engine, DELTA[what], table, tmp_path, targets, NUMBERS, STRIDE)) == []


@pytest.mark.parametrize("what", PARQUET)
def test_a_directory_to_convert_that_is_swapped_leads_nowhere(engine, directory, tmp_path, what):
    targets = ("t", "sub") if FULL else ("sub",)
    assert list(swapped_everywhere(engine, PARQUET[what], directory, tmp_path, targets, NUMBERS, STRIDE)) == []
