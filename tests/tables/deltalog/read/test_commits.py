from datetime import UTC, datetime, timedelta

import pytest

from tables.deltalog.read.actions import AddFile, CommitInfo, RemoveFile, UnknownAction
from tables.deltalog.read.problems import ProblemCode, Problems
from tables.deltalog.replay.log import job_of
from tables.storage.store import StorageError
from tests.tables.deltalog.writing import PROTOCOL, add, info, metadata, remove, vector

BASE = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


def test_a_commit_says_what_describe_history_says(writer, commits):
    writer.create()
    writer.commit(
        1,
        info(
            "DELETE",
            operationParameters={
                "predicate": '["(id#1L = 1)"]',
                "numFiles": 4,
                "collectStats": False,
                "timestamp": None,
            },
            operationMetrics={"numRemovedFiles": "1"},
            readVersion=0,
            isolationLevel="Serializable",
            isBlindAppend=False,
            txnId="t-1",
            engineInfo="Apache-Spark/4.2.0 Delta-Lake/4.4.0",
            userMetadata='{"job":"j"}',
        ),
    )
    _, commit = commits()
    assert commit.operation == "DELETE"
    assert commit.operation_parameters == {
        "predicate": '["(id#1L = 1)"]',
        "numFiles": "4",
        "collectStats": "false",
        "timestamp": None,
    }
    assert commit.operation_metrics == {"numRemovedFiles": "1"}
    assert (commit.read_version, commit.isolation_level, commit.is_blind_append) == (0, "Serializable", False)
    assert (commit.txn_id, commit.user_metadata) == ("t-1", '{"job":"j"}')
    assert commit.problems == ()


def test_a_convert_reads_version_minus_one(writer, commits):
    writer.commit(0, info("CONVERT", readVersion=-1), PROTOCOL, metadata())
    (commit,) = commits()
    assert commit.read_version == -1
    assert commit.problems == ()


def test_it_counts_files_bytes_and_rows(writer, commits):
    writer.create(add("a", rows=10, size=100), add("b", rows=5, size=50))
    writer.commit(
        1,
        info(),
        remove("a", size=100, stats='{"numRecords":10}'),
        add("a", rows=10, size=100, deletionVector=vector("x", 3)),
    )
    first, second = commits()
    assert (first.num_added_files, first.added_bytes, first.rows_added) == (2, 150, 15)
    assert (second.num_removed_files, second.removed_bytes, second.rows_removed, second.rows_added) == (1, 100, 10, 7)


def test_an_unknown_part_makes_the_sum_unknown(writer, commits):
    writer.create(add("a", rows=10), add("b", rows=None))
    (commit,) = commits()
    assert commit.rows_added is None
    assert commit.added_bytes == 200


def test_times_rise_as_delta_reports_them(writer, commits):
    start = 1_700_000_000_000
    writer.commit(0, info(), PROTOCOL, metadata(), modified_ms=start)
    writer.commit(1, info(), modified_ms=start - 5000)
    writer.commit(2, info(), modified_ms=start + 1)
    writer.commit(3, info(), modified_ms=start + 60_000)
    times = [commit.committed_at - BASE for commit in commits()]
    assert times == [timedelta(milliseconds=n) for n in (0, 1, 2, 60_000)]


@pytest.mark.parametrize(
    "action",
    [
        {"txn": {"appId": "a", "version": 1}},
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 4}},
        {"cdc": {"path": "_change_data/c", "partitionValues": {}, "size": 1, "dataChange": False}},
        {"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}},
    ],
)
def test_a_commit_needs_no_commit_info(writer, log, target, action):
    writer.create(add("a"))
    writer.commit(1, action)
    run = log.sync(target)
    assert [commit.problems for commit in run.commits()] == [(), ()]
    assert run.snapshot().complete
    assert run.snapshot().problems == ()


def test_an_empty_commit_is_said_and_harms_nothing(writer, log, target):
    writer.create(add("a"))
    writer.raw(1, b"")
    snapshot = log.sync(target).snapshot()
    assert [problem.code for problem in snapshot.problems] == [ProblemCode.EMPTY]
    assert snapshot.complete


def test_an_unknown_action_is_shown_by_name(writer, commits):
    writer.create({"futureAction": {"x": 1}})
    (commit,) = commits()
    assert commit.unknown_actions == ("futureAction",)
    assert commit.problems[0].code is ProblemCode.UNSUPPORTED


def test_the_actions_of_a_commit_are_typed(writer, log):
    writer.create(add("a"), remove("b"), {"futureAction": {}})
    kinds = [type(action) for action in log.actions(0)]
    assert kinds[0] is CommitInfo
    assert kinds[3:] == [AddFile, RemoveFile, UnknownAction]


def test_a_missing_commit_has_no_actions_and_says_so(writer, log):
    problems = Problems()
    assert list(log.actions(3, problems)) == []
    assert problems.found()[0].code is ProblemCode.MISSING


def test_a_mark_is_found_by_its_job(writer, log):
    writer.create()
    writer.commit(1, info(userMetadata='{"note":"job-2"}'))
    writer.commit(2, info(userMetadata='{"job": "job-2", "attempt": 1}'))
    found = log.find_mark("job-2")
    assert found is not None
    assert found.version == 2
    assert log.find_mark("job-2", since=2) is None
    assert log.find_mark("job-3") is None


def test_a_commit_that_can_not_be_read_may_hold_the_mark(writer, log, monkeypatch):
    """To say that there is none would be a guess: the file was listed, and its store failed before it was read to its end."""
    writer.create()
    writer.commit(1, info(userMetadata='{"job": "job-1"}'))
    writer.commit(2, info(userMetadata='{"job": "job-2"}'))
    chunks = log.storage.chunks

    def fails(path, size):
        if "1.json" in path:
            yield b'{"comm'
            raise StorageError("the store is out of order")
        yield from chunks(path, size)

    monkeypatch.setattr(log.storage, "chunks", fails)
    for look in (lambda job: log.find_mark(job), lambda job: log.look_for_mark(job, 0, 10)):
        for job in ("job-1", "job-2", "job-3"):
            with pytest.raises(StorageError, match="the store is out of order"):
                look(job)
    assert log.find_mark("job-2", since=1).version == 2


def test_where_a_commit_is_gone_it_may_have_been_the_one(writer, log):
    writer.create()
    for version in (1, 2, 3):
        writer.commit(version, info())
    place = writer.table / "_delta_log"
    assert log.find_mark("job-1", since=1) is None
    (place / f"{1:020}.json").unlink()
    assert log.find_mark("job-1", since=1) is None  # it begins right after
    with pytest.raises(StorageError, match="version 1 is missing"):
        log.find_mark("job-1", since=0)
    for commit in place.glob("*.json"):
        commit.unlink()
    assert log.find_mark("job-1") is None
    with pytest.raises(StorageError, match="neither version 3 nor a later one"):
        log.find_mark("job-1", since=3)


def test_a_mark_in_a_file_name_is_no_mark(writer, log):
    writer.create(add('job-2"job"'))
    assert log.find_mark("job-2") is None


def test_foreign_user_metadata_names_no_job():
    assert job_of("free text") is None
    assert job_of('{"job": 7}') is None
    assert job_of('["job"]') is None
    assert job_of('{"job": "a"') is None


@pytest.mark.parametrize(
    ("said", "engine"),
    [
        ({"clientVersion": "delta-rs.0.17.0"}, "delta-rs.0.17.0"),
        ({"clientVersion": "delta-rs.0.17.0", "engineInfo": None}, "delta-rs.0.17.0"),
        ({"clientVersion": "delta-rs.0.25.5", "engineInfo": ""}, "delta-rs.0.25.5"),
        ({"clientVersion": "delta-rs.1.6.0", "engineInfo": "delta-rs:py-1.6.0"}, "delta-rs:py-1.6.0"),
        ({"engineInfo": {"name": "x", "version": [1, None]}}, '{"name":"x","version":[1,null]}'),
        ({"engineInfo": 7}, "7"),
        ({}, None),
    ],
)
def test_the_engine_is_what_the_writer_calls_itself(writer, commits, said, engine):
    writer.create()
    writer.commit(1, info(**said))
    commit = commits()[1]
    assert (commit.engine_info, commit.problems) == (engine, ())


def test_a_writer_may_name_users_by_numbers(writer, commits):
    writer.create()
    writer.commit(1, info(userId=4711, userName="ana@example.org"))
    writer.commit(2, info(userId="4711"))
    assert [(c.user_id, c.user_name, c.problems) for c in commits()[1:]] == [
        ("4711", "ana@example.org", ()),
        ("4711", None, ()),
    ]


@pytest.mark.parametrize("value", ["text", ["a"], 3])
def test_parameters_that_are_no_map_are_said_and_harm_nothing(writer, log, target, value):
    writer.create(add("a"))
    writer.commit(1, info(operationParameters=value, clientVersion="delta-rs.0.17.0"))
    run = log.sync(target)
    commit = list(run.commits())[1]
    assert (commit.operation_parameters, commit.engine_info) == ({}, "delta-rs.0.17.0")
    assert [problem.code for problem in commit.problems] == [ProblemCode.STOPS_SPARK]
    assert run.snapshot().complete


def test_a_commit_info_at_the_end_counts_as_one_at_the_begin(writer, commits):
    writer.create()
    writer.commit(1, add("a"), info("WRITE", clientVersion="delta-rs.0.17.0"))
    assert (commits()[1].operation, commits()[1].engine_info) == ("WRITE", "delta-rs.0.17.0")
