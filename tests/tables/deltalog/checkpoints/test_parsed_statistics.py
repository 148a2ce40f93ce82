"""Statistics that a checkpoint has as columns become the texts that Delta writes, column by column or value by value alike."""

import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables.deltalog.checkpoints import parsed_statistics
from tables.deltalog.checkpoints.parsed_statistics import texts

DAYS = [date(1, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(9999, 12, 31)]
MOMENTS = [datetime(2024, 1, 2, 3, 4, 5, 678_901), datetime(2024, 1, 2), datetime(1972, 1, 12), datetime(9999, 12, 31)]
OLD = [datetime(1900, 1, 1, 1, 2, 3), datetime(1, 1, 1)]
ODD = ['a "b"', "back\\slash", "\n\t\x00\x1f\x7f", "ü 🎈", "", "</script>"]
DOUBLES = [0.0, -0.0, 1.0, 0.1, 1e-5, 1.5e300, 5e-324, 123456789.125, 1e15, 1e16, 1e22, -2.5]


def aware(times):
    return [time.replace(tzinfo=UTC) for time in times]


def decimals(*values):
    return [Decimal(value) for value in values]


COLUMNS = [
    ([1, -(2**63), 2**63 - 1], pa.int64()),
    ([1, 255], pa.uint8()),
    ([True, False], pa.bool_()),
    (DOUBLES, pa.float64()),
    ([math.nan, math.inf, -math.inf, 1.5], pa.float64()),
    ([0.1, 3.0, 1e10], pa.float32()),
    (["a", "b"], pa.string()),
    (ODD, pa.string()),
    (ODD, pa.large_string()),
    (ODD, pa.dictionary(pa.int32(), pa.string())),
    ([b"\x00\xff"], pa.binary()),
    (DAYS, pa.date32()),
    (MOMENTS, pa.timestamp("us")),
    (aware(MOMENTS), pa.timestamp("us", "UTC")),
    (aware(MOMENTS[1:]), pa.timestamp("ms", "UTC")),
    (aware(MOMENTS), pa.timestamp("us", "+00:00")),
    (OLD + MOMENTS, pa.timestamp("us")),
    (aware(OLD + MOMENTS), pa.timestamp("us", "UTC")),
    (decimals("1.50", "2.00", "-0.07", "0.00", "100.00"), pa.decimal128(10, 2)),
    (decimals("100", "-3"), pa.decimal128(5, 0)),
    (decimals("0.0000000001", "5"), pa.decimal128(20, 10)),
    (decimals("1234567890123456789.5", "1"), pa.decimal128(38, 10)),
    ([[1, None], []], pa.list_(pa.int32())),
    ([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
    ([{"x": {"y": 1}}, {"x": {"y": None}}, {"x": None}], pa.struct([("x", pa.struct([("y", pa.int64())]))])),
]


def by_value(values, kind):
    """What JSON a value is, by Python alone."""

    def plain(value):
        if isinstance(value, dict):
            return {name: plain(item) for name, item in value.items() if item is not None}
        if isinstance(value, float) and not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return value

    texts = [json.dumps(plain(value), default=parsed_statistics._json_value) for value in values.to_pylist()]
    return [json.loads(text) for text in texts]


@pytest.mark.parametrize(
    ("values", "kind"), COLUMNS, ids=lambda value: str(value) if isinstance(value, pa.DataType) else ""
)
@pytest.mark.parametrize("gaps", [False, True])
def test_a_columns_texts_are_those_of_its_values(values, kind, gaps):
    column = pa.array([*values, None, values[0]] if gaps else values, kind)
    lost: list[pa.DataType] = []
    found = texts(column, lost)
    assert found.type == pa.string()
    assert [None if text is None else json.loads(text) for text in found.to_pylist()] == by_value(column, kind)
    assert not lost
    assert texts(column.slice(1), []).equals(found.slice(1))


def test_a_whole_number_stays_one_and_a_double_a_double():
    kinds = [type(json.loads(text)) for text in texts(pa.array(DOUBLES), []).to_pylist()]
    assert kinds == [float] * len(DOUBLES)
    assert texts(pa.array([Decimal("2.00"), Decimal("2.50")], pa.decimal128(10, 2)), []).to_pylist() == ["2", "2.5"]


def test_times_end_as_delta_writes_them():
    times = pa.array(aware([*MOMENTS[:2], OLD[0]]), pa.timestamp("us", "UTC"))
    assert texts(times, []).to_pylist() == [
        '"2024-01-02T03:04:05.678901Z"',
        '"2024-01-02T00:00:00.000Z"',
        '"1900-01-01T01:02:03.000+00:00"',
    ]
    assert texts(times.slice(0, 2), []).to_pylist() == texts(times, []).to_pylist()[:2]
    assert texts(pa.array(MOMENTS[:1], pa.timestamp("us")), []).to_pylist() == ['"2024-01-02T03:04:05.678901"']


def test_members_without_a_value_are_left_out_wherever_they_are():
    kind = pa.struct([("a", pa.int64()), ("b", pa.string()), ('c"', pa.int64())])
    rows = [{"a": 1, "b": "x", 'c"': 2}, {"b": "y"}, {'c"': 3}, {}, None, {"a": 4, 'c"': 5}]
    assert texts(pa.array(rows, kind), []).to_pylist() == [
        '{"a":1,"b":"x","c\\"":2}', '{"b":"y"}', '{"c\\"":3}', "{}", None, '{"a":4,"c\\"":5}',
    ]  # fmt: skip
    inner = pa.array([{"s": row} for row in rows], pa.struct([("s", kind)]))
    assert [json.loads(text) for text in texts(inner, []).to_pylist()][3:5] == [{"s": {}}, {}]


def test_values_below_a_struct_that_is_null_are_not_told():
    inner = pa.array([1, 2], pa.int64())
    values = pa.StructArray.from_arrays([inner], ["a"], mask=pa.array([False, True]))
    assert texts(values, []).to_pylist() == ['{"a":1}', None]


@pytest.mark.parametrize(
    ("column", "told"),
    [
        (pa.array([0, 300_000_000_000_000_000], pa.timestamp("us", "UTC")), ['"1970-01-01T00:00:00.000+00:00"', None]),
        (pa.array([0, 2**62], pa.int64()).cast(pa.timestamp("ms")), ['"1970-01-01T00:00:00.000"', None]),
        (pa.array([0, 3_000_000], pa.int32()).cast(pa.date32()), ['"1970-01-01"', None]),
        (pa.Array.from_buffers(pa.string(), 2, pa.array([b"a", b"\xff"]).buffers()), ['"a"', None]),
    ],
)
def test_a_value_that_cant_be_told_is_unknown_alone(column, told):
    lost: list[pa.DataType] = []
    assert texts(column, lost).to_pylist() == told
    assert lost == [column.type]


@given(st.lists(st.none() | st.floats(), min_size=1), st.lists(st.none() | st.text(), min_size=1))
def test_doubles_and_texts_are_read_back(doubles, words):
    words = [None if word is None else word.encode(errors="replace").decode() for word in words]
    for column in (pa.array(doubles, pa.float64()), pa.array(words, pa.string())):
        found = [None if text is None else json.loads(text) for text in texts(column, []).to_pylist()]
        assert found == by_value(column, column.type)
