"""The short way to read an add gives what the long way gives, or leaves the line to it."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables.deltalog.read.lines import actions_in
from tables.deltalog.read.parsing import parse_action
from tables.deltalog.read.problems import Problems
from tables.deltalog.read.usual_adds import LONGEST, usual_add
from tests.soak.damage import Damage
from tests.tables.deltalog.writing import add

STATS = '{"numRecords":7,"minValues":{"id":1,"name":"a \\"quoted\\" \\\\ name"},"nullCount":{"id":0}}'
VALUES = {"day": "2024-01-01", "city": None}
TEXTS = st.text(max_size=12) | st.sampled_from(
    ["a", "ü", "\x00", "\ud800", "\\", '"', "}", "a/../b", "%41", "/x", "s3:x"]
)


def line(**more):
    """A line as Delta writes it, without blanks."""
    value = add("part-0.parquet", partition=VALUES)["add"] | {"stats": STATS} | more
    return json.dumps({"add": value}, separators=(",", ":"), ensure_ascii=False).encode(errors="surrogatepass")


def parsed(content):
    """What a parse of the whole line gives, with its problems."""
    problems = Problems()
    pairs = actions_in(content, 1, "f", problems)
    actions = [parse_action(name, value, "f", problems) for name, value in pairs]
    return actions, problems.found()


def agrees(content):
    """Whether the short way took the line. Fails where it read it otherwise than the long way, or passed over a problem."""
    usual = usual_add(content)
    if usual is not None:
        assert parsed(content) == ([usual], ())
    return usual is not None


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"partitionValues": {}},
        {"partitionValues": {"day": "ü"}},
        {"path": "day=ü/part-1.parquet"},
        {"size": 0, "modificationTime": 10**17},
        {"dataChange": False},
        {"stats": '{"numRecords":0}'},
        {"stats": None},
        {"stats": '{"numRecords":5,"minValues":{"a":"ü\\n\\t/"}}'},
    ],
)
def test_what_delta_writes_is_read_the_short_way(more):
    assert agrees(line(**more))


@pytest.mark.parametrize(
    "more",
    [
        {"tags": {}},
        {"deletionVector": None},
        {"path": "/elsewhere"},
        {"path": "a/../../b"},
        {"path": "s3://x/y"},
        {"path": "a%20b"},
        {"path": ""},
        {"partitionValues": {"a": 1}},
        {"partitionValues": {"a": {}}},
        {"partitionValues": {"a": "\x00"}},
        {"partitionValues": None},
        {"size": -1},
        {"size": 2**63},
        {"size": 1.0},
        {"modificationTime": None},
        {"dataChange": None},
        {"stats": "{}"},
        {"stats": 5},
        {"stats": '{"minValues":{},"numRecords":5}'},
        {"stats": '{"numRecords":5,"a":"\x00"}'},
        {"stats": '{"numRecords":5,"a":"ü\x00"}'},
        {"stats": '{"numRecords":5,"a":"' + "x" * LONGEST + '"}'},
    ],
)
def test_anything_else_is_left_to_the_parse(more):
    assert not agrees(line(**more))


def without_statistics():
    return line().replace(b',"stats":' + json.dumps(STATS).encode(), b"")


def test_a_file_without_statistics_is_read_the_short_way():
    assert agrees(without_statistics())


@pytest.mark.parametrize(
    "content",
    [
        without_statistics() + b"}",
        without_statistics() + b"\n",
        without_statistics()[:-1],
        without_statistics().replace(b"}}", b',"tags":{}}}'),
        without_statistics().replace(b"}}", b"}} "),
    ],
)
def test_a_line_that_is_not_quite_one_without_statistics_is_left_to_the_parse(content):
    assert not agrees(content)


@pytest.mark.parametrize("escape", ["\\u0000", "\\ud800", "\\udc00 ü", "ü \\u0000", "ü \\ud83d"])
def test_what_no_database_stores_is_left_to_the_parse(escape):
    content = line().replace(b"quoted", escape.encode())
    assert not agrees(content)
    (action,), _ = parsed(content)
    assert action.stats.encode()
    assert "\x00" not in action.stats


@pytest.mark.parametrize(
    "content",
    [
        line() + b" ",
        line() + b"}",
        line()[:-1],
        line()[:-3],
        b" " + line(),
        b"\xef\xbb\xbf" + line(),
        line().replace(b"part", b"p\xff"),
        line().replace(b"quoted", b"\xff"),
        line().replace(b"quoted", b"\x01"),
        line().replace(b"quoted", b"\\x"),
        line().replace(b'"size":', b'"size":0'),
        line().replace(b'"size":', '"size":٣'.encode()),
        line().replace(b'"dataChange"', b'"path":"b","dataChange"'),
        line().replace(b"}}", b'},"remove":{"path":"a"}}'),
        line().replace(b'{"add"', b'{"add":{},"add"'),
        line().replace(b"}}", b',"path":"b"}}'),
    ],
)
def test_a_line_that_is_not_quite_one_is_left_to_the_parse(content):
    assert not agrees(content)


def test_of_values_named_twice_both_ways_take_the_last():
    assert agrees(line().replace(b'{"day"', b'{"day":"x","day"'))


@given(
    path=TEXTS, values=st.dictionaries(TEXTS, TEXTS | st.none(), max_size=2), tail=TEXTS, size=st.integers(-2, 2**64)
)
def test_both_ways_agree_whatever_the_texts(path, values, tail, size):
    stats = json.dumps({"numRecords": 3, "maxValues": {"a": tail}}, separators=(",", ":"))
    agrees(line(path=path, partitionValues=values, size=size, stats=stats))


def test_both_ways_agree_however_a_line_is_damaged():
    chance = random.Random(20_241_122)
    damage, sound = Damage(chance), line()
    taken = 0
    for _ in range(5_000):
        content = bytearray(sound)
        if chance.random() < 0.5:
            content = bytearray(damage.text(sound.decode()).encode())
        elif content:
            at = chance.randrange(len(content))
            content[at : at + chance.choice([0, 1, 1, 3])] = chance.choice(
                [b"", b'"', b"\\", b"}", b"{", b"0", b"\x00", b"\xff", b":", b"."]
            )
        taken += agrees(bytes(content))
    assert 100 < taken < 4_900
