"""Times of commits: the newest metadata decides whose they are."""

from datetime import UTC, datetime, timedelta

from tables.deltalog.read.times import InCommitTimestamps, hull, overlap
from tables.deltalog.replay.log import DeltaLog
from tables.deltalog.state.snapshot import load
from tests.tables.deltalog.writing import PROTOCOL, LogWriter, add, info, metadata

FILES = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
OWN = 1_600_000_000_000


def commit(writer: LogWriter, version: int, *actions: dict, **times: int) -> None:
    """One that carries a time of its own, a second after the one before it."""
    writer.commit(version, info(inCommitTimestamp=OWN + 1000 * version), *actions, **times)


def switched(on: bool, since: int | None = None) -> dict:
    told = {"delta__enableInCommitTimestamps": str(on).lower()}
    if since is not None:
        told |= {
            "delta__inCommitTimestampEnablementVersion": str(since),
            "delta__inCommitTimestampEnablementTimestamp": str(OWN + 1000 * since),
        }
    return metadata(**told)


def by_file(version: int) -> datetime:
    return FILES + timedelta(seconds=version)


def by_itself(version: int) -> datetime:
    return datetime.fromtimestamp((OWN + 1000 * version) / 1000, UTC)


def history(log: DeltaLog, target, base=None, since=None) -> dict[int, datetime]:
    """The times after a sync, those that it has to tell anew included."""
    run = log.sync(target, base, since)
    told = {commit.version: commit.committed_at for commit in run.commits()}
    snapshot = run.snapshot()
    told |= dict(log.times(run.mistimed, snapshot.metadata))
    assert snapshot.committed_at == told.get(snapshot.version, snapshot.committed_at)
    return told


def test_a_time_in_a_commit_counts_for_nothing_while_the_feature_is_off(writer, log, target):
    writer.create()
    commit(writer, 1)
    assert history(log, target) == {0: by_file(0), 1: by_file(1)}


def test_commits_tell_their_own_times_from_the_enabling_version_on(writer, log, target):
    writer.create()
    commit(writer, 1)
    commit(writer, 2, switched(True, 2))
    commit(writer, 3)
    assert history(log, target) == {0: by_file(0), 1: by_file(1), 2: by_itself(2), 3: by_itself(3)}


def test_without_an_enabling_version_all_commits_tell_their_own(writer, log, target):
    commit(writer, 0, PROTOCOL, switched(True))
    commit(writer, 1)
    assert history(log, target) == {0: by_itself(0), 1: by_itself(1)}


def test_switching_off_gives_all_commits_their_files_times(writer, log, target):
    commit(writer, 0, PROTOCOL, switched(True))
    commit(writer, 1)
    commit(writer, 2, switched(False))
    commit(writer, 3)
    assert history(log, target) == {version: by_file(version) for version in range(4)}


def test_switching_on_again_counts_from_the_second_time(writer, log, target):
    commit(writer, 0, PROTOCOL, switched(True))
    commit(writer, 1)
    commit(writer, 2, switched(False))
    writer.commit(3, info())
    commit(writer, 4, switched(True, 4))
    commit(writer, 5)
    ours = {4: by_itself(4), 5: by_itself(5)}
    assert history(log, target) == {version: by_file(version) for version in range(4)} | ours


def test_a_metadata_that_lost_its_enabling_version_has_all_commits_tell_their_own(writer, log, target):
    writer.create()
    commit(writer, 1, switched(True, 1))
    commit(writer, 2, switched(True))
    assert history(log, target) == {0: by_file(0), 1: by_itself(1), 2: by_itself(2)}
    commit(writer, 0, PROTOCOL, metadata())
    assert history(log, target)[0] == by_itself(0)


def test_a_commit_without_the_time_that_it_should_carry_is_told_by_its_file(writer, log, target):
    commit(writer, 0, PROTOCOL, switched(True))
    writer.commit(1, info())
    assert history(log, target) == {0: by_itself(0), 1: by_file(1)}


def test_a_later_sync_finds_only_its_own_commits_mistimed(writer, log, target):
    commit(writer, 0, PROTOCOL, switched(True))
    log.sync(target).snapshot()
    commit(writer, 1, add("a"))
    commit(writer, 2, switched(False))
    run = log.sync(target, load(target))
    assert [each.version for each in run.commits()] == [1, 2]
    assert run.mistimed == range(1, 2)


def test_files_times_rise_also_through_commits_that_tell_their_own(writer, log, target):
    start = 1_700_000_000_000
    commit(writer, 0, PROTOCOL, switched(True), modified_ms=start + 5000)
    base = log.sync(target).snapshot()
    commit(writer, 1, switched(False), modified_ms=start)
    ours = history(log, target, base)
    assert ours == {1: FILES + timedelta(milliseconds=5001)}


def test_the_newest_checkpoint_decides_for_the_commits_before_it(writer, log, target):
    commit(writer, 5, add("a"))
    commit(writer, 6, add("b"))
    writer.checkpoint(6, PROTOCOL, switched(True, 2), add("a"), add("b"))
    run = log.sync(target)
    assert [each.committed_at for each in run.commits()] == [by_itself(5), by_itself(6)]
    assert not run.mistimed


def test_runs_of_versions_differ_where_one_of_two_settings_has_commits_tell_their_own():
    off, second, whole = InCommitTimestamps(False), InCommitTimestamps(True, 2), InCommitTimestamps(True)
    assert whole.differs(second) == second.differs(whole) == range(2)
    assert not second.differs(second)
    assert overlap(off.differs(second), range(7)) == range(2, 7)
    assert hull(range(2, 3), range(5, 6)) == range(2, 6)
    assert hull(range(0), range(5, 6)) == range(5, 6)
