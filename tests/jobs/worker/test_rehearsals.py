"""A rehearsal is part of the preview: asked for with the request, made by the preview's worker, covered by the digest."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from jobs.approvals.decisions import edit
from jobs.commands.alter_schema.comparison import protocol_words
from jobs.commands.alter_schema.rules import AlterSchema
from jobs.commands.delete.rules import Delete
from jobs.commands.reorg.rules import Reorg
from jobs.domain.errors import EngineCancelled, EngineFailed, EngineFailure
from jobs.domain.states import State
from jobs.engine.runs import rehearsal
from jobs.engine.runtime import Runtime
from jobs.lifecycle.cancelling import digest_of, withdraw
from jobs.models import Job
from jobs.requests import rehearsals
from jobs.requests.asking import request
from jobs.web.approvals.figures import rehearsed_of
from jobs.worker.claims import claim_preview
from jobs.worker.execution import Execution, work
from jobs.worker.spark_engine import SparkEngine
from tests import factories
from tests.clients import browser, caller
from tests.factories import lakes
from tests.jobs import small_delta
from tests.jobs.small_delta import SmallEngine

pytestmark = pytest.mark.django_db(transaction=True)
WHERE = "p = 'FR' AND id < 5"


@pytest.fixture(autouse=True)
def quick(timing, no_wakes):
    return timing(watch=0.3, lease=5, record_retry=5)


@pytest.fixture
def sales(lake):
    return lakes.sales_in(lake)


class Failing(SmallEngine):
    """Previews, and fails to rehearse."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def rehearse(self, *given: Any) -> dict[str, Any]:
        raise self.error


def asked(who, table, predicate: str = WHERE, *, rehearse: bool = True, key: str | None = None) -> Job:
    wanted = Delete(str(table.pk), predicate)
    return request(Actor.acting_for(who), wanted, "old rows", key, rehearse=rehearse).job


def previewed(engine: SmallEngine) -> Job:
    claim = claim_preview(factories.holder())
    assert claim is not None
    work(Execution(claim, engine, threading.Event(), engine.end_hard))
    return Job.objects.select_related("table", "requested_by").get(pk=claim.job.pk)


def test_it_stands_in_the_preview_and_the_digest_covers_it(olga, sales):
    before = small_delta.head(Path(sales.path))
    asked(olga, sales)
    job = previewed(SmallEngine())
    preview: Any = job.preview
    assert job.state == State.AWAITING_APPROVAL
    assert preview["rehearsal"]["rows_after"] == preview["rows_total"] - preview["rows_matched"]
    assert small_delta.head(Path(sales.path)) == before
    after: Any = Event.objects.get(action="job.request").after
    assert after["rehearse"] is True
    preview["rehearsal"]["rows_after"] += 1
    assert digest_of(job) != job.digest


def test_the_api_and_the_review_show_it(olga, sales):
    answer = caller("operator").post(
        "/jobs",
        {"command": "delete", "table": str(sales.pk), "predicate": WHERE, "reason": "r", "rehearse": True},
    )
    assert answer.status_code == 201
    assert "rehearsal" not in answer.json()["preview"]
    job = previewed(SmallEngine())
    rehearsal = caller("viewer").get(f"/jobs/{job.pk}").json()["preview"]["rehearsal"]
    assert set(rehearsal) == {"operation_metrics", "rows_after", "seconds"}
    assert rehearsal["operation_metrics"] == {"numDeletedRows": str((job.preview or {})["rows_matched"])}
    page = browser(factories.person_with("approver")).get(f"/jobs/{job.pk}/").content.decode()
    assert "Rehearsed" in page
    assert "clone of version 0" in page
    assert f"{rehearsal['rows_after']}, read by Spark" in page
    assert "num_affected_rows" in page


def test_an_edited_request_is_rehearsed_again(olga, sales):
    asked(olga, sales)
    before: Any = previewed(SmallEngine())
    edit(Actor.acting_for(olga), before, {"predicate": "p = 'FR' AND id < 3"}, "fewer")
    assert "rehearsal" not in (Job.objects.get().preview or {})
    after: Any = previewed(SmallEngine())
    rows = after.preview["rehearsal"]["rows_after"]
    assert (
        rows == after.preview["rows_total"] - after.preview["rows_matched"] > before.preview["rehearsal"]["rows_after"]
    )


class Noticing(SmallEngine):
    """Sees what the job says of its version while it is measured and rehearsed. Before it measures, somebody else commits."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.noted: list[int | None] = []
        self.asked: list[int | None] = []

    def preview(self, command: Any, version: int | None, *given: Any) -> Any:
        self._look(version)
        small_delta.append(self.path, [{"id": 70, "p": "FR"}])
        return super().preview(command, version, *given)

    def rehearse(self, command: Any, preview: Any, version: int, *given: Any) -> dict[str, Any]:
        self._look(version)
        return super().rehearse(command, preview, version, *given)

    def _look(self, version: int | None) -> None:
        self.asked.append(version)
        self.noted.append(Job.objects.values_list("base_version", flat=True).get())


@pytest.mark.parametrize("hours_ago", [0, -5, 5])
def test_the_version_that_is_rehearsed_is_noted_whatever_the_commits_times_say(olga, sales, hours_ago):
    """Of two commits with the same time, or with times the other way round, no clock tells which one was the newest."""
    path = Path(sales.path)
    version = small_delta.append(path, [{"id": 60, "p": "FR"}])
    newest, before = (path / "_delta_log" / f"{n:020d}.json" for n in (version, version - 1))
    at = before.stat().st_mtime - hours_ago * 3600
    os.utime(newest, (at, at))
    asked(olga, sales)
    assert Job.objects.get().base_version is None
    engine = Noticing(path)
    job = previewed(engine)
    assert job.state == State.AWAITING_APPROVAL, job.error
    assert engine.noted == engine.asked == [version, version]
    assert job.base_version == version < small_delta.head(path)


def test_the_version_of_a_preview_without_one_is_noted_at_its_end(olga, sales):
    asked(olga, sales, rehearse=False)
    engine = Noticing(Path(sales.path))
    assert previewed(engine).base_version == 0
    assert (engine.asked, engine.noted) == ([0], [None])


def test_without_the_wish_there_is_none(olga, sales):
    asked(olga, sales, rehearse=False)
    assert "rehearsal" not in (previewed(SmallEngine()).preview or {})


def test_where_nothing_would_run_nothing_is_rehearsed(olga, sales):
    asked(olga, sales, "id = 999")
    job = previewed(Failing(AssertionError("rehearsed")))
    assert (job.state, job.no_op) == (State.SUCCEEDED, True)


def test_one_that_fails_fails_the_request_in_the_engine_s_words(olga, sales):
    asked(olga, sales)
    failure = EngineFailure("DELTA_X", "42000", "[DELTA_X] no such thing")
    job = previewed(Failing(EngineFailed(failure)))
    error: Any = job.error
    assert (job.state, error["engine"]["condition"]) == (State.FAILED, "DELTA_X")
    assert "failed in its rehearsal" in error["table_state"]


class Slow(SmallEngine):
    """Rehearses until it is cancelled; `meanwhile` is called as it begins."""

    def __init__(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self.cancelled = threading.Event()
        self.meanwhile = meanwhile

    def cancel(self, tag: str) -> None:
        self.cancelled.set()

    def rehearse(self, *given: Any) -> dict[str, Any]:
        self.meanwhile()
        assert self.cancelled.wait(20)
        raise EngineCancelled("cancelled")


def test_one_that_takes_too_long_fails_the_request_and_no_preview_goes_without_it(olga, sales, timing):
    timing(watch=0.02, heartbeat=0.05, lease=5, record_retry=5, preview_limit=0.2)
    asked(olga, sales)
    job = previewed(Slow())
    assert job.state == State.FAILED
    assert "a preview and its rehearsal" in (job.error or {})["message"]


def test_one_of_a_request_that_is_withdrawn_is_stopped(olga, sales):
    job = asked(olga, sales)
    engine = Slow(lambda: withdraw(Actor.acting_for(olga), job))
    job = previewed(engine)
    assert engine.cancelled.is_set()
    assert job.state == State.WITHDRAWN
    assert "rehearsal" not in (job.preview or {})


def test_the_same_request_with_and_without_one_is_the_same_open_request(olga, sales):
    asked(olga, sales)
    with pytest.raises(Problem) as refused:
        asked(olga, sales, rehearse=False)
    assert refused.value.code == "already_open"


def test_a_key_of_a_request_without_one_is_not_that_of_one_with_it(olga, sales):
    asked(olga, sales, rehearse=False, key="k")
    with pytest.raises(Problem) as refused:
        asked(olga, sales, key="k")
    assert refused.value.code == "idempotency_conflict"


def test_on_a_cluster_it_is_refused_and_not_offered(olga, sales, monkeypatch):
    monkeypatch.setenv("LEVEE_SPARK_MASTER", "spark://far:7077")
    with pytest.raises(Problem) as refused:
        asked(olga, sales)
    assert (refused.value.status, refused.value.code) == (422, "rehearsal")
    assert not rehearsals.possible("delete")
    assert not Job.objects.exists()


def test_a_command_that_never_has_one_refuses_the_wish(olga, sales):
    with pytest.raises(Problem) as refused:
        request(Actor.acting_for(olga), Reorg(str(sales.pk)), "r", rehearse=True)
    assert refused.value.status == 400
    assert "can’t be rehearsed" in refused.value.detail


@pytest.mark.parametrize(
    ("page", "given"),
    [
        ("delete", {"text": WHERE, "do": "request"}),
        ("optimize", {"do": "request"}),
        ("schema/change", {"changes": '[{"add": {"path": "note", "type": "string"}}]', "do": "request"}),
        ("restore", {"version": "0", "name": "sales", "accept": ["1-1"]}),
    ],
)
def test_the_box_on_each_page_asks_for_one(lake, page, given):
    sales = lakes.sales_in(lake)
    small_delta.append(Path(sales.path), [{"id": 50, "p": "FR"}])
    client = browser(factories.person_with("operator"))
    shown = client.get(f"/tables/{sales.pk}/{page}/", {"version": "0"} if page == "restore" else {})
    assert 'name="rehearse"' in shown.content.decode()
    answer = client.post(f"/tables/{sales.pk}/{page}/", {**given, "reason": "r", "rehearse": "on"})
    assert answer.status_code == 302, answer.content.decode()
    assert Job.objects.get().rehearse


def test_a_worker_that_starts_removes_what_killed_rehearsals_left(tmp_path: Path) -> None:
    left = tmp_path / rehearsal.FOLDER / "0f" / "_delta_log"
    left.mkdir(parents=True)
    (left / "00000000000000000000.json").write_text("{}")
    runtime = SimpleNamespace(scratch=tmp_path, start=lambda: None)
    SparkEngine(cast(Runtime, runtime)).start()
    assert not list((tmp_path / rehearsal.FOLDER).rglob("*"))


@pytest.mark.parametrize(("change", "word"), [({}, "as predicted"), ({"schema_read": "x"}, "other than predicted")])
def test_a_change_of_the_schema_is_shown_by_whether_it_came_out_as_predicted(olga, sales, change, word):
    """Digests are no words for people."""
    given = {"add": {"path": "note", "type": "string"}}
    job = request(Actor.acting_for(olga), AlterSchema(str(sales.pk), [given]), "r", rehearse=True).job
    preview = job.preview or {}
    details = {
        "commits": [{"operation": "ADD COLUMNS"}],
        "schema_read": preview["schema_digest"],
        "protocol_read": protocol_words(preview["protocol_after"]),
    }
    told = {"operation_metrics": {}, "rows_after": 7, "seconds": 0.4, "details": details | change}
    job.preview = preview | {"rehearsal": told}
    figures = {figure["label"]: figure["value"] for figure in (rehearsed_of(job) or {})["figures"]}
    assert figures == {"Changes committed": "1", "Schema": word, "Protocol": "as predicted"}
