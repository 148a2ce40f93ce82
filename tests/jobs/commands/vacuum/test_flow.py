"""A vacuum from its request to its result, on real files and without Spark: the plan is Levee's own."""

import json
import os
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from console.audit.actor import Actor
from jobs.approvals import decisions
from jobs.commands.clone.rules import Clone, Depth
from jobs.commands.restore.rules import Restore
from jobs.commands.vacuum.handling import VacuumHandling
from jobs.commands.vacuum.log import remains
from jobs.commands.vacuum.rules import Vacuum
from jobs.commands.vacuum.spark.approved import approved_plan
from jobs.commands.vacuum.spark.measure import measured
from jobs.commands.vacuum.spark.plan import PlanOrder, planned
from jobs.dispatcher.attribution import judgement
from jobs.dispatcher.reconcile import reconcile
from jobs.domain.engine import Checked, Marks, Report
from jobs.domain.errors import EngineCancelled, EngineFailed, EngineFailure
from jobs.domain.measures import Deletable
from jobs.domain.results import Result
from jobs.domain.states import Cause, State
from jobs.lifecycle.transitions import move
from jobs.models import Job, Stream
from jobs.requests.asking import request
from jobs.streams import acts
from jobs.targets import version_readers
from jobs.web.catalog_port import KnownJobs
from jobs.web.jobs.queries import destructive_lately
from jobs.worker.claims import claim_preview, claim_run
from jobs.worker.execution import Execution, work
from tables.models import Commit, Explanation, Table
from tables.rules.health_findings import HealthCode
from tables.storage.store import StorageError
from tables.sync import log_access
from tables.sync import table as sync
from tests import factories
from tests.jobs import small_delta
from tests.jobs.commands.vacuum.aged import now_ms
from tests.jobs.small_delta import SmallEngine
from tests.jobs.web.commands.vacuum.conftest import grow_old, old_table

pytestmark = pytest.mark.django_db(transaction=True)
Event = Callable[["Vacuuming"], None]
COMPLETED: dict[str, Any] = {"operationParameters": {"status": "COMPLETED"}}


def nothing(engine: "Vacuuming") -> None:
    pass


def marked(job: object, attempt: int, digest: str | None) -> dict[str, Any]:
    return {"userMetadata": json.dumps({"job": str(job), "attempt": attempt, "digest": digest})}


class Vacuuming(SmallEngine):
    """Plans as the worker does; deletes the plan's files and commits both ends. `before` and `between` happen around the first."""

    def __init__(self, before: Event = nothing, between: Event = nothing) -> None:
        super().__init__()
        self.before, self.between = before, between
        self.cancelled = threading.Event()

    def cancel(self, tag: str) -> None:
        self.cancelled.set()

    def preview(self, command: Any, version: int | None, marks: Marks, report: Report) -> Deletable:
        order = PlanOrder(command.path, command.retention_hours, command.lite, now_ms(), version)
        return measured(planned(order, report), order)

    def run(self, command: Any, preview: Any, checked: Checked, marks: Marks, report: Report) -> Result:
        mark = marked(marks.job, marks.attempt, marks.digest)
        plan = approved_plan(command, preview, report)
        path = Path(command.path)
        self.before(self)
        start = small_delta.commit(path, "VACUUM START", [], **mark)
        self.between(self)
        for name in plan.paths:
            (path / name).unlink()
        end = small_delta.commit(path, "VACUUM END", [], **mark, **COMPLETED)
        details = {"start_version": start, "files": plan.files, "bytes": plan.bytes, "remaining": 0, "text": "gone"}
        return Result(end, "VACUUM END", {"status": "COMPLETED"}, {}, read_version=start - 1, details=details)


def fails(engine: Vacuuming) -> None:
    raise EngineFailed(EngineFailure(None, None, "storage is gone"))


def is_cancelled(engine: Vacuuming) -> None:
    """Somebody cancels it, and Spark heeds that."""
    job = Job.objects.get(state=State.RUNNING)
    Job.objects.filter(pk=job.pk).update(cancel_requested_at=Now(), cancel_requested_by=job.requested_by)
    move(job, State.CANCELLING, Cause.CANCELLER, "olga")
    assert engine.cancelled.wait(20), "nobody cancelled"
    raise EngineCancelled("cancelled")


@pytest.fixture(autouse=True)
def quick(timing, no_wakes):
    return timing(watch=0.3, lease=5, record_retry=5)


@pytest.fixture
def sales(lake):
    path = Path(lake.uri) / "sales"
    old_table(path)
    return factories.TableFactory(root=lake, path=str(path), name="sales")


def worked(claiming, engine: SmallEngine) -> Job:
    claim = claiming(factories.holder())
    assert claim is not None, "there is nothing to claim"
    work(Execution(claim, engine, threading.Event(), engine.end_hard))
    return Job.objects.get(pk=claim.job.pk)


def asked(who, table, hours: int | None = None, **more: Any) -> Job:
    request(Actor.acting_for(who), Vacuum(str(table.pk), hours, **more), "make room")
    return worked(claim_preview, Vacuuming())


def approved(job: Job, times: int) -> Job:
    for _ in range(times):
        decisions.approve(Actor.acting_for(factories.person_with("approver")), job, str(job.digest))
    return Job.objects.get(pk=job.pk)


def files_of(table) -> set[str]:
    path = Path(table.path)
    return {str(each.relative_to(path)) for each in path.rglob("*.json") if "_delta_log" not in each.parts}


def test_the_workers_preview_lists_the_directory(olga, sales):
    stray = Path(sales.path) / "stray.json"
    stray.write_text("[]")
    os.utime(stray, (1, 1))
    job = asked(olga, sales)
    preview = job.preview or {}
    assert (job.state, job.policy["required_approvals"]) == (State.AWAITING_APPROVAL, 1)
    assert (preview["class"], preview["files"], preview["untracked_files"]) == ("ordinary", 3, 1)
    assert (preview["listed"], preview["dying_versions"], preview["first_readable_after"]) == (9, [], 2)
    assert "stray.json" in preview["sample"]
    assert preview["by_commit"] == [{"version": 1, "files": 2, "bytes": preview["by_commit"][0]["bytes"]}]


def test_short_retention_waits_for_two(olga, sales):
    job = asked(olga, sales, 12)
    assert (job.state, job.policy["required_approvals"]) == (State.AWAITING_APPROVAL, 2)
    assert ((job.preview or {})["class"], (job.preview or {})["dying_versions"]) == ("short_retention", [[2, 2]])


def test_where_nothing_is_old_it_ends_at_once(olga, sales):
    grow_old(Path(sales.path), dict.fromkeys(range(4), 0.01))
    job = asked(olga, sales)
    assert (job.state, job.no_op, job.version) == (State.SUCCEEDED, True, None)


def test_a_nested_table_fails_it(olga, sales):
    small_delta.create(Path(sales.path) / "inner", [{"id": 1, "p": "FR"}])
    job = asked(olga, sales)
    assert (job.state, (job.error or {})["code"]) == (State.FAILED, "nested_table")


def test_a_link_in_the_directory_fails_it(olga, sales, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (Path(sales.path) / "link").symlink_to(tmp_path / "elsewhere")
    job = asked(olga, sales)
    assert (job.state, (job.error or {})["code"]) == (State.FAILED, "outside_roots")


def test_rows_that_come_meanwhile_do_not_make_it_stale(olga, sales):
    job = approved(asked(olga, sales), 1)
    small_delta.append(Path(sales.path), [{"id": 60, "p": "DE"}])
    before = files_of(sales)
    done = worked(claim_run, Vacuuming())
    assert (done.state, done.version, (done.drift or {})["verdict"]) == (State.SUCCEEDED, 6, "same_rows")
    assert not (done.result or {})["drifted"]
    assert len(before - files_of(sales)) == (job.preview or {})["files"] == 2
    assert len(small_delta.rows_of(Path(sales.path))) == 11


def test_another_retention_of_the_table_does(olga, sales):
    approved(asked(olga, sales), 1)
    first = (Path(sales.path) / "_delta_log" / f"{0:020d}.json").read_text().splitlines()
    [metadata] = [action["metaData"] for action in map(json.loads, first) if "metaData" in action]
    longer = metadata | {"configuration": {"delta.deletedFileRetentionDuration": "interval 60 days"}}
    small_delta.commit(Path(sales.path), "SET TBLPROPERTIES", [{"metaData": longer}])
    assert worked(claim_run, Vacuuming()).state == State.STALE
    assert len(files_of(sales)) == 8


def test_another_file_in_the_place_of_an_approved_one_makes_it_stale(olga, sales):
    stray = Path(sales.path) / "stray.json"
    stray.write_text("[]")
    os.utime(stray, (1, 1))
    approved(asked(olga, sales), 1)
    stray.rename(stray.with_name("other.json"))
    before = files_of(sales)
    done = worked(claim_run, Vacuuming())
    assert (done.state, done.version, (done.error or {})["code"]) == (State.STALE, None, "stale")
    assert "aren’t those that were approved" in (done.error or {})["message"]
    assert files_of(sales) == before


def clone_of(sales, read: int, state: State = State.RUNNING, depth: Depth = "deep", **more: Any) -> Job:
    """A worker has begun to clone the version, unless told."""
    copy = factories.TableFactory(root=sales.root, path=f"{sales.root.uri}/copy", name="copy")
    command = Clone(str(sales.pk), copy.path, depth, read, sales.path, copy.path, "sales")
    return factories.job_on(copy, factories.person_with("operator"), command, state, **more)


CLAIMED: dict[str, Any] = {"attempt": 1, "token": 1}


def running_clone(sales, version: int) -> Job:
    lease = timezone.now() + timedelta(hours=1)
    return clone_of(sales, version, lease_until=lease, **CLAIMED)


def finished_clone(sales, version: int, depth: Depth = "shallow") -> Job:
    result = Result(0, "CLONE").as_json()
    return clone_of(sales, version, State.SUCCEEDED, depth, version=0, result=result, finished_at=timezone.now())


def why_held_back(sales) -> str:
    """Of a vacuum that is claimed and deletes nothing."""
    before = files_of(sales)
    done = worked(claim_run, Vacuuming())
    assert done.state == State.STALE
    assert files_of(sales) == before
    return str((done.drift or {})["why"])


def test_a_clone_that_has_begun_since_the_preview_keeps_its_files(olga, sales):
    approved(asked(olga, sales, 12), 2)
    running_clone(sales, 2)
    assert "the clone into copy" in why_held_back(sales)


def test_a_clone_that_the_approvers_saw_does_not_hold_it_back(olga, sales):
    running_clone(sales, 2)
    job = approved(asked(olga, sales, 12), 2)
    assert [text for text in (job.preview or {})["needed_by"] if "is reading version 2 now" in text]
    assert worked(claim_run, Vacuuming()).state == State.SUCCEEDED


def test_a_clone_that_only_waited_at_the_preview_does(olga, sales):
    clone = clone_of(sales, 2, State.QUEUED)
    job = approved(asked(olga, sales, 12), 2)
    assert [text for text in (job.preview or {})["needed_by"] if "needs version 2: it would fail" in text]
    Job.objects.filter(pk=clone.pk).update(state=State.RUNNING, **CLAIMED)
    assert "has begun to read version 2" in why_held_back(sales)


def test_a_clone_that_waited_behind_many_requests_holds_it_back_as_well(olga, sales, monkeypatch):
    monkeypatch.setattr(version_readers, "MOST", 1)
    approved(asked(olga, sales, 12), 2)
    factories.job_on(sales, olga, Restore(str(sales.pk), 3, sales.path), State.AWAITING_APPROVAL)
    running_clone(sales, 2)
    assert "has begun to read version 2" in why_held_back(sales)


def test_a_shallow_clone_that_was_made_since_the_preview_keeps_its_files(olga, sales):
    approved(asked(olga, sales, 12), 2)
    finished_clone(sales, 2)
    why = why_held_back(sales)
    assert "the clone into copy" in why
    assert "has made a table of version 2, which needs files that would go" in why


@pytest.mark.parametrize(("version", "depth"), [(3, "shallow"), (2, "deep")])
def test_a_finished_clone_that_needs_none_of_the_files_does_not_hold_it_back(olga, sales, version, depth):
    approved(asked(olga, sales, 12), 2)
    finished_clone(sales, version, depth)
    assert worked(claim_run, Vacuuming()).state == State.SUCCEEDED


def test_a_shallow_clone_that_was_made_before_the_preview_does_not(olga, sales):
    finished_clone(sales, 2)
    approved(asked(olga, sales, 12), 2)
    assert worked(claim_run, Vacuuming()).state == State.SUCCEEDED


def test_one_whose_directory_is_gone_does_not(olga, sales):
    approved(asked(olga, sales, 12), 2)
    clone = finished_clone(sales, 2)
    Table.objects.filter(pk=clone.table_id).update(missing_since=timezone.now())
    assert worked(claim_run, Vacuuming()).state == State.SUCCEEDED


def test_one_that_the_preview_names_does_not_though_it_was_made_meanwhile(olga, sales):
    request(Actor.acting_for(olga), Vacuum(str(sales.pk), 12), "make room")

    class Slow(Vacuuming):
        def preview(self, *args: Any) -> Deletable:
            clone = finished_clone(sales, 2)
            layout = {"outside_files": 1, "outside_under": sales.path}
            found = {"health_codes": [HealthCode.OUTSIDE_FILES.value], "layout": layout}
            Table.objects.filter(pk=clone.table_id).update(**found)
            return super().preview(*args)

    job = approved(worked(claim_preview, Slow()), 2)
    assert [text for text in (job.preview or {})["needed_by"] if text.startswith("The shallow clone copy needs 1 file")]
    assert worked(claim_run, Vacuuming()).state == State.SUCCEEDED


def test_a_clone_of_a_version_that_stays_does_not_hold_it_back(olga, sales):
    approved(asked(olga, sales, 12), 2)
    running_clone(sales, 3)
    assert worked(claim_run, Vacuuming()).state == State.SUCCEEDED


def test_an_undo_that_was_requested_since_the_preview_keeps_its_files(olga, sales):
    approved(asked(olga, sales, 12), 2)
    restore = request(Actor.acting_for(olga), Restore(str(sales.pk), 2), "back").job
    why = why_held_back(sales)
    assert f"the restore that {olga.name} requested has come, which needs version 2" in why
    move(restore, State.WITHDRAWN, Cause.REQUESTER, olga.name)
    approved(asked(olga, sales, 12), 2)
    assert worked(claim_run, Vacuuming()).state == State.SUCCEEDED


@pytest.mark.parametrize(("version", "hours"), [(3, 12), (2, None)])
def test_one_that_needs_none_of_the_files_does_not_hold_it_back(olga, sales, version, hours):
    approved(asked(olga, sales, hours), 2 if hours else 1)
    request(Actor.acting_for(olga), Restore(str(sales.pk), version), "back")
    assert worked(claim_run, Vacuuming()).state == State.SUCCEEDED


def test_one_that_the_preview_names_does_not_though_it_came_while_it_was_made(olga, sales):
    request(Actor.acting_for(olga), Vacuum(str(sales.pk), 12), "make room")

    class Slow(Vacuuming):
        def preview(self, *args: Any) -> Deletable:
            factories.job_on(sales, olga, Restore(str(sales.pk), 2, sales.path), State.AWAITING_APPROVAL)
            return super().preview(*args)

    approved(worked(claim_preview, Slow()), 2)
    assert worked(claim_run, Vacuuming()).state == State.SUCCEEDED


def reader(sales, name: str = "copy", **source: Any) -> Stream:
    """A stream from the table."""
    given = {"table": str(sales.pk), **source}
    wanted = {"source": given, "target": {"path": f"{sales.root.uri}/{name}"}, "output_mode": "append"}
    return acts.create(Actor.acting_for(factories.person_with("operator")), name, "a copy", wanted)


FROM_TIME = "starting_timestamp"


@pytest.mark.parametrize("source", [{"starting_version": 1}, {FROM_TIME: 25}, {}])
def test_a_stream_that_has_come_since_the_preview_keeps_the_files_that_it_reads(olga, sales, source):
    approved(asked(olga, sales), 1)
    if FROM_TIME in source:
        source = {FROM_TIME: (timezone.now() - timedelta(days=source[FROM_TIME])).strftime("%Y-%m-%dT%H:%M:%SZ")}
    stream = reader(sales, **source)
    if not source:  # it has begun
        Stream.objects.filter(pk=stream.pk).update(query_id="q", reads_from=1)
    why = why_held_back(sales)
    assert "the stream copy into copy has come to need files that would go: it still has to read version 1" in why
    assert "version 1 removed some" in why


@pytest.mark.parametrize("reads_from", [None, 2])
def test_one_that_reads_none_of_them_does_not_hold_it_back(olga, sales, reads_from):
    approved(asked(olga, sales), 1)
    Stream.objects.filter(pk=reader(sales).pk).update(query_id="q", reads_from=reads_from)
    assert worked(claim_run, Vacuuming()).state == State.SUCCEEDED


def test_one_that_the_approvers_saw_does_not_either(olga, sales):
    stream = reader(sales, starting_version=1)
    job = approved(asked(olga, sales), 1)
    assert [text for text in (job.preview or {})["needed_by"] if "The stream copy into copy" in text]
    Stream.objects.filter(pk=stream.pk).update(query_id="q", reads_from=0)
    assert worked(claim_run, Vacuuming()).state == State.SUCCEEDED


def test_what_was_removed_since_the_preview_stays_for_streams_as_well(olga, sales):
    """Its transaction began before the vacuum's cut."""
    approved(asked(olga, sales), 1)
    small_delta.compact(Path(sales.path))
    log_access.sync(sales.pk)
    Commit.objects.filter(table=sales, version=4).update(committed_at=timezone.now() - timedelta(days=8))
    Stream.objects.filter(pk=reader(sales).pk).update(query_id="q", reads_from=4)
    assert worked(claim_run, Vacuuming()).state == State.SUCCEEDED


class Rehearsing(SmallEngine):
    """`meanwhile` happens while it rehearses."""

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        super().__init__()
        self.meanwhile = meanwhile

    def rehearse(self, *args: Any) -> dict[str, Any]:
        self.meanwhile()
        return super().rehearse(*args)


def rehearsed(who, sales, version: int, meanwhile: Callable[[], None]) -> Job:
    """A restore to the version, requested and rehearsed."""
    request(Actor.acting_for(who), Restore(str(sales.pk), version), "back", rehearse=True)
    return worked(claim_preview, Rehearsing(meanwhile))


def test_the_rehearsal_of_a_restore_that_has_begun_since_the_preview_keeps_its_files(olga, sales):
    approved(asked(olga, sales, 12), 2)
    said: list[str] = []
    restore = rehearsed(olga, sales, 2, lambda: said.append(why_held_back(sales)))
    [why] = said
    assert f"the rehearsal of the restore that {olga.name} requested has begun to read version 2" in why
    assert (restore.state, "rehearsal" in (restore.preview or {})) == (State.AWAITING_APPROVAL, True)


def test_that_of_one_to_a_version_that_stays_does_not_hold_it_back(olga, sales):
    approved(asked(olga, sales), 1)
    done: list[Job] = []
    restore = rehearsed(olga, sales, 2, lambda: done.append(worked(claim_run, Vacuuming())))
    assert (done[0].state, restore.state) == (State.SUCCEEDED, State.AWAITING_APPROVAL)


def test_a_run_that_began_and_failed_says_so(olga, sales):
    approved(asked(olga, sales), 1)
    done = worked(claim_run, Vacuuming(between=fails))
    assert (done.state, done.version, (done.error or {})["code"]) == (State.FAILED, 4, "incomplete")
    assert "Request it again" in (done.error or {})["what_to_do"]
    assert "of the 2 files that it was to delete, 0 are gone and 2 are still there" in (done.error or {})["message"]


def cut_off(who, sales, monkeypatch, *gone: int, hours: int | None = 12, **more: Any) -> Job:
    """A vacuum whose worker died after its start, and after it deleted the files of these versions."""
    job = approved(asked(who, sales, hours, **more), 2 if hours else 1)
    assert claim_run(factories.holder()) is not None
    path = Path(sales.path)
    for version in gone:
        for name in small_delta.live(path, version):
            (path / name).unlink()
    small_delta.commit(path, "VACUUM START", [], **marked(job.pk, 1, job.digest))
    done = reconciled(job, monkeypatch)
    assert (done.state, (done.error or {})["code"]) == (State.FAILED, "incomplete")
    return done


LOST = "You can no longer read version 2."
NONE_LOST = "No older one that could be read has lost a file."


@pytest.mark.parametrize(
    ("gone", "files", "lost", "said"),
    [((), 0, [], NONE_LOST), ((0, 1), 4, [], NONE_LOST), ((2,), 2, [[2, 2]], LOST), ((0, 1, 2), 6, [[2, 2]], LOST)],
)
def test_it_says_what_is_gone_what_is_left_and_which_versions_are_lost(
    olga, sales, monkeypatch, gone, files, lost, said
):
    done = cut_off(olga, sales, monkeypatch, *gone)
    details, error = (done.result or {})["details"], done.error or {}
    left = 6 - files
    assert (details["files"], details["remaining"], details["versions_lost"]) == (files, left, lost)
    assert details["proven"] == (left == 0)
    assert (
        details["bytes"] + sum((Path(sales.path) / name).stat().st_size for name in files_of(sales) - live(sales))
        == (done.preview or {})["bytes"]
    )
    assert f"of the 6 files that it was to delete, {files} are gone and {left} are still there." in error["message"]
    assert error["table_state"] == f"The newest version is whole. {said}"
    assert error["what_to_do"].startswith("Request it again" if left else "Nothing is left to delete")


def live(sales) -> set[str]:
    return set(small_delta.live(Path(sales.path)))


def test_files_that_the_log_does_not_name_count_as_well_and_young_ones_do_not(olga, sales, monkeypatch):
    path = Path(sales.path)
    (path / "deep" / "er").mkdir(parents=True)
    for name, at in (
        ("stray.json", 1),
        ("deep/er/stray.json", 1),
        ("young.json", None),
        ("a:b.json", 1),
        ("_c.json", 1),
    ):
        (path / name).write_text("[]")
        os.utime(path / name, None if at is None else (at, at))
    done = cut_off(olga, sales, monkeypatch, 0)
    details = (done.result or {})["details"]
    assert ((done.preview or {})["files"], details["files"], details["remaining"]) == (8, 2, 6)


def test_commits_of_others_since_the_preview_change_nothing_about_it(olga, sales, monkeypatch):
    job = approved(asked(olga, sales, 12), 2)
    small_delta.compact(Path(sales.path))
    assert claim_run(factories.holder()) is not None
    small_delta.commit(Path(sales.path), "VACUUM START", [], **marked(job.pk, 1, job.digest))
    details = (reconciled(job, monkeypatch).result or {})["details"]
    assert (details["files"], details["remaining"], details["versions_lost"]) == (0, 6, [])


def test_of_a_lite_one_only_what_is_left_is_known(olga, sales, monkeypatch):
    done = cut_off(olga, sales, monkeypatch, 2, lite=True)
    details = (done.result or {})["details"]
    assert (details["files"], details["remaining"], details["versions_lost"]) == (None, 4, [[2, 2]])
    assert "of the files that the log names as removed, 4 are still there" in (done.error or {})["message"]


@pytest.mark.parametrize("limit", ["MOST_FILES", "MOST_BYTES"])
def test_a_large_table_is_not_read_again_at_the_job_s_end(olga, sales, monkeypatch, limit):
    monkeypatch.setattr(remains, limit, 1)
    done = cut_off(olga, sales, monkeypatch, 2)
    assert "remaining" not in (done.result or {})["details"]
    assert "some of the files that it was to delete are gone" in (done.error or {})["message"]
    assert "its preview counts what is left" in (done.error or {})["what_to_do"]


def test_nor_is_one_that_cannot_be_read_by_then(olga, sales, monkeypatch):
    def refuse(*_: Any) -> None:
        raise StorageError("the disk is away")

    monkeypatch.setattr(remains, "open_log", refuse)
    assert "remaining" not in (cut_off(olga, sales, monkeypatch, 2).result or {})["details"]


def test_a_worker_that_dies_between_start_and_end_leaves_a_job_that_says_so(olga, sales, monkeypatch):
    job = approved(asked(olga, sales), 1)
    assert claim_run(factories.holder()) is not None
    small_delta.commit(Path(sales.path), "VACUUM START", [], **marked(job.pk, 1, job.digest))
    done = reconciled(job, monkeypatch)
    assert (done.state, done.version, (done.error or {})["code"]) == (State.FAILED, 4, "incomplete")


def test_a_worker_that_dies_after_the_end_has_done_it(olga, sales, monkeypatch):
    job = approved(asked(olga, sales), 1)
    assert claim_run(factories.holder()) is not None
    for operation in ("VACUUM START", "VACUUM END"):
        small_delta.commit(Path(sales.path), operation, [], **marked(job.pk, 1, job.digest), **COMPLETED)
    done = reconciled(job, monkeypatch)
    result = done.result or {}
    assert (done.state, done.version, result["details"]["start_version"]) == (State.SUCCEEDED, 5, 4)
    assert (result["details"]["files"], result["details"]["remaining"]) == (0, 2)
    assert not result["drifted"]


def test_a_worker_that_dies_before_the_start_has_done_nothing_and_another_does_it(olga, sales, monkeypatch):
    job = approved(asked(olga, sales), 1)
    assert claim_run(factories.holder()) is not None
    assert reconciled(job, monkeypatch).state == State.QUEUED
    done = worked(claim_run, Vacuuming())
    assert (done.state, done.version, done.attempt) == (State.SUCCEEDED, 5, 2)


def test_a_cancel_before_the_start_leaves_every_file(olga, sales):
    approved(asked(olga, sales), 1)
    done = worked(claim_run, Vacuuming(before=is_cancelled))
    assert (done.state, done.version, len(files_of(sales))) == (State.CANCELLED, None, 8)


def test_a_cancel_after_the_start_says_that_it_began(olga, sales):
    approved(asked(olga, sales), 1)
    done = worked(claim_run, Vacuuming(between=is_cancelled))
    assert (done.state, done.version, (done.error or {})["code"]) == (State.FAILED, 4, "incomplete")


def reconciled(job: Job, monkeypatch: pytest.MonkeyPatch) -> Job:
    """The job after the dispatcher has found its worker dead."""
    Job.objects.filter(pk=job.pk).update(lease_until=None)
    monkeypatch.setattr("jobs.dispatcher.reconcile.proven_dead", lambda attempt: True)
    reconcile()
    reconcile()
    return Job.objects.get(pk=job.pk)


def test_both_of_its_commits_are_the_jobs_everywhere(olga, sales):
    approved(asked(olga, sales), 1)
    assert worked(claim_run, Vacuuming()).state == State.SUCCEEDED
    sync.sync(sales.pk)
    start, end = Commit.objects.filter(table=sales, operation__startswith="VACUUM").order_by("version")
    assert [judgement(commit).verdict for commit in (start, end)] == [Explanation.Verdict.APPROVED] * 2
    known = KnownJobs()
    assert [each.made_it for each in known.of_commits(olga, [start, end]).values()] == [True, True]
    by = Commit.objects.filter(known.asked_by(olga.name), table=sales)
    assert set(by.values_list("version", flat=True)) == {start.version, end.version}
    behind = {shown["version"]: shown["behind"] for shown in destructive_lately(olga)}
    assert behind[start.version] == "olga"


def test_a_commit_that_copies_its_mark_is_not_the_jobs(olga, sales):
    job = approved(asked(olga, sales), 1)
    done = worked(claim_run, Vacuuming())
    gone = {"path": small_delta.live(Path(sales.path))[0], "dataChange": True}
    small_delta.commit(Path(sales.path), "DELETE", [{"remove": gone}], **marked(job.pk, 1, job.digest))
    sync.sync(sales.pk)
    copied = Commit.objects.get(table=sales, version=(done.version or 0) + 1)
    assert judgement(copied).verdict == Explanation.Verdict.FORGED
    assert not KnownJobs().of_commits(olga, [copied])[copied.version].made_it
    assert not Commit.objects.filter(KnownJobs().asked_by(olga.name), pk=copied.pk).exists()
    assert destructive_lately(olga)[0]["behind"] is None


def test_only_a_completed_end_is_a_whole_vacuum():
    handling, job = VacuumHandling(), Job(command="vacuum")
    whole = Result(5, "VACUUM END", {"status": "COMPLETED"})
    assert handling.shortfall(job, whole) is None
    assert handling.shortfall(job, Result(5, "VACUUM END", {"status": "FAILED"})) is not None
    assert handling.shortfall(job, Result(4, "VACUUM START")) is not None
    assert handling.shortfall(job, Result(None, None, no_op=True)) is None
