"""What still needs the files that a vacuum deletes: streams, open requests, changes that could be undone, shallow clones."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from console.audit.actor import Actor
from jobs.commands.clone.rules import Clone
from jobs.commands.optimize.rules import Optimize
from jobs.commands.restore.rules import Restore
from jobs.commands.vacuum.log.preview import from_log
from jobs.commands.vacuum.rules import Vacuum
from jobs.commands.vacuum.spark.plan import PlanOrder, planned
from jobs.domain.commands import Command
from jobs.domain.errors import CommandRefused
from jobs.domain.results import Result
from jobs.domain.states import State
from jobs.models import Job, Stream
from jobs.streams import acts
from jobs.targets.subject import subject_of
from jobs.worker.spark_engine import Silent
from tables.models import Commit, Table
from tables.record.live_files import files_path
from tables.rules.health_findings import HealthCode
from tables.sync import log_access
from tests import factories
from tests.jobs import small_delta
from tests.jobs.commands.vacuum.aged import now_ms

pytestmark = pytest.mark.django_db
HALF_A_DAY = 12
"""Hours with which the files of versions 0 to 2 go, those that versions 1 to 3 removed."""


def previewed(table: Table, hours: int | None) -> dict[str, Any]:
    return from_log(subject_of(table.pk), Vacuum(str(table.pk), hours, path=table.path))


def needed_by(table: Table, hours: int | None) -> list[str]:
    found: list[str] = previewed(table, hours)["needed_by"]
    return found


@pytest.fixture
def sales(sales: Table) -> Table:
    log_access.sync(sales.pk)
    return sales


def reader(table: Table, **position: Any) -> None:
    """A stream from the table that has begun, and reads next what is told."""
    olga = factories.person_with("operator")
    asked = {"source": {"table": str(table.pk)}, "target": {"path": f"{table.root.uri}/copy"}, "output_mode": "append"}
    stream = acts.create(Actor.acting_for(olga), "copy", "a copy", asked)
    Stream.objects.filter(pk=stream.pk).update(**{"query_id": "q", "reads_from": None} | position)


@pytest.mark.parametrize(("reads_from", "removed_by"), [(0, 1), (1, 1), (2, None), (None, None)])
def test_a_stream_that_is_behind_the_removals_is_named(sales, reads_from, removed_by):
    reader(sales, reads_from=reads_from)
    found = needed_by(sales, None)
    if removed_by is None:
        assert found == []
    else:
        [text] = found
        assert f"The stream copy into copy still has to read version {reads_from} of this table" in text
        assert f"version {removed_by} removed" in text


@pytest.mark.parametrize(("reads_from", "enough"), [(2, 73), (3, 25), (4, None)])
def test_hours_below_what_a_stream_needs_are_refused_and_those_that_it_needs_are_not(sales, reads_from, enough):
    reader(sales, reads_from=reads_from)
    if enough is None:
        assert needed_by(sales, HALF_A_DAY) == []
        return
    with pytest.raises(CommandRefused) as refused:
        needed_by(sales, HALF_A_DAY)
    [refusal] = refused.value.refusals
    assert refusal.code == "invalid"
    assert f"The stream copy into copy still has to read version {reads_from} of this table" in refusal.message
    assert "a vacuum that keeps 12 hours deletes files that version 3 removed" in refusal.message
    assert f"keep at least {enough} hours" in str(refusal.remedy)
    with pytest.raises(CommandRefused):
        needed_by(sales, enough - 1)
    assert needed_by(sales, enough) == []


@pytest.mark.parametrize("hours", [169, 200, 14 * 24, 19 * 24])
def test_more_hours_than_the_tables_own_keep_none_of_what_a_stream_needs(sales, hours):
    """Delta forgets removals that are older than the table's own retention; version 1's are 20 days old, and its files 30."""
    reader(sales, reads_from=1)
    with pytest.raises(CommandRefused) as refused:
        needed_by(sales, hours)
    [refusal] = refused.value.refusals
    assert "deletes files that version 1 removed" in refusal.message
    assert "keep more hours than these files are old" in str(refusal.remedy)
    assert "at least" not in str(refusal.remedy)


@pytest.mark.parametrize("hours", [21 * 24, 31 * 24, 60 * 24])
def test_where_the_files_own_age_decides_the_stream_is_named_and_nothing_refused(sales, hours):
    reader(sales, reads_from=1)
    [text] = needed_by(sales, hours)
    assert "may delete files that version 1 removed" in text


def test_a_lite_vacuum_keeps_what_was_removed_within_its_hours(sales):
    reader(sales, reads_from=1)
    lite = Vacuum(str(sales.pk), 21 * 24, lite=True, path=sales.path)
    found = from_log(subject_of(sales.pk), lite)
    assert (found["files"], found["exact"], found["needed_by"]) == (0, True, [])
    assert not [each for each in found["consequences"] if each["code"] == "keeps_no_more"]
    with pytest.raises(CommandRefused) as refused:
        from_log(subject_of(sales.pk), Vacuum(str(sales.pk), 200, lite=True, path=sales.path))
    assert "keep at least 481 hours" in str(refused.value.refusals[0].remedy)


@pytest.mark.parametrize("hours", [None, 12, 169, 14 * 24, 25 * 24, 60 * 24])
def test_no_fewer_files_are_foretold_than_the_worker_finds(sales, hours):
    """What was removed longer ago than the own retention goes if it is old enough by itself, which the log alone doesn't tell."""
    found = previewed(sales, hours)
    plan = planned(PlanOrder(sales.path, hours, False, now_ms()), Silent())
    assert found["files"] >= plan.files
    assert found["exact"] is (hours is None or hours < 20 * 24)
    assert found["files"] == plan.files or not found["exact"]
    curve = {row["hours"]: row["files"] for row in found["curve"]}
    assert curve[720] == curve[336] == curve[168]
    said = " ".join(each["text"] for each in found["consequences"])
    assert ("Delta forgets older removals" in said) is (hours is not None and hours > 168)


def test_what_a_vacuum_has_deleted_since_is_not_this_ones_doing(sales):
    reader(sales, reads_from=0)
    path = Path(sales.path)
    small_delta.commit(path, "VACUUM START", [], operationParameters={"specifiedRetentionMillis": "3600000"})
    small_delta.commit(path, "VACUUM END", [], operationParameters={"status": "COMPLETED"})
    assert needed_by(sales, HALF_A_DAY) == []


def test_of_many_streams_the_rest_is_a_number(sales, monkeypatch):
    monkeypatch.setattr("jobs.commands.vacuum.log.streams.MOST_NAMED", 1)
    reader(sales, reads_from=1)
    other = factories.TableFactory(root=sales.root, path=f"{sales.root.uri}/other", name="other")
    stream = Stream.objects.get()
    Stream.objects.filter(pk=stream.pk).update(name="a copy")
    stream.pk, stream.name, stream.table, stream.checkpoint, stream.query_id = None, "b", other, "elsewhere", "r"
    stream.reads_from = 0
    stream.save(force_insert=True)
    assert [text.split(" into")[0] for text in needed_by(sales, None)] == [
        "The stream a copy",
        "1 more stream still has to read such versions.",
    ]
    assert len(previewed(sales, None)["behind_streams"]) == 2


def test_open_requests_for_a_version_that_dies_are_named(sales):
    olga = factories.person_with("operator")
    waiting = State.AWAITING_APPROVAL
    factories.job_on(sales, olga, Restore(str(sales.pk), 2, sales.path), waiting)
    factories.job(State.FAILED, table=sales, parameters={"table": str(sales.pk), "version": 2})
    other = factories.TableFactory(root=sales.root, path=f"{sales.root.uri}/copy", format=Table.Format.PARQUET)
    factories.job_on(other, olga, Clone(str(sales.pk), other.path, "deep", 2, sales.path, other.path, "sales"), waiting)
    assert needed_by(sales, HALF_A_DAY) == [
        f"The restore that {olga.name} requested needs version 2: it would fail.",
        f"The clone into {other.name} that {olga.name} requested needs version 2: it would fail.",
    ]
    assert needed_by(sales, None) == []


def cloning(sales: Table, version: int, depth: Literal["shallow", "deep"] = "deep", name: str = "") -> Job:
    """A clone of the version that a worker has begun, into a place named like its kind unless told."""
    olga = factories.person_with("operator")
    copy = factories.TableFactory(root=sales.root, path=f"{sales.root.uri}/{name or depth}", name=name or depth)
    command = Clone(str(sales.pk), copy.path, depth, version, sales.path, copy.path, "sales")
    return factories.job_on(
        copy, olga, command, State.RUNNING, attempt=1, token=1, lease_until=timezone.now() + timedelta(hours=1)
    )


@pytest.mark.parametrize("depth", ["shallow", "deep"])
def test_a_clone_that_runs_is_named_as_such(sales, depth):
    job = cloning(sales, 2, depth)
    [text] = needed_by(sales, HALF_A_DAY)
    assert text.startswith(f"The clone into {depth} that {job.requested_by.name} requested is reading version 2 now: ")
    assert needed_by(sales, None) == []


def test_a_clone_that_runs_on_a_version_whose_time_has_ended_since_is_named_with_the_table_s_own_retention(sales):
    cloning(sales, 0)
    [text] = needed_by(sales, None)
    assert "is reading version 0 now" in text


def test_those_that_read_now_come_first_and_only_the_named_ones_are_noted(sales, monkeypatch):
    olga = factories.person_with("operator")
    monkeypatch.setattr("jobs.commands.vacuum.log.preview.MOST_NAMED", 2)
    monkeypatch.setattr("jobs.commands.vacuum.log.readers.MOST_NAMED", 2)
    factories.job_on(sales, olga, Restore(str(sales.pk), 2, sales.path), State.AWAITING_APPROVAL)
    first = cloning(sales, 2)
    preview = previewed(sales, HALF_A_DAY)
    assert [text.split(" that ")[0] for text in preview["needed_by"]] == ["The clone into deep", "The restore"]
    assert preview["read_by"] == [str(first.pk)]
    cloning(sales, 1, "shallow")
    second = cloning(sales, 2, "shallow", "third")
    assert "third" not in " ".join(previewed(sales, HALF_A_DAY)["needed_by"])
    assert str(second.pk) not in previewed(sales, HALF_A_DAY)["read_by"]


def test_of_many_requests_and_clones_the_rest_is_a_number(sales, monkeypatch):
    monkeypatch.setattr("jobs.commands.vacuum.log.readers.MOST_NAMED", 1)
    monkeypatch.setattr("jobs.commands.vacuum.log.clones.MOST_NAMED", 1)
    olga = factories.person_with("operator")
    factories.job_on(sales, olga, Restore(str(sales.pk), 2, sales.path), State.AWAITING_APPROVAL)
    cloning(sales, 2)
    layout = {"outside_files": 3, "outside_under": sales.root.uri}
    for name in ("a", "b", "c"):
        factories.TableFactory(root=sales.root, name=name, health_codes=[HealthCode.OUTSIDE_FILES.value], layout=layout)
    texts = needed_by(sales, 0)
    assert "At least 1 more request needs such versions: they would fail." in texts
    assert texts[-1] == "2 more shallow clones need or may need such files as well."
    assert len(texts) == 4


def test_of_those_that_read_now_none_is_left_out_however_many_wait(sales, monkeypatch):
    olga = factories.person_with("operator")
    monkeypatch.setattr("jobs.targets.version_readers.MOST", 1)
    for version in (1, 2):
        factories.job_on(sales, olga, Restore(str(sales.pk), version, sales.path), State.AWAITING_APPROVAL)
    cloning(sales, 2)
    assert [text.split(" that ")[0] for text in needed_by(sales, HALF_A_DAY)] == ["The clone into deep"]


def test_where_no_version_can_be_read_a_clone_that_runs_is_named_whatever_it_reads(sales, monkeypatch):
    cloning(sales, 1)
    monkeypatch.setattr("jobs.commands.vacuum.log.preview.readable_spans", lambda reach: [])
    [text] = needed_by(sales, None)
    assert "is reading version 1 now" in text


def test_a_clone_of_the_newest_version_and_one_that_has_ended_need_nothing_old(sales):
    cloning(sales, 3)
    ended = cloning(sales, 2, "shallow")
    Job.objects.filter(pk=ended.pk).update(
        state=State.FAILED, error={"code": "cancelled"}, finished_at=timezone.now(), lease_until=None
    )
    assert needed_by(sales, HALF_A_DAY) == []


def rehearsing(sales: Table, version: int | None, command: Command | None = None) -> Job:
    """An optimize, unless told, whose rehearsal a worker makes now, and the version that it noted."""
    olga = factories.person_with("operator")
    noted: dict[str, Any] = {"rehearse": True, "token": 7, "base_version": version}
    job = factories.job_on(sales, olga, command or Optimize(str(sales.pk)), State.PREVIEWING, **noted)
    factories.attempt(job, kind="preview", number=0, token=7)
    return job


@pytest.mark.parametrize(("noted", "named"), [(2, True), (3, False), (None, False)])
@pytest.mark.parametrize("seconds_later", [-60, 0, 60])
def test_a_rehearsal_that_runs_reads_the_version_that_it_noted_whatever_the_commits_times_say(
    sales, noted, named, seconds_later
):
    """The newest version's commit may carry the time of the rehearsal's begin, or an earlier or later one, since clocks differ: by the
    times, the rehearsal of version 2 would read 3, or that of 3 would read 2."""
    job = rehearsing(sales, noted)
    began = job.attempts.get().claimed_at
    at = began + timedelta(seconds=seconds_later)
    assert Commit.objects.filter(table=sales, version=3).update(committed_at=at) == 1
    found = [text for text in needed_by(sales, HALF_A_DAY) if text.startswith("The rehearsal")]
    whose = f"The rehearsal of the optimize that {job.requested_by.name} requested is reading version {noted} now"
    assert [text.partition(":")[0] for text in found] == ([whose] if named else [])


@pytest.mark.parametrize("ended", [{"rehearse": False}, {"token": 8}])
def test_what_no_worker_rehearses_reads_nothing(sales, ended):
    job = rehearsing(sales, 2)
    assert needed_by(sales, HALF_A_DAY)
    Job.objects.filter(pk=job.pk).update(**ended)
    assert needed_by(sales, HALF_A_DAY) == []


@pytest.mark.parametrize("noted", [None, 3])
def test_the_rehearsal_of_a_restore_reads_the_version_to_go_back_to_as_well(sales, noted):
    job = rehearsing(sales, noted, Restore(str(sales.pk), 2, sales.path))
    preview = previewed(sales, HALF_A_DAY)
    who = job.requested_by.name
    assert [text.partition(":")[0] for text in preview["needed_by"]] == [
        f"The rehearsal of the restore that {who} requested is reading version 2 now",
        f"The restore that {who} requested needs version 2",
    ]
    assert preview["read_by"] == [str(job.pk)]
    assert needed_by(sales, None) == []


def test_the_rehearsal_of_a_restore_that_waits_for_a_worker_is_named_as_its_restore(sales):
    job = rehearsing(sales, None, Restore(str(sales.pk), 2, sales.path))
    job.attempts.update(ended_at=Now(), outcome="released")
    assert needed_by(sales, HALF_A_DAY) == [
        f"The restore that {job.requested_by.name} requested needs version 2: it would fail."
    ]


def test_changes_that_could_no_longer_be_undone_are_named(sales):
    for version, operation in ((1, "DELETE"), (2, "DELETE"), (3, "DELETE"), (3, "OPTIMIZE"), (3, "STREAMING UPDATE")):
        result = Result(version, operation).as_json()
        factories.job(State.SUCCEEDED, table=sales, version=version, result=result)
    [text] = needed_by(sales, HALF_A_DAY)
    assert text == "You could no longer undo what Levee committed as version 3."


@pytest.mark.parametrize("operation", ["OPTIMIZE", "STREAMING UPDATE", "SET TBLPROPERTIES"])
def test_what_no_restore_undoes_is_not_named(sales, operation):
    factories.job(State.SUCCEEDED, table=sales, version=3, result=Result(3, operation).as_json())
    assert needed_by(sales, HALF_A_DAY) == []


def removed_files(sales: Table) -> list[str]:
    """Those that no version needs but old ones, by name."""
    place = Path(sales.path)
    return sorted(set(small_delta.live(place, 0)) - set(small_delta.live(place)))


def shallow_clone(sales: Table, target: Path, *files: str, vector: str | None = None) -> Table:
    """A table of the catalog with files of this one, and deletion vectors of it beside them, all in one file."""
    small_delta.create(target, [{"id": 1, "p": "FR"}])
    commit = target / "_delta_log" / f"{0:020d}.json"
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    [add] = [action["add"] for action in actions if "add" in action]
    marks = {"storageType": "p", "pathOrInlineDv": f"file://{sales.path}/{vector}", "sizeInBytes": 34, "cardinality": 1}
    adds = [{"add": add | {"path": f"file://{sales.path}/{file}"}} for file in files]
    for place, action in enumerate(adds if vector else ()):
        action["add"]["deletionVector"] = marks | {"offset": 1 + 42 * place}
    commit.write_text("\n".join(map(json.dumps, [action for action in actions if "add" not in action] + adds)))
    clone: Table = factories.TableFactory(root=sales.root, path=str(target), name=target.name)
    log_access.sync(clone.pk)
    return clone


@pytest.mark.parametrize("hours", [None, HALF_A_DAY])
def test_a_shallow_clone_is_named_with_the_files_that_only_it_needs(sales, tmp_path, hours):
    live, (first, second, *_) = small_delta.live(Path(sales.path)), removed_files(sales)
    clone = shallow_clone(sales, tmp_path / "clone", *live, first, second)
    preview = previewed(sales, hours)
    [text] = preview["in_use"]
    assert text == (
        "The shallow clone clone needs 2 files that this table no longer does: it can’t be read any more once a vacuum deletes them."
    )
    assert preview["named_clones"] == [str(clone.pk)]


def test_a_shallow_clone_that_needs_only_files_of_the_newest_version_loses_none(sales, tmp_path):
    shallow_clone(sales, tmp_path / "clone", *small_delta.live(Path(sales.path)))
    preview = previewed(sales, HALF_A_DAY)
    assert (preview["in_use"], preview["named_clones"]) == ([], [])


def test_a_deletion_vector_of_a_shallow_clone_is_a_file_that_it_needs(sales, tmp_path):
    live = small_delta.live(Path(sales.path))
    shallow_clone(sales, tmp_path / "clone", *live, vector="deletion_vector_0.bin")
    [text] = needed_by(sales, None)
    assert text.startswith("The shallow clone clone needs 1 file that this table no longer does")


@pytest.mark.parametrize("unknown", ["its files", "its own are too many", "the table's are too many"])
def test_where_it_is_unknown_which_files_a_shallow_clone_needs_it_may_need_some(sales, tmp_path, monkeypatch, unknown):
    live = small_delta.live(Path(sales.path))
    clone = shallow_clone(sales, tmp_path / "clone", *(live[:1] if unknown == "the table's are too many" else live))
    if unknown == "its files":
        files_path(clone.pk).unlink()
    else:
        monkeypatch.setattr("jobs.commands.vacuum.log.clones.MOST_FILES", 1)
    [text] = previewed(sales, None)["in_use"]
    assert text.startswith("The shallow clone clone needs")
    assert "perhaps some that this table no longer does" in text


def test_one_whose_files_lie_in_several_directories_may_need_this_ones(sales):
    layout = {"outside_files": 3, "outside_under": sales.root.uri}
    factories.TableFactory(root=sales.root, name="mixed", health_codes=[HealthCode.OUTSIDE_FILES.value], layout=layout)
    [text] = needed_by(sales, None)
    assert text.startswith(
        "The shallow clone mixed needs 3 files of other tables’ directories, perhaps some that this table "
    )
