"""A change of properties from its request to its result: approvals, history that it gives up, what makes it stale, half a run."""

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from console.audit.actor import Actor
from jobs.commands.set_properties.log.preview import preview_of, written_for
from jobs.commands.set_properties.rules import SetProperties
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
from tests.jobs.small_delta import SmallEngine

pytestmark = pytest.mark.django_db(transaction=True)
DAY = 86_400


class Setting(SmallEngine):
    """Commits what is set and, unless `breaks`, what is unset, as Delta does."""

    breaks = False

    def run(self, command: Any, *rest: Any) -> Result:
        path, read = Path(command.path), small_delta.head(Path(command.path))
        changes = [dict(command.set), dict.fromkeys(command.unset)]
        parts: list[dict[str, Any]] = []
        for operation, values in zip(("SET TBLPROPERTIES", "UNSET TBLPROPERTIES"), changes, strict=True):
            if values and not (self.breaks and parts):
                parts.append({"version": configure(path, operation, values), "operation": operation})
        details = {
            "text": "Properties changed.",
            "commits": parts,
            "failure": {"message": "no"} if self.breaks else None,
        }
        return Result(parts[-1]["version"], parts[-1]["operation"], read_version=read, details=details)


def configure(path: Path, operation: str, values: dict[str, str | None]) -> int:
    """A commit with other properties; None unsets."""
    found = [
        json.loads(line)["metaData"]
        for file in sorted((path / "_delta_log").glob("*.json"))
        for line in file.read_text().splitlines()
        if "metaData" in line
    ]
    metadata = found[-1]
    after = {**metadata["configuration"], **values}
    configuration = {name: value for name, value in after.items() if value is not None}
    return small_delta.commit(path, operation, [{"metaData": metadata | {"configuration": configuration}}])


@pytest.fixture(autouse=True)
def quick(timing, no_wakes):
    return timing(watch=0.3, lease=5, record_retry=5)


@pytest.fixture
def sales(lake):
    """Three versions, 20 and 3 days old and new."""
    table = lakes.sales_in(lake)
    path = Path(table.path)
    for id_ in (50, 51):
        small_delta.append(path, [{"id": id_, "p": "FR"}])
    for version, days in ((0, 20), (1, 3)):
        then = time.time() - days * DAY
        os.utime(path / "_delta_log" / f"{version:020}.json", (then, then))
    return table


def worked(claiming, engine: Setting | None = None) -> Job:
    engine, claim = engine or Setting(), claiming(factories.holder())
    assert claim is not None, "there is nothing to claim"
    work(Execution(claim, engine, threading.Event(), engine.end_hard))
    return Job.objects.get(pk=claim.job.pk)


def asked(who, table, **more: Any) -> Job:
    request(Actor.acting_for(who), SetProperties(str(table.pk), **more), "as agreed")
    return worked(claim_preview)


def predicted(table, **more: Any) -> dict[str, Any]:
    subject = subject_of(table.pk)
    return preview_of(subject, written_for(subject, SetProperties(str(table.pk), **more)))


def texts(preview: dict[str, Any], code: str) -> list[str]:
    return [each["text"] for each in preview["consequences"] if each["code"] == code]


def test_an_ordinary_change_runs_without_approval(olga, sales):
    job = asked(olga, sales, set={"team": "finance"})
    assert (job.state, job.policy["required_approvals"]) == (State.QUEUED, 0)
    done = worked(claim_run)
    assert (done.state, done.version) == (State.SUCCEEDED, 3)


def test_a_protocol_that_rises_waits_for_a_second_person(olga, sales):
    job = asked(olga, sales, set={"delta.enableDeletionVectors": "true"})
    assert (job.state, job.policy["required_approvals"]) == (State.AWAITING_APPROVAL, 1)


def test_what_is_so_already_ends_at_once(olga, sales):
    configure(Path(sales.path), "SET TBLPROPERTIES", {"team": "finance"})
    job = asked(olga, sales, set={"team": "finance"})
    assert (job.state, job.no_op, job.version) == (State.SUCCEEDED, True, None)


def test_a_shorter_log_gives_up_versions_and_names_the_streams_that_need_them(olga, sales):
    other = factories.TableFactory(root=sales.root, name="other")
    factories.stream(other, name="late", source_table=sales, query_id="q1", reads_from=0)
    factories.stream(other, name="early", source_table=sales, query_id="q2", reads_from=2)
    factories.stream(other, name="new", source_table=sales, reads_from=0)
    preview = predicted(sales, set={"delta.logRetentionDuration": "10 days"})
    assert preview["class"] == "irreversible"
    assert any("Versions up to 0 leave the log" in text for text in preview["irreversible"])
    needed = [each["text"] for each in preview["consequences"] if each["code"] == "needed"]
    assert [text.split(" of this table")[0] for text in needed] == [
        "The stream late into other still has to read version 0"
    ]
    assert predicted(sales, set={"delta.logRetentionDuration": "25 days"})["class"] == "ordinary"


def test_without_log_cleanup_a_shorter_log_gives_up_nothing_until_it_is_switched_on(olga, sales):
    kept = {"delta.enableExpiredLogCleanup": "false", "delta.logRetentionDuration": "10 days"}
    assert predicted(sales, set=kept)["class"] == "ordinary"
    configure(Path(sales.path), "SET TBLPROPERTIES", dict(kept))
    assert predicted(sales, set={"delta.enableExpiredLogCleanup": "true"})["class"] == "irreversible"


def test_removed_files_kept_for_a_shorter_time_end_reading_older_versions(olga, sales):
    preview = predicted(sales, set={"delta.deletedFileRetentionDuration": "1 day"})
    assert any("Versions up to 1 can’t be read" in text for text in preview["irreversible"])
    assert predicted(sales, set={"delta.deletedFileRetentionDuration": "5 days"})["class"] == "ordinary"


def test_shorter_times_name_the_streams_that_read_the_table_and_longer_ones_do_not(olga, sales):
    other = factories.TableFactory(root=sales.root, name="other")
    for name in ("weekly", "daily"):
        factories.stream(other, name=name, source_table=sales, query_id=name, reads_from=2)
    shorter = predicted(sales, set={"delta.logRetentionDuration": "25 days"})
    assert texts(shorter, "streams") == [
        "Streams that read this table, and then mustn’t stop for longer than 25 days: daily, weekly."
    ]
    assert texts(predicted(sales, set={"delta.logRetentionDuration": "60 days"}), "streams") == []


def test_a_stream_that_the_commit_may_outdate_is_named(olga, sales):
    other = factories.TableFactory(root=sales.root, name="other")
    factories.stream(other, name="late", source_table=sales, query_id="q1", reads_from=0)
    configure(Path(sales.path), "SET TBLPROPERTIES", {"delta.logRetentionDuration": "10 days"})
    [text] = texts(predicted(sales, set={"team": "finance"}), "outdates_stream")
    assert text.startswith("The stream late into other hasn’t read version 0")


def wrote(sales, app: str, days: float) -> None:
    """A commit of an application, so many days ago by its own word."""
    then = int((time.time() - days * DAY) * 1000)
    small_delta.commit(Path(sales.path), "WRITE", [{"txn": {"appId": app, "version": 1, "lastUpdated": then}}])


def test_transactions_that_are_forgotten_sooner_name_the_streams_that_could_write_twice(olga, sales):
    wrote(sales, "old", 5)
    wrote(sales, "new", 0.1)
    factories.stream(sales, name="clicks", query_id="old")
    factories.stream(sales, name="orders", query_id="new")
    preview = predicted(sales, set={"delta.setTransactionRetentionDuration": "1 day"})
    assert preview["class"] == "irreversible"
    assert any("Delta forgets the last batch of 1 application," in text for text in preview["irreversible"])
    assert texts(preview, "needed") == ["Streams of these that write into this table: clicks."]
    assert "Streams that write into it: clicks, orders." in texts(preview, "transactions")[0]


def test_transactions_that_are_remembered_are_no_loss(olga, sales):
    wrote(sales, "old", 5)
    assert predicted(sales, set={"delta.setTransactionRetentionDuration": "10 days"})["class"] == "ordinary"
    configure(Path(sales.path), "SET TBLPROPERTIES", {"delta.setTransactionRetentionDuration": "1 day"})
    longer = predicted(sales, unset=["delta.setTransactionRetentionDuration"])
    assert (longer["class"], texts(longer, "transactions")) == ("ordinary", [])


def test_column_mapping_cannot_be_taken_back_even_if_the_protocol_has_it_already(olga, sales):
    features = {
        "minReaderVersion": 2,
        "minWriterVersion": 7,
        "writerFeatures": ["appendOnly", "columnMapping", "invariants"],
    }
    small_delta.commit(Path(sales.path), "UPGRADE PROTOCOL", [{"protocol": features}])
    other = factories.TableFactory(root=sales.root, name="other")
    factories.stream(other, name="copy", source_table=sales, query_id="q1", reads_from=3)
    preview = predicted(sales, set={"delta.columnMapping.mode": "name"})
    assert preview["protocol_before"] == preview["protocol_after"]
    assert (preview["class"], preview["opposite"]) == ("irreversible", "")
    assert "only dropping the feature columnMapping" in preview["irreversible"][0]
    assert texts(preview, "may_fail_stream")[0].startswith("The stream copy into other")


@pytest.mark.parametrize(
    ("has", "given", "new"),
    [
        ("typeWidening-preview", {"delta.enableTypeWidening": "true"}, []),
        ("typeWidening-preview", {"delta.feature.typeWidening": "supported"}, ["typeWidening"]),
        ("variantShredding", {"delta.enableVariantShredding": "true"}, []),
    ],
)
def test_a_property_asks_for_no_other_form_of_a_feature_that_is_there(sales, has, given, new):
    names = sorted([has, *(["variantType"] if has == "variantShredding" else [])])
    features = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": names, "writerFeatures": names}
    small_delta.commit(Path(sales.path), "UPGRADE PROTOCOL", [{"protocol": features}])
    assert predicted(sales, set=given)["protocol_after"]["writer_features"] == sorted([*names, *new])


@pytest.mark.parametrize(
    ("name", "text"), [("delta.enableChangeDataFeed", "missing from it for good"), ("delta.enableRowTracking", "lose their ids")]
)  # fmt: skip
def test_what_leaves_a_gap_when_it_is_switched_off_needs_a_second_person(olga, sales, name, text):
    configure(Path(sales.path), "SET TBLPROPERTIES", {name: "true"})
    job = asked(olga, sales, set={name: "false"})
    assert (job.state, job.policy["required_approvals"]) == (State.AWAITING_APPROVAL, 1)
    assert text in (job.preview or {})["irreversible"][0]


def test_the_change_feed_says_from_which_version_it_goes(olga, sales):
    preview = predicted(sales, set={"delta.enableChangeDataFeed": "true"})
    texts = [each["text"] for each in preview["consequences"] if each["code"] == "change_feed_begins"]
    assert texts == [
        "The change feed begins with this change’s commit, version 3 at the earliest: earlier changes can’t be read from it."
    ]


def test_newer_rows_do_not_make_it_stale_and_other_properties_do(olga, sales):
    asked(olga, sales, set={"team": "finance"})
    small_delta.append(Path(sales.path), [{"id": 60, "p": "DE"}])
    assert worked(claim_run).state == State.SUCCEEDED
    asked(olga, sales, set={"team": "sales"})
    configure(Path(sales.path), "SET TBLPROPERTIES", {"owner": "me"})
    assert worked(claim_run).state == State.STALE


def test_half_a_run_fails_with_its_version_and_says_what_is_missing(olga, sales):
    configure(Path(sales.path), "SET TBLPROPERTIES", {"owner": "me"})
    asked(olga, sales, set={"team": "finance"}, unset=["owner"])
    engine = Setting()
    engine.breaks = True
    job = worked(claim_run, engine)
    assert (job.state, job.version) == (State.FAILED, 4)
    assert job.error is not None
    assert job.error["code"] == "partly_committed"
    assert "UNSET TBLPROPERTIES" in job.error["message"]
