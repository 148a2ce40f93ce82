"""How many rows a file has by statistics that were cut off, go on behind, or say it twice: unknown, by every way that reads them."""

import json

import pyarrow as pa
import pytest

from tables.deltalog.checkpoints.rows import _num_records
from tables.deltalog.read.actions import AddFile
from tables.deltalog.read.parsing import _in_lines, num_records_of
from tables.deltalog.read.problems import Problems

SOUND = {
    '{"numRecords":10}': 10,
    '{ "numRecords" : 0 , "nullCount":{"a":1}}': 0,
    '{"nullCount":{},"numRecords":3}': 3,
    '{"numRecords":4,"minValues":{"a":"x{y"}}': 4,
    '{"numRecords":5,"maxValues":{"numRecords":9}}': 5,
    '{"numRecords":6,"minValues":{"numRecords":1},"maxValues":{"numRecords":9}} ': 6,
}
DAMAGED = [
    '{"numRecords":10,"minValues":{',
    '{"numRecords":10,"minValues":{"a":1}',
    '{"numRecords":1,"numRecords":5}',
    '{"numRecords":1,"minValues":{"a":1},"numRecords":5}',
    '{"numRecords":3} trailing',
    '{"numRecords":3}{"numRecords":9}',
    '{"numRecords":007}',
    '{"numRecords":3}}',
    '{"numRecords":5}, and what is no JSON',
]


def in_a_commit(stats):
    add = {
        "path": "a.parquet",
        "partitionValues": {},
        "size": 1,
        "modificationTime": 1,
        "dataChange": True,
        "stats": stats,
    }
    problems = Problems()
    [action] = _in_lines(1, json.dumps({"add": add}, separators=(",", ":")).encode(), "0.json", problems)
    assert isinstance(action, AddFile)
    return action.num_records, problems.found()


def in_a_checkpoint(stats):
    problems = Problems()
    others = ['{"numRecords":7}', None]
    [count, *rest] = _num_records(pa.array([stats, *others]), "c.parquet", problems).to_pylist()
    assert rest == [7, None]
    return count, problems.found()


def by_itself(stats):
    problems = Problems()
    return num_records_of(stats, "f", problems), problems.found()


WAYS = [by_itself, in_a_commit, in_a_checkpoint]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("stats", DAMAGED)
def test_what_damaged_statistics_say_is_unknown_and_said_so(stats, way):
    count, problems = way(stats)
    assert count is None
    assert [problem.reason for problem in problems] == ["statistics of a file are not readable"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("stats", SOUND)
def test_what_sound_ones_say_is_known(stats, way):
    assert way(stats) == (SOUND[stats], ())
