"""A dropped feature from its request to its result: the approval, the two steps of a cut history, what makes it stale, half a run."""

import threading
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from console.audit.actor import Actor
from jobs.approvals import decisions
from jobs.commands.drop_feature.log import preview_of, written_for
from jobs.commands.drop_feature.rules import DROPPED, MADE_CHANGES, DropFeature
from jobs.domain.delta.protocols import DeltaProtocol
from jobs.domain.results import Result
from jobs.domain.states import State
from jobs.models import Job
from jobs.requests.asking import request
from jobs.targets.subject import subject_of
from jobs.worker.claims import claim_preview, claim_run
from jobs.worker.execution import Execution, work
from tests import factories
from tests.factories import lakes
from tests.jobs import small_delta
from tests.jobs.commands.set_properties.test_flow import configure
from tests.jobs.small_delta import SmallEngine

pytestmark = pytest.mark.django_db(transaction=True)
FEATURES = ["appendOnly", "deletionVectors", "invariants"]
UPGRADED = {
    "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"], "writerFeatures": FEATURES,
}  # fmt: skip


class Dropping(SmallEngine):
    """Takes the feature out; `ready` asks to wait until then, as the first step does; `breaks` after the commit before the last."""

    def __init__(self, ready: datetime | None = None, *, breaks: bool = False) -> None:
        super().__init__()
        self.ready, self.breaks = ready, breaks

    def run(self, command: Any, *rest: Any) -> Result:
        path, read = Path(command.path), small_delta.head(Path(command.path))
        parts = [{"version": small_delta.commit(path, "EMPTY COMMIT", []), "operation": "EMPTY COMMIT"}]
        details: dict[str, Any] = {"text": "Dropped.", "commits": parts}
        if self.ready:
            wait = {"text": "Wait.", "ask_again_after": self.ready.isoformat(), "condition": MADE_CHANGES}
            return Result(read + 1, "EMPTY COMMIT", read_version=read, details=details | wait)
        if self.breaks:
            return Result(read + 1, "EMPTY COMMIT", read_version=read, details=details | {"failure": {"message": "no"}})
        plain = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
        parts.append({"version": small_delta.commit(path, DROPPED, [plain]), "operation": DROPPED})
        after = {"protocol_after": DeltaProtocol(1, 2).as_json()}
        return Result(read + 2, DROPPED, read_version=read, details=details | after)


@pytest.fixture(autouse=True)
def quick(timing, no_wakes):
    return timing(watch=0.3, lease=5, record_retry=5)


@pytest.fixture
def sales(lake):
    """A table whose protocol has deletion vectors that no property asks for."""
    table = lakes.sales_in(lake)
    small_delta.commit(Path(table.path), "UPGRADE PROTOCOL", [{"protocol": UPGRADED}])
    return table


def worked(claiming, engine: Dropping | None = None) -> Job:
    engine, claim = engine or Dropping(), claiming(factories.holder())
    assert claim is not None, "there is nothing to claim"
    work(Execution(claim, engine, threading.Event(), engine.end_hard))
    return Job.objects.get(pk=claim.job.pk)


def approved(who, table, *, cut: bool = False) -> Job:
    request(Actor.acting_for(who), DropFeature(str(table.pk), "deletionvectors", cut), "older engines")
    job = worked(claim_preview)
    assert (job.state, job.policy["required_approvals"]) == (State.AWAITING_APPROVAL, 1)
    decisions.approve(Actor.acting_for(factories.person_with("approver")), job, str(job.digest))
    return job


def predicted(table) -> dict[str, Any]:
    subject = subject_of(table.pk)
    return preview_of(subject, written_for(subject, DropFeature(str(table.pk), "deletionVectors", True)))


def codes(preview: dict[str, Any]) -> list[str]:
    return [each["code"] for each in preview["consequences"]]


def test_it_waits_for_a_second_person_and_runs(olga, sales):
    approved(olga, sales)
    done = worked(claim_run)
    assert (done.state, done.version) == (State.SUCCEEDED, small_delta.head(Path(sales.path)))


def test_the_first_step_ends_well_and_the_next_preview_says_how_long_is_left(olga, sales):
    fresh = predicted(sales)
    assert (fresh["ask_again_after"], "too_early" in codes(fresh)) == (None, False)
    ready = timezone.now() + timedelta(hours=20)
    approved(olga, sales, cut=True)
    first = worked(claim_run, Dropping(ready))
    assert (first.state, first.error) == (State.SUCCEEDED, None)
    waiting = predicted(sales)
    assert waiting["ask_again_after"] == ready.isoformat()
    assert waiting["steps"][0] == "First request: done. The table no longer uses the feature."
    assert "too_early" in codes(waiting)


def test_once_the_wait_is_over_the_same_request_drops_it(olga, sales):
    approved(olga, sales, cut=True)
    worked(claim_run, Dropping(timezone.now() - timedelta(minutes=1)))
    assert "too_early" not in codes(predicted(sales))
    approved(olga, sales, cut=True)
    assert worked(claim_run).state == State.SUCCEEDED
    assert set(subject_of(sales.pk).snapshot.features) == {"appendOnly", "invariants"}


def test_a_feature_that_is_used_again_begins_anew(olga, sales):
    approved(olga, sales, cut=True)
    worked(claim_run, Dropping(timezone.now() + timedelta(hours=20)))
    configure(Path(sales.path), "SET TBLPROPERTIES", {"delta.enableDeletionVectors": "true"})
    assert predicted(sales)["ask_again_after"] is None


def test_the_first_step_of_another_table_at_the_same_path_is_not_this_one_s(olga, sales):
    approved(olga, sales, cut=True)
    job = worked(claim_run, Dropping(timezone.now() + timedelta(hours=20)))
    assert predicted(sales)["ask_again_after"] is not None
    Job.objects.filter(pk=job.pk).update(preview={**(job.preview or {}), "table_id": "another"})
    assert predicted(sales)["ask_again_after"] is None


def test_without_column_mapping_streams_meet_another_schema(olga, sales):
    mapped = {"minReaderVersion": 2, "minWriterVersion": 7, "writerFeatures": ["columnMapping"]}
    small_delta.commit(Path(sales.path), "UPGRADE PROTOCOL", [{"protocol": mapped}])
    other = factories.TableFactory(root=sales.root, name="other")
    factories.stream(other, name="copy", source_table=sales, query_id="q1", reads_from=2)
    subject = subject_of(sales.pk)
    assert "may_fail_stream" in codes(preview_of(subject, DropFeature(str(sales.pk), "columnMapping")))


def test_a_cut_history_names_the_streams_that_still_read_it(sales):
    other = factories.TableFactory(root=sales.root, name="other")
    head = small_delta.head(Path(sales.path))
    factories.stream(other, name="late", source_table=sales, query_id="q1", reads_from=head)
    factories.stream(other, name="up to date", source_table=sales, query_id="q2", reads_from=head + 1)
    [needed] = [each["text"] for each in predicted(sales)["consequences"] if each["code"] == "needed"]
    assert needed.startswith(f"The stream late into other still has to read version {head} of this table")


def test_newer_rows_do_not_make_it_stale_and_a_property_does(olga, sales):
    approved(olga, sales)
    small_delta.append(Path(sales.path), [{"id": 60, "p": "DE"}])
    assert worked(claim_run).state == State.SUCCEEDED
    small_delta.commit(Path(sales.path), "UPGRADE PROTOCOL", [{"protocol": UPGRADED}])
    approved(olga, sales)
    configure(Path(sales.path), "SET TBLPROPERTIES", {"owner": "me"})
    assert worked(claim_run).state == State.STALE


def test_a_run_that_ends_before_the_last_commit_says_where_the_table_stands(olga, sales):
    approved(olga, sales)
    job = worked(claim_run, Dropping(breaks=True))
    assert (job.state, job.version) == (State.FAILED, small_delta.head(Path(sales.path)))
    assert job.error is not None
    assert (job.error["code"], job.error["what_to_do"]) == (
        "partly_committed",
        "Request it again: Delta goes on from there.",
    )
