import json

import pytest

from tables.deltalog.read.problems import ProblemCode
from tables.deltalog.state.snapshot import load
from tests.tables.deltalog.writing import PROTOCOL, SCHEMA, add, info, metadata


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
        (
            ".crc",
            ProblemCode.DISAGREES,
            "the checksum says 12 bytes, the log gives 5; Delta writes no checkpoint while they differ",
        ),
        (
            ".crc",
            ProblemCode.DISAGREES,
            "the checksum says 2 files, the log gives 1; Delta writes no checkpoint while they differ",
        ),
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
    assert code is ProblemCode.CORRUPT
    assert reason in said
    assert log.sync(target).snapshot().num_files == 1


def test_an_empty_checksum_says_nothing(writer, log, target):
    writer.create(add("a"))
    checksum(writer, 0, b"")
    assert problems(log, target) == []


def opening(**more):
    """What a checksum says of protocol and metadata, as the log of `writer.create` has them but for what is given."""
    return {
        "numFiles": 1,
        "tableSizeBytes": 100,
        "protocol": PROTOCOL["protocol"],
        "metadata": metadata()["metaData"],
    } | more


OTHERS = {
    "schema": {"schemaString": SCHEMA.replace("long", "string")},
    "the same schema with blanks": {"schemaString": SCHEMA.replace(":", " :")},
    "properties": {"configuration": {"delta.appendOnly": "true"}},
    "partition columns": {"partitionColumns": ["day"]},
    "table id": {"id": "another"},
    "comment": {"description": "hello"},
    "creation time": {"createdTime": 5},
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_checksum_with_other_metadata_than_the_log_stops_spark(writer, log, target, name):
    writer.create(add("a"))
    checksum(writer, 0, opening(metadata=metadata()["metaData"] | OTHERS[name]))
    word = "schema" if "schema" in name else name
    assert problems(log, target) == [(".crc", ProblemCode.STOPS_SPARK, f"the checksum’s {word} differs from the log’s")]
    assert log.sync(target).snapshot().complete


def test_a_checksum_with_another_protocol_and_schema_stops_spark(writer, log, target):
    writer.create(add("a"))
    protocol = {"minReaderVersion": 1, "minWriterVersion": 4}
    checksum(writer, 0, opening(protocol=protocol, metadata=metadata(schema="{}")["metaData"]))
    ((_, code, reason),) = problems(log, target)
    assert (code, reason) == (ProblemCode.STOPS_SPARK, "the checksum’s protocol and schema differ from the log’s")


def test_features_of_a_protocol_are_a_set(writer, log, target):
    features = ["appendOnly", "invariants", "changeDataFeed"]
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7}
    writer.commit(0, info(), {"protocol": protocol | {"writerFeatures": features}}, metadata(), add("a"))
    checksum(writer, 0, opening(protocol=protocol | {"writerFeatures": features[::-1]}))
    assert problems(log, target) == []


@pytest.mark.parametrize("left_out", ["protocol", "metadata"])
def test_delta_opens_by_the_log_where_a_checksum_lacks_one_of_the_two(writer, log, target, left_out):
    writer.create(add("a"))
    other = opening(metadata=metadata("another")["metaData"], protocol={"minReaderVersion": 1, "minWriterVersion": 4})
    checksum(writer, 0, {name: value for name, value in other.items() if name != left_out})
    assert problems(log, target) == []


def test_a_checksum_of_an_older_version_stops_nobody(writer, log, target):
    writer.create(add("a"))
    checksum(writer, 0, opening(metadata=metadata("another")["metaData"]))
    assert problems(log, target)
    writer.commit(1, info(), add("b"))
    assert log.sync(target, load(target)).snapshot().problems == ()
