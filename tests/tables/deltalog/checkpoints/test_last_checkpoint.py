import json

import pytest

from tables.deltalog.read.problems import ProblemCode
from tables.deltalog.state.snapshot import load
from tests.tables.deltalog.conftest import paths
from tests.tables.deltalog.writing import PROTOCOL, add, info, metadata


@pytest.fixture
def point(writer):
    """Writes `_last_checkpoint`."""

    def write(content: bytes | dict) -> None:
        text = content if isinstance(content, bytes) else json.dumps(content).encode()
        (writer.log / "_last_checkpoint").write_bytes(text)

    return write


def found(log, target):
    snapshot = log.sync(target).snapshot()
    assert paths(snapshot) == ["a"]
    assert snapshot.complete
    assert {problem.file for problem in snapshot.problems} <= {"_last_checkpoint"}
    return [(problem.code, problem.reason) for problem in snapshot.problems]


STATE = (PROTOCOL, metadata())


@pytest.mark.parametrize("kind", ["classic", "multi-part", "V2"])
def test_one_that_points_to_a_checkpoint_is_silent(writer, log, target, point, kind):
    writer.create(add("a"))
    if kind == "classic":
        writer.checkpoint(0, *STATE, add("a"))
    elif kind == "multi-part":
        writer.multipart(0, STATE, [add("a")])
    else:
        writer.v2(0, *STATE, add("a"))
    point({"version": 0, "size": 3} | ({"parts": 2} if kind == "multi-part" else {}))
    assert found(log, target) == []


@pytest.mark.parametrize(
    "pointer", [{"version": 0}, {"version": 7}, {"version": 0, "parts": 3}, {"version": 0, "parts": 2}]
)
def test_one_that_points_to_nothing_is_said(writer, log, target, point, pointer):
    writer.create(add("a"))
    writer.multipart(0, STATE, [add("a")])[1].unlink()
    point(pointer)
    problems = log.sync(target).snapshot().problems
    assert [problem.code for problem in problems if problem.file == "_last_checkpoint"] == [ProblemCode.DISAGREES]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not JSON"),
        (b'{"version":', "not JSON"),
        (b"\xff", "not UTF-8"),
        (b"[]", "not an object"),
        (b"{}", "no version"),
        (b'{"version":"0"}', "not a whole number"),
        (b'{"version":-1}', "not a whole number"),
        (b"[" * 5000, "nested too deeply"),
        (b'{"version":0,"x":"' + b"y" * (2 << 20) + b'"}', "longer than 1 MiB"),
    ],
)
def test_a_broken_one_is_said_and_does_not_matter(writer, log, target, point, content, reason):
    writer.create(add("a"))
    point(content)
    problems = found(log, target)
    assert problems[0][0] is ProblemCode.CORRUPT
    assert reason in problems[0][1]


def test_a_mended_one_is_silent_at_the_next_sync(writer, log, target, point):
    writer.create(add("a"))
    point(b"rubbish")
    assert found(log, target)
    writer.checkpoint(0, *STATE, add("a"))
    point({"version": 0})
    assert log.sync(target, load(target)).snapshot().problems == ()
    point({"version": 9})
    writer.commit(1, info())
    assert [problem.code for problem in log.sync(target, load(target)).snapshot().problems] == [ProblemCode.DISAGREES]
