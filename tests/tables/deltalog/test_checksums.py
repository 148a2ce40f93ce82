import json

import pytest

from tables.deltalog.read.problems import Code
from tests.tables.deltalog.writing import add, info


def checksum(writer, version: int, content: bytes | dict) -> None:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    (writer.log / f"{version:020d}.crc").write_bytes(text)


def problems(log, target):
    return [(problem.file[-4:], problem.code, problem.reason) for problem in log.sync(target).snapshot().problems]


def test_a_checksum_that_agrees_is_silent(writer, log, target):
    writer.create(add("a", size=5), add("b", size=7))
    checksum(writer, 0, {"numFiles": 2, "tableSizeBytes": 12})
    assert problems(log, target) == []


def test_a_checksum_that_disagrees_is_said(writer, log, target):
    writer.create(add("a", size=5))
    checksum(writer, 0, {"numFiles": 2, "tableSizeBytes": 12})
    assert problems(log, target) == [
        (".crc", Code.DISAGREES, "the checksum says 12 bytes, the log gives 5"),
        (".crc", Code.DISAGREES, "the checksum says 2 files, the log gives 1"),
    ]


def test_only_the_heads_checksum_is_asked(writer, log, target):
    writer.create(add("a"))
    checksum(writer, 0, {"numFiles": 99})
    writer.commit(1, info(), add("b"))
    assert problems(log, target) == []
    assert len(log.snapshot(0, target).problems) == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"rubbish", "the checksum is not JSON"),
        (b"[]", "not an object"),
        (b'{"numFiles":-1}', "checksum.numFiles"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_a_broken_checksum_is_said_and_does_not_matter(writer, log, target, content, reason):
    writer.create(add("a"))
    checksum(writer, 0, content)
    ((_, code, said),) = problems(log, target)
    assert code is Code.CORRUPT
    assert reason in said
    assert log.sync(target).snapshot().num_files == 1


def test_an_empty_checksum_says_nothing(writer, log, target):
    writer.create(add("a"))
    checksum(writer, 0, b"")
    assert problems(log, target) == []
