"""Logs that are broken on purpose: everything that is not broken is still shown, and what is broken is named."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tables.deltalog.read.problems import ProblemCode
from tables.storage.store import StorageError
from tests.tables.deltalog.conftest import paths
from tests.tables.deltalog.writing import PROTOCOL, add, info, metadata, remove

GOOD = json.dumps(add("good")).encode()


def read(log, target):
    """All commits and the snapshot of a first sync."""
    run = log.sync(target)
    commits = list(run.commits())
    return commits, run.snapshot()


def reasons(problems) -> str:
    return "\n".join(f"{problem.file}: {problem.reason}" for problem in problems)


BROKEN_LINES = {
    "truncated": (GOOD[: len(GOOD) // 2], "not JSON"),
    "cut in a text": (b'{"add":{"path":"x', "not JSON"),
    "bad UTF-8": (b'{"add":{"path":"\xff\xfe"}}', "not UTF-8"),
    "two values": (b"{} {}", "not JSON"),
    "a number": (b"7", "holds no action"),
    "null": (b"null", "holds no action"),
    "an empty object": (b"{}", "holds no action"),
    "a list": (b"[1]", "holds no action"),
    "an action that is text": (b'{"add":"x"}', "add is not an object"),
    "NaN": (b'{"add":{"path":"x","size":NaN}}', "NaN is not JSON"),
    "a number without end": (b'{"add":{"path":"x","size":' + b"9" * 5000 + b"}}", "line 3: a number is too long"),
    "deep nesting": (b'{"add":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
    "deep nesting in a text": (b'{"commitInfo":' + b'{"a":' * 900 + b'"\\ud800"' + b"}" * 900 + b"}", ""),
    "no path": (b'{"add":{"size":1}}', "without a path"),
    "an empty path": (b'{"add":{"path":""}}', "without a path"),
    "negative size": (b'{"add":{"path":"x","size":-1}}', "add.size"),
    "a size of 70 bits": (b'{"add":{"path":"x","size":1180591620717411303424}}', "add.size"),
    "a size in text": (b'{"add":{"path":"x","size":"1"}}', "add.size"),
    "a size with a fraction": (b'{"add":{"path":"x","size":1.5}}', "add.size"),
    "a truth for a size": (b'{"add":{"path":"x","size":true}}', "add.size"),
    "partition values in a list": (b'{"add":{"path":"x","partitionValues":["a"]}}', "add.partitionValues"),
    "statistics that are no JSON": (b'{"add":{"path":"x","stats":"{"}}', "statistics"),
    "statistics that are a list": (b'{"add":{"path":"x","stats":"[]"}}', "statistics"),
    "negative rows": (b'{"add":{"path":"x","stats":"{\\"numRecords\\":-4}"}}', "stats.numRecords"),
    "an unknown deletion vector": (b'{"add":{"path":"x","deletionVector":{"storageType":"q"}}}', "deletionVector"),
    "a negative cardinality": (
        b'{"add":{"path":"x","deletionVector":{"storageType":"u","pathOrInlineDv":"a","cardinality":-1}}}',
        "deletionVector",
    ),
    "a time beyond all years": (b'{"commitInfo":{"timestamp":99999999999999999}}', "commitInfo.timestamp"),
    "a transaction without a version": (b'{"txn":{"appId":"a"}}', "txn without"),
    "a domain without a name": (b'{"domainMetadata":{"configuration":"{}"}}', "domainMetadata without"),
    "a protocol of texts": (b'{"protocol":{"minReaderVersion":"1","minWriterVersion":2}}', "protocol.minReaderVersion"),
    "features that are no list": (b'{"protocol":{"readerFeatures":"all"}}', "protocol.readerFeatures"),
    "an unknown action": (b'{"frobnicate":{"x":1}}', "frobnicate"),
}


@pytest.mark.parametrize("name", BROKEN_LINES)
def test_a_broken_line_is_named_and_all_others_are_read(writer, log, target, name):
    line, reason = BROKEN_LINES[name]
    writer.create(add("first"))
    writer.raw(1, b"\n".join([json.dumps(info()).encode(), GOOD, line, json.dumps(add("last")).encode()]) + b"\n")
    writer.commit(2, info(), remove("first"))
    commits, snapshot = read(log, target)
    assert [commit.version for commit in commits] == [0, 1, 2]
    assert {"good", "last"} <= set(paths(snapshot))
    assert "first" not in paths(snapshot)
    assert reason in reasons(commits[1].problems)
    assert all(problem.file == writer.file(1).name for problem in commits[1].problems)


@pytest.mark.parametrize(
    "action",
    [
        info(isBlindAppend="true"),
        info(readVersion="3"),
        info(timestamp="2020-01-01"),
        info(timestamp=-5),
        info(inCommitTimestamp="x"),
        add("b", stats="no JSON"),
        add("b", stats="[1]"),
        add("b", stats=7),
        add("b", **{"size": "7"}),  # type: ignore[arg-type]
        add("b", modificationTime=-1),
        add("b", dataChange="yes"),
        add("b", baseRowId=-1, tags=[1], clusteringProvider=5),
        remove("x", deletionTimestamp=-1, partitionValues=[], size=-1, stats="no JSON"),
        {"txn": {"appId": "a", "version": 1, "lastUpdated": -1}},
        {"cdc": {"path": "c", "partitionValues": [], "size": "x"}},
    ],
)
def test_an_odd_value_that_the_state_can_do_without_is_odd_and_nothing_is_lost(writer, log, target, action):
    writer.create(add("a"))
    writer.commit(1, action)
    commits, snapshot = read(log, target)
    assert {problem.code for problem in commits[1].problems} <= {
        ProblemCode.ODD,
        ProblemCode.STOPS_SPARK,
    }  # which: test_odd_kinds
    assert commits[1].problems
    assert snapshot.complete
    assert "a" in paths(snapshot)
    assert log.snapshot(1, target).complete


def test_a_first_metadata_without_a_schema_matters_until_another_comes(writer, log, target):
    bare = metadata()
    del bare["metaData"]["schemaString"]
    writer.commit(0, info(), PROTOCOL, bare, add("a"))
    _, snapshot = read(log, target)
    assert not snapshot.complete
    assert "no schema" in reasons(snapshot.problems)
    writer.commit(1, info(), metadata())
    assert read(log, target)[1].complete


@pytest.mark.parametrize(
    "path", ["../x", "a/../../x", "/etc/passwd", "file:///etc/passwd", "s3://other/x", "%2e%2e/x", "a%2f..%2f..%2fx"]
)
def test_a_path_that_leaves_the_table_is_said(writer, log, target, path):
    writer.create(add(path))
    commits, snapshot = read(log, target)
    assert [problem.code for problem in commits[0].problems] == [ProblemCode.OUTSIDE]
    assert paths(snapshot) == [path]
    assert snapshot.complete


@pytest.mark.parametrize("path", ["a..b", "p=50%25/x", "day=2024-01-01 10%3A00/x", "ü/x", "_change_data/x"])
def test_an_odd_path_inside_the_table_is_no_problem(writer, log, target, path):
    writer.create(add(path))
    assert read(log, target)[1].problems == ()


def test_a_gap_is_said_and_the_rest_is_shown(writer, log, target):
    writer.create(add("a"))
    writer.commit(3, info(), add("d"))
    commits, snapshot = read(log, target)
    assert [commit.version for commit in commits] == [0, 3]
    assert paths(snapshot) == ["a", "d"]
    assert not snapshot.complete
    assert [problem.file for problem in snapshot.problems] == [writer.file(1).name]
    assert "2 commits from this one to version 2" in snapshot.problems[0].reason


def test_a_lost_beginning_is_said(writer, log, target):
    writer.commit(4, info(), add("d"))
    _, snapshot = read(log, target)
    assert not snapshot.complete
    assert snapshot.metadata is None
    assert "no readable metaData" in reasons(snapshot.problems)
    assert paths(snapshot) == ["d"]


def test_of_two_metadata_actions_the_last_counts(writer, log, target):
    writer.commit(0, info(), PROTOCOL, metadata("one"), metadata("two"))
    commits, snapshot = read(log, target)
    assert snapshot.metadata.id == "two"
    assert "more than one metaData" in reasons(commits[0].problems)


def test_a_future_protocol_is_shown_by_name(writer, log, target):
    features = {"readerFeatures": ["timeMachine", "columnMapping"], "writerFeatures": ["timeMachine"]}
    writer.commit(
        0, info(), {"protocol": {"minReaderVersion": 4, "minWriterVersion": 9, **features}}, metadata(), add("a")
    )
    _, snapshot = read(log, target)
    assert paths(snapshot) == ["a"]
    assert snapshot.understanding.needs == ("reader version 4", "timeMachine")
    assert "needs feature timeMachine" in snapshot.understanding.texts


def test_an_empty_commit_is_said(writer, log, target):
    writer.create()
    writer.raw(1, b"")
    commits, _ = read(log, target)
    assert "no action" in reasons(commits[1].problems)


def test_blank_lines_and_windows_line_ends_are_no_problem(writer, log, target):
    lines = [json.dumps(action).encode() for action in (info(), PROTOCOL, metadata(), add("a"))]
    writer.raw(0, b"\r\n\r\n".join(lines))
    commits, snapshot = read(log, target)
    assert commits[0].problems == ()
    assert paths(snapshot) == ["a"]


def test_texts_that_no_database_stores_are_replaced(writer, log, target):
    writer.raw(0, b'{"commitInfo":{"operation":"W\\u0000RITE","userMetadata":"\\ud800"}}\n{"add":{"path":"a\\udfff"}}')
    commits, snapshot = read(log, target)
    assert commits[0].operation == "W\ufffdRITE"
    commits[0].user_metadata.encode()
    assert paths(snapshot) == ["a?"]


def test_many_problems_are_counted_not_kept(writer, log, target):
    for version in range(100):
        writer.raw(version, b"rubbish")
    _, snapshot = read(log, target)
    assert len(snapshot.problems) == 51
    assert snapshot.problems[-1].code is ProblemCode.MORE


def test_a_schema_that_is_rubbish_does_not_hide_the_table(writer, log, target):
    writer.commit(
        0, info(), PROTOCOL, metadata(schema="{", partition=["day"], delta__columnMapping__mode="name"), add("a")
    )
    _, snapshot = read(log, target)
    assert paths(snapshot) == ["a"]


def test_a_partition_column_named_twice_is_one(writer, log, target):
    writer.commit(0, info(), PROTOCOL, metadata(partition=["day", "day"]), add("a", partition={"day": "x"}))
    _, snapshot = read(log, target)
    assert snapshot.files().column("partition.day").to_pylist() == ["x"]


def test_a_pipe_named_like_a_commit_blocks_nothing(writer, log, target):
    writer.create(add("a"))
    os.mkfifo(writer.file(1))
    commits, snapshot = read(log, target)
    assert [commit.version for commit in commits] == [0]
    assert paths(snapshot) == ["a"]


def test_a_link_named_like_a_commit_is_not_followed(writer, log, target, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text(json.dumps(add("secret")))
    writer.create(add("a"))
    writer.file(1).symlink_to(secret)
    writer.commit(2, info())
    _, snapshot = read(log, target)
    assert paths(snapshot) == ["a"]
    assert ProblemCode.MISSING in [problem.code for problem in snapshot.problems]


def test_a_log_that_is_a_link_is_refused(writer, log, target, tmp_path):
    writer.create()
    writer.log.rename(tmp_path / "elsewhere")
    writer.log.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="link"):
        log.exists()


def test_an_unreadable_commit_is_said(writer, log, target, monkeypatch):
    writer.create(add("a"))
    writer.commit(1, info(), add("b"))
    real = os.read

    def failing(descriptor: int, size: int) -> bytes:
        if Path(f"/proc/self/fd/{descriptor}").readlink().name == writer.file(1).name:
            raise OSError(5, "Input/output error")
        return real(descriptor, size)

    monkeypatch.setattr(os, "read", failing)
    commits, snapshot = read(log, target)
    assert [problem.code for problem in commits[1].problems] == [ProblemCode.UNREADABLE]
    assert paths(snapshot) == ["a"]


HUGE = {
    "one line of 300 MB": lambda path: _write(path, b'{"add":{"path":"', b"x" * (1 << 20), 300),
    "a line of 300 MB without an end, all brackets": lambda path: _write(path, b'{"add":', b"[" * (1 << 20), 300),
    "8 MB of empty lists": lambda path: _write(path, b'{"add":{"path":"x","partitionValues":[', b"[]," * 2_700_000, 1),
    "8 MB of digits": lambda path: _write(path, b'{"add":{"path":"x","size":', b"9" * 8_000_000, 1),
    "8 MB of wide characters": lambda path: _write(
        path, b'{"commitInfo":{"operation":"', "😀".encode() * 2_000_000 + b'"}}', 1
    ),
    "a million bad lines": lambda path: _write(path, b"", b"rubbish\n" * 10_000, 100),
    "half a million unknown actions": lambda path: _write_numbered(path, b'{"action%d":{}}\n'),
    "half a million transactions": lambda path: _write_numbered(path, b'{"txn":{"appId":"app-%d","version":1}}\n'),
    "half a million domains": lambda path: _write_numbered(
        path, b'{"domainMetadata":{"domain":"%d","configuration":""}}\n'
    ),
    "transactions with names of 7 MB": lambda path: _write_long(path, b'{"txn":{"version":1,"appId":"'),
    "domains with texts of 7 MB": lambda path: _write_long(
        path, b'{"domainMetadata":{"configuration":"', b'","domain":"%d"}}\n'
    ),
    "paths of 7 MB": lambda path: _write_long(path, b'{"add":{"path":"'),
    "350,000 partition columns": lambda path: path.write_text(
        json.dumps(metadata(partition=[f"c{n}" for n in range(350_000)])) + "\n" + GOOD.decode()
    ),
    "partition values of 7 MB": lambda path: _write_long(
        path, b'{"add":{"partitionValues":{"day":"', b'"},"path":"p%d"}}\n'
    ),
}


# The rest of each kind, which takes seconds to read.
DEAR = (
    "half a million unknown actions", "half a million transactions", "half a million domains", "a million bad lines", "paths of 7 MB",
    "transactions with names of 7 MB", "domains with texts of 7 MB", "parsed statistics", "paths", "transactions",
)  # fmt: skip


def named(cases):
    return [pytest.param(name, marks=pytest.mark.dear if name in DEAR else ()) for name in cases]


SOUND = ("8 MB of wide characters", "paths of 7 MB", "partition values of 7 MB")


def _write_long(path: Path, start: bytes, end: bytes = b'%d"}}\n') -> None:
    """Forty lines of 7 MB that differ at their end."""
    with open(path, "wb") as file:
        for number in range(40):
            file.write(start + b"x" * 7_000_000 + end % number)
        file.write(GOOD + b"\n")


def _same(text: str, count: int) -> pa.Array:
    """One text many times over, which parquet keeps as a few bytes."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), [text])


def _numbered(count: int) -> pa.Array:
    return pa.array([f"f{number}" for number in range(count)])


def _struct(**members: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays(list(members.values()), list(members))


def _values(count: int) -> pa.Array:
    return pa.MapArray.from_arrays(
        pa.array(range(count + 1), pa.int32()), _same("day", count), _same("x" * 20_000, count)
    )


UNFOLDING: dict[str, Callable[[], pa.Table]] = {
    "statistics": lambda: pa.table({"add": _struct(path=_numbered(15_000), stats=_same("x" * 20_000, 15_000))}),
    "paths": lambda: pa.table({"add": _struct(path=_same("x" * 20_000, 15_000))}),
    "partition values": lambda: pa.table({"add": _struct(path=_numbered(15_000), partitionValues=_values(15_000))}),
    "parsed statistics": lambda: pa.table(
        {"add": _struct(path=_numbered(15_000), stats_parsed=_struct(minValues=_struct(a=_same("x" * 20_000, 15_000))))}
    ),
    "transactions": lambda: pa.table(
        {"txn": _struct(appId=_same("x" * 20_000, 100_000), version=pa.array(range(100_000)))}
    ),
    "a text of 100 MB": lambda: pa.table({"add": _struct(path=_same("x" * 100_000_000, 2))}),
}


@pytest.mark.parametrize("name", named(UNFOLDING))
def test_a_checkpoint_that_unfolds_takes_less_than_200_mb(writer, target, name):
    writer.create(add("a"))
    writer.commit(1, info(), add("good"))
    _, part = writer.multipart(0, [PROTOCOL, metadata()], [])
    pq.write_table(UNFOLDING[name](), part, compression="zstd")
    assert part.stat().st_size < 1 << 20
    added_kib, count, names, problems = sync_apart(writer, target)
    assert added_kib < 200 * 1024
    assert "good" in names
    assert count > 15_000 or name in ("transactions", "a text of 100 MB")
    assert any("not used" in reason for reason in problems) == (name == "a text of 100 MB")


def _write(path: Path, start: bytes, piece: bytes, times: int) -> None:
    with open(path, "wb") as file:
        file.write(start)
        for _ in range(times):
            file.write(piece)
        file.write(b"\n" + GOOD + b"\n")


def _write_numbered(path: Path, line: bytes) -> None:
    with open(path, "wb") as file:
        for number in range(500_000):
            file.write(line % number)
        file.write(GOOD + b"\n")


PROGRAM = """
import json, re, sys
from pathlib import Path
import pyarrow.compute as pc
from tables.deltalog.replay.log import open_log

def peak():  # of this program alone: ru_maxrss would begin with its parent's
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

before = peak()
run = open_log(sys.argv[1]).sync(Path(sys.argv[2]))
commits = list(run.commits())
snapshot = run.snapshot()
added = peak() - before
names = snapshot.files().column("path")
short = pc.filter(names, pc.less(pc.binary_length(names), 100)).to_pylist()
reasons = [p.reason for p in (*commits[-1].problems, *snapshot.problems)]
print(json.dumps([added, snapshot.num_files, sorted(short), reasons]))
"""


def sync_apart(writer, target):
    """A first sync in a process of its own: the peak memory in KiB that it adds, files, names that are not long, reasons."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(writer.table), str(target)],
        capture_output=True, text=True, env=environment, check=True, timeout=120,
    )  # fmt: skip
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", named(HUGE))
def test_a_huge_commit_takes_less_than_200_mb(writer, target, name):
    writer.create(add("a"))
    HUGE[name](writer.file(1))
    added_kib, _, files, problems = sync_apart(writer, target)
    assert added_kib < 200 * 1024
    assert {"a", "good"} <= set(files)
    assert problems or name in SOUND
