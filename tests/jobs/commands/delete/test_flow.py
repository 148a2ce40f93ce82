"""A delete from its request to its undo: previewed, approved, checked for drift, run, proven, taken back."""

import json
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from console.accounts.models import Grant, Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from jobs.approvals import decisions
from jobs.commands import registry
from jobs.dispatcher import lost_quorum
from jobs.domain.errors import CommandRefused, EngineCancelled, EngineFailed, EngineFailure, Refusal
from jobs.domain.states import State
from jobs.models import Attempt, Decision, Job, PolicyRule
from jobs.targets.subject import subject_of
from jobs.web.jobs.queries import destructive_lately
from jobs.worker import claims
from jobs.worker.claims import claim_preview, claim_run
from jobs.worker.execution import Execution, work
from tests import factories
from tests.factories import lakes
from tests.jobs import small_delta
from tests.jobs.asking import request_delete, request_restore
from tests.jobs.small_delta import SmallEngine

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def engine():
    return SmallEngine()


@pytest.fixture(autouse=True)
def quick(timing, no_wakes):
    return timing(watch=0.3, lease=5, record_retry=5)


@pytest.fixture
def sales(lake):
    return lakes.sales_in(lake)


@pytest.fixture
def place(sales):
    from pathlib import Path

    return Path(sales.path)


def actor(who: Person) -> Actor:
    return Actor.acting_for(who)


@pytest.fixture
def anna(db):
    return factories.appointed("anna", Role.APPROVER)


def worked(engine, claiming) -> Any:
    claim = claiming(factories.holder())
    assert claim is not None, "there is nothing to claim"
    work(Execution(claim, engine, threading.Event(), engine.end_hard))
    return Job.objects.select_related("table").get(pk=claim.job.pk)


def asked(engine, olga, sales, predicate="p = 'FR' AND id < 5") -> Any:
    request_delete(actor(olga), sales.pk, predicate, "too old")
    return worked(engine, claim_preview)


def approved(engine, olga, anna, sales, predicate="p = 'FR' AND id < 5") -> Any:
    job = asked(engine, olga, sales, predicate)
    decisions.approve(actor(anna), job, job.digest, "go")
    return Job.objects.select_related("table").get(pk=job.pk)


def code_of(act) -> str:
    with pytest.raises(Problem) as found:
        act()
    return found.value.code


# --- request and preview ----------------------------------------------------------------------------------------------


def test_a_request_has_the_logs_preview_at_once_and_no_digest(olga, sales):
    job: Any = request_delete(actor(olga), sales.pk, "p = 'FR' and id<5", "too old").job
    assert (job.state, job.digest) == ("previewing", None)
    assert job.preview["speed"] == "log"
    assert (job.preview["rows_matched"], job.preview["rows_matched_exact"]) == (5, False)
    assert job.parameters["predicate"] == "p = 'FR' AND id < 5"


def test_spark_counts_it_and_it_waits_for_a_second_person(engine, olga, sales):
    job = asked(engine, olga, sales)
    assert job.state == State.AWAITING_APPROVAL
    assert (job.preview["rows_matched"], job.preview["rows_matched_exact"]) == (2, True)
    assert (job.preview["branch"], job.preview["rows_copied"], job.preview["rows_total"]) == ("rewrite", 3, 10)
    assert job.base_version == 0
    assert job.policy["required_approvals"] == 1
    assert "second person" in job.policy["reasons"][0]
    assert {c["code"] for c in job.preview["consequences"]} == {"readable_until", "bytes_stay"}


def test_one_whose_exact_count_is_every_row_is_of_the_whole_table(engine, olga, sales):
    assert asked(engine, olga, sales, "id < 100").preview["class"] == "whole_table"
    assert asked(engine, olga, sales, None).preview["class"] == "whole_table"
    assert asked(engine, olga, sales, "id < 9").preview["class"] == "ordinary"


class SlowEngine(SmallEngine):
    """One whose count never comes: it goes on until it is cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.cancelled = threading.Event()

    def preview(self, *given: Any) -> Any:
        assert self.cancelled.wait(20), "nobody cancelled"
        raise EngineCancelled("cancelled")

    def cancel(self, tag: str) -> None:
        self.cancelled.set()


def test_one_that_cannot_be_counted_in_time_is_of_the_whole_table(engine, olga, anna, sales, place, timing):
    """Rule 5 of approvals: what can't be known counts as everything, and nobody waits for a count that never comes."""
    timing(watch=0.02, preview_limit=0.1)
    job = asked(SlowEngine(), olga, sales)
    assert job.state == State.AWAITING_APPROVAL
    assert (job.preview["class"], job.preview["rows_matched_exact"], job.preview["rows_hash"]) == (
        "whole_table",
        False,
        None,
    )
    assert "couldn’t count" in job.preview["notes"][0]
    decisions.approve(actor(anna), job, job.digest, "go")
    job = worked(engine, claim_run)
    assert (job.state, job.result["num_affected_rows"]) == ("succeeded", 2)


def test_one_that_was_not_counted_is_stale_once_the_table_moves(engine, olga, anna, sales, place, timing):
    timing(watch=0.02, preview_limit=0.1)
    job = asked(SlowEngine(), olga, sales)
    decisions.approve(actor(anna), job, job.digest, "go")
    small_delta.append(place, [{"id": 99, "p": "DE"}])
    assert worked(engine, claim_run).state == State.STALE


def test_nothing_that_matches_ends_it_without_approval(engine, olga, sales):
    job = asked(engine, olga, sales, "p = 'FR' AND id = 2")
    assert (job.state, job.no_op, job.version) == ("succeeded", True, None)
    job = asked(engine, olga, sales, "id > 99")
    assert (job.state, job.no_op, job.preview["branch"]) == ("succeeded", True, "nothing")


def test_a_file_without_rows_is_removed_by_its_partition_and_said_to_be(engine, olga, anna, sales, place):
    small_delta.append_empty(place, "XX")
    before = len(small_delta.live(place))
    job = asked(engine, olga, sales, "p = 'XX'")
    assert (job.state, job.preview["branch"]) == (State.AWAITING_APPROVAL, "metadata_only")
    assert (job.preview["rows_matched"], job.preview["files_matched"], job.preview["bytes_matched"]) == (0, 1, 2)
    assert {said["code"] for said in job.preview["consequences"]} == {"bytes_stay"}
    assert "1 matching file holds no rows" in " ".join(job.preview["notes"])
    assert registry.title_of(job) == "Remove 1 file without rows from sales"
    decisions.approve(actor(anna), job, job.digest, "go")
    job = worked(engine, claim_run)
    assert (job.state, job.no_op, job.result["num_affected_rows"]) == ("succeeded", False, 0)
    assert len(small_delta.live(place)) == before - 1


def test_files_without_rows_are_named_at_the_request_already(olga, sales, place):
    for partition in ("XX", "YY"):
        small_delta.append_empty(place, partition)
    job: Any = request_delete(actor(olga), sales.pk, "p IN ('XX', 'YY')", "tidy").job
    assert (job.preview["rows_matched"], job.preview["rows_matched_exact"], job.preview["files_matched"]) == (
        0,
        True,
        2,
    )
    assert "2 matching files hold no rows" in " ".join(job.preview["notes"])


def test_a_file_of_which_the_log_has_no_count_is_found_empty_by_spark(engine, olga, sales, place):
    small_delta.append_empty(place, "XX", counted=False)
    job = asked(engine, olga, sales, "p = 'XX'")
    assert (job.state, job.preview["rows_matched"], job.preview["files_matched"]) == (State.AWAITING_APPROVAL, 0, 1)
    assert "1 matching file holds no rows" in " ".join(job.preview["notes"])


def test_a_file_without_rows_beside_full_ones_goes_with_them(engine, olga, sales, place):
    small_delta.append_empty(place, "FR")
    job = asked(engine, olga, sales, "p = 'FR'")
    assert (job.preview["rows_matched"], job.preview["files_matched"]) == (5, 2)
    assert "1 matching file holds no rows" in " ".join(job.preview["notes"])
    assert {said["code"] for said in job.preview["consequences"]} == {"readable_until", "bytes_stay"}


def test_a_file_without_rows_stays_where_rows_are_asked_for(engine, olga, sales, place):
    small_delta.append_empty(place, "XX")
    job = asked(engine, olga, sales, "p = 'XX' AND id < 5")
    assert (job.state, job.no_op) == ("succeeded", True)


def test_a_table_of_files_without_rows_is_emptied_of_them(engine, olga, lake):
    small_delta.create(Path(lake.uri) / "hollow", [])
    small_delta.append_empty(Path(lake.uri) / "hollow", "XX")
    table = factories.TableFactory(root=lake, name="hollow")
    job = asked(engine, olga, table, None)
    assert (job.state, job.preview["class"], job.preview["files_matched"]) == (
        State.AWAITING_APPROVAL,
        "whole_table",
        1,
    )


def test_files_that_delta_skips_though_rows_may_match_are_named_before_and_after_the_count(engine, olga, sales, place):
    stats = {"numRecords": 1, "minValues": {"id": 9}, "maxValues": {"id": 1}, "nullCount": {"id": 0}}
    contradict(place, stats)
    request_delete(actor(olga), sales.pk, "p = 'XX' AND id = 99", "why")
    before: Any = Job.objects.get()
    after = worked(engine, claim_preview)
    for job in (before, after):
        assert job.preview["skipping"] == {"bounds": 1, "nan": 0}
        assert "may miss rows of 1 file" in " ".join(job.preview["notes"])
    assert (after.state, after.no_op) == ("succeeded", True)
    assert "may miss rows of 1 file" in after.result["details"]["text"]


class Skipping(SmallEngine):
    """Counts and deletes as Delta does, which skips the files of `p=XX` by their statistics."""

    def _matching(self, command, path, name):
        return [] if name.startswith("p=XX") else super()._matching(command, path, name)


SKIPPED = {"numRecords": 1, "minValues": {"id": 9}, "maxValues": {"id": 7}, "nullCount": {"id": 0}}


def test_matching_rows_in_skipped_files_are_a_consequence_of_what_is_approved(olga, sales, place):
    contradict(place, SKIPPED)
    request_delete(actor(olga), sales.pk, "id = 1", "why")
    job = worked(Skipping(), claim_preview)
    assert job.state == State.AWAITING_APPROVAL
    assert job.preview["rows_matched"] == 1
    assert job.preview["passed_over"] == {"files": 1, "of": 1, "rows": 1}
    left = job.preview["consequences"][0]
    assert left["code"] == "rows_left"
    assert "this file holds 1 matching row: the delete would leave it" in left["text"]


def test_without_a_row_in_them_it_is_a_note(olga, sales, place):
    contradict(place, SKIPPED)
    request_delete(actor(olga), sales.pk, "id = 2", "why")
    job = worked(Skipping(), claim_preview)
    assert job.preview["passed_over"] == {"files": 1, "of": 1, "rows": 0}
    assert "rows_left" not in {found["code"] for found in job.preview["consequences"]}
    assert "this file holds no matching row" in job.preview["notes"][-1]


def test_a_delete_that_finds_nothing_says_what_it_leaves(olga, sales, place):
    contradict(place, SKIPPED)
    request_delete(actor(olga), sales.pk, "p = 'XX' AND id = 1", "why")
    job = worked(Skipping(), claim_preview)
    assert (job.state, job.no_op) == ("succeeded", True)
    assert "1 matching row: the delete would leave it" in job.result["details"]["text"]


def test_skipped_files_that_cannot_be_read_fail_no_preview(olga, sales, place):
    class Torn(Skipping):
        def read(self, kind, question, marks, report):
            raise EngineFailed(EngineFailure("FAILED_READ_FILE", "KD001", "the footer is torn"))

    contradict(place, SKIPPED)
    request_delete(actor(olga), sales.pk, "id = 1", "why")
    job = worked(Torn(), claim_preview)
    assert (job.state, job.preview["rows_matched"]) == (State.AWAITING_APPROVAL, 1)
    assert "passed_over" not in job.preview
    assert "may miss rows of 1 file" in " ".join(job.preview["notes"])


CHECKED = {"delta.constraints.small": "id < 9"}


class Constrained(SmallEngine):
    """Keeps to constraints as Delta does, which looks at the rows that a delete copies."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def read(self, kind, question, marks, report):
        self.asked.append((kind, question))
        failure = EngineFailure("DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", "23001", "CHECK constraint small violated")
        raise CommandRefused(Refusal("constraint_fails", "Rows don’t pass.", remedy="Drop it.", engine=failure))


def test_rows_that_a_delete_copies_are_held_against_constraints_before_anybody_reviews_it(olga, lake, tmp_path):
    small_delta.create(tmp_path / "lake" / "sales", lakes.SALES, CHECKED)
    sales = factories.TableFactory(root=lake, name="sales")
    request_delete(actor(olga), sales.pk, "p = 'FR' AND id < 2", "why")
    engine = Constrained()
    job = worked(engine, claim_preview)
    assert (job.state, job.error["code"]) == (State.FAILED, "constraint_fails")
    assert (job.preview["rows_matched"], job.preview["rows_matched_exact"]) == (1, True)
    assert job.error["engine"]["condition"] == "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"
    [(kind, question)] = engine.asked
    assert kind == "constraints"
    assert (question["path"], question["version"], question["rows"]) == (sales.path, 0, None)
    assert question["kept_by"] == job.parameters["tree"]
    assert all("p=FR" in name for name in question["files"])
    assert question["files"]


def test_a_delete_that_copies_no_rows_asks_for_none_of_them(olga, lake, tmp_path):
    small_delta.create(tmp_path / "lake" / "sales", lakes.SALES, CHECKED)
    sales = factories.TableFactory(root=lake, name="sales")
    request_delete(actor(olga), sales.pk, "p = 'FR'", "why")
    engine = Constrained()
    assert worked(engine, claim_preview).state == State.AWAITING_APPROVAL
    assert engine.asked == []


class SlowCheck(SlowEngine):
    """One that counts, and whose check of constraints never comes."""

    def preview(self, *given):
        return SmallEngine.preview(self, *given)

    def read(self, kind, question, marks, report):
        return SlowEngine.preview(self)


def test_a_check_of_constraints_that_takes_too_long_costs_no_count(olga, lake, tmp_path, timing):
    timing(watch=0.02, preview_limit=1)
    small_delta.create(tmp_path / "lake" / "sales", lakes.SALES, CHECKED)
    sales = factories.TableFactory(root=lake, name="sales")
    request_delete(actor(olga), sales.pk, "p = 'FR' AND id < 2", "why")
    job = worked(SlowCheck(), claim_preview)
    assert (job.state, job.preview["rows_matched"], job.preview["class"]) == (State.AWAITING_APPROVAL, 1, "ordinary")
    assert "couldn’t check the table’s constraints" in job.preview["notes"][0]


def test_nothing_is_asked_of_a_table_without_constraints(olga, sales):
    request_delete(actor(olga), sales.pk, "p = 'FR' AND id < 2", "why")
    engine = Constrained()
    assert worked(engine, claim_preview).state == State.AWAITING_APPROVAL
    assert engine.asked == []


def contradict(place, stats):
    """A file whose statistics say these things, whatever is in it."""
    name = "p=XX/part-odd.json"
    (place / "p=XX").mkdir()
    (place / name).write_text('[{"id": 1, "p": "XX"}]')
    values = {"path": name, "partitionValues": {"p": "XX"}, "size": 22, "modificationTime": 0, "dataChange": True}
    small_delta.commit(place, "WRITE", [{"add": values | {"stats": json.dumps(stats)}}])


def test_a_bad_predicate_is_refused_before_there_is_a_job(olga, sales):
    assert code_of(lambda: request_delete(actor(olga), sales.pk, "id = (select 1)", "why")) == "predicate_refused"
    assert code_of(lambda: request_delete(actor(olga), sales.pk, "1 = 1", "why")) == "predicate_refused"
    assert not Job.objects.exists()


def test_an_append_only_table_is_refused_in_deltas_words(olga, lake, tmp_path):
    path = tmp_path / "lake" / "kept"
    small_delta.create(path, lakes.SALES, {"delta.appendOnly": "true"})
    kept = factories.TableFactory(root=lake, name="kept")
    with pytest.raises(Problem) as found:
        request_delete(actor(olga), kept.pk, "id = 1", "why")
    engine: Any = found.value.engine
    assert (found.value.code, engine["condition"]) == ("append_only", "DELTA_CANNOT_MODIFY_APPEND_ONLY")


def test_the_same_open_request_is_refused_however_it_is_spelt(olga, sales):
    request_delete(actor(olga), sales.pk, "id < 5", "why")
    assert code_of(lambda: request_delete(actor(olga), sales.pk, "  id<5 ", "again")) == "already_open"


def test_a_viewer_may_not_ask_and_the_refusal_is_on_record(sales):
    viewer = factories.appointed("vera", Role.VIEWER)
    assert code_of(lambda: request_delete(actor(viewer), sales.pk, "id < 5", "why")) == "forbidden"
    assert Event.objects.filter(action="job.request", outcome="refused", actor_name="vera").exists()


# --- decisions --------------------------------------------------------------------------------------------------------


def test_one_approval_queues_it_and_it_runs(engine, olga, anna, sales, place):
    job = approved(engine, olga, anna, sales)
    assert job.state == State.QUEUED
    job = worked(engine, claim_run)
    assert (job.state, job.version, job.result["num_affected_rows"]) == ("succeeded", 1, 2)
    assert job.drift["verdict"] == "unmoved"
    assert not job.result["drifted"]
    assert [row["id"] for row in small_delta.rows_of(place)] == [0, 2, 4, 5, 6, 7, 8, 9]


def test_nobody_approves_their_own(engine, olga, sales):
    job = asked(engine, factories.appointed(olga.name, Role.APPROVER), sales)
    assert code_of(lambda: decisions.approve(actor(olga), job, job.digest)) == "not_your_own"
    assert Event.objects.filter(action="job.approve", outcome="refused").exists()
    with pytest.raises(IntegrityError, match="own request"), transaction.atomic():
        Decision.objects.create(job=job, person=olga, decision="approve", digest=job.digest)


def test_nobody_approves_twice_or_what_has_changed(engine, olga, anna, sales):
    PolicyRule.objects.filter(command="delete", enabled=True).update(required_approvals=2)
    job = asked(engine, olga, sales)
    assert code_of(lambda: decisions.approve(actor(anna), job, "0" * 64)) == "stale"
    decisions.approve(actor(anna), job, job.digest)
    assert code_of(lambda: decisions.approve(actor(anna), job, job.digest)) == "already_decided"
    assert Job.objects.get(pk=job.pk).state == State.AWAITING_APPROVAL
    with pytest.raises(IntegrityError, match="changed since"), transaction.atomic():
        Decision.objects.create(
            job=job, person=factories.appointed("ben", Role.APPROVER), decision="approve", digest="0" * 64
        )


def test_an_operator_may_not_approve(engine, olga, sales):
    other = factories.appointed("otto")
    job = asked(engine, olga, sales)
    assert code_of(lambda: decisions.approve(actor(other), job, job.digest)) == "forbidden"


def test_one_no_ends_it_even_when_it_is_queued(engine, olga, anna, sales, place):
    job = approved(engine, olga, anna, sales)
    decisions.reject(actor(factories.appointed("ben", Role.APPROVER)), job, job.digest, "not this month")
    job.refresh_from_db()
    assert job.state == State.REJECTED
    assert claim_run(factories.holder()) is None
    assert small_delta.head(place) == 0


def test_an_edit_voids_approvals_and_previews_again(engine, olga, anna, sales):
    job = approved(engine, olga, anna, sales)
    old = job.digest
    decisions.edit(actor(olga), job, {"predicate": "p = 'FR' AND id < 3"}, "fewer")
    job.refresh_from_db()
    assert (job.state, job.digest, job.revision) == ("previewing", None, 2)
    job = worked(engine, claim_preview)
    assert (job.state, job.preview["rows_matched"]) == ("awaiting_approval", 1)
    assert job.digest != old
    assert job.decisions.get().voided_at is not None
    assert code_of(lambda: decisions.approve(actor(anna), job, old)) == "stale"
    decisions.approve(actor(anna), job, job.digest)


@pytest.mark.parametrize("outcome", [Attempt.UNPROVEN, Attempt.CAME_BACK])
def test_what_a_lost_worker_may_have_committed_is_not_edited(engine, olga, anna, sales, outcome):
    """Both would carry the job's transaction: Delta would skip the new one, and its rows would be the old one's."""
    job = approved(engine, olga, anna, sales)
    factories.attempt(job, number=1, token=7_000_000, outcome=outcome, ended_at=Now())
    assert code_of(lambda: decisions.edit(actor(olga), job, {"predicate": "id < 3"}, "fewer")) == "wrong_state"
    job.refresh_from_db()
    assert (job.state, job.revision) == ("queued", 1)


def test_an_edit_back_gives_no_old_approval_back(engine, olga, anna, sales):
    job = approved(engine, olga, anna, sales)
    first = job.parameters["predicate"], job.digest
    decisions.edit(actor(olga), job, {"predicate": "id = 1"}, "other")
    worked(engine, claim_preview)
    decisions.edit(actor(olga), Job.objects.get(pk=job.pk), {"predicate": first[0]}, "too old")
    job = worked(engine, claim_preview)
    assert job.parameters["predicate"] == first[0]
    assert job.digest != first[1]
    assert job.state == State.AWAITING_APPROVAL


def test_a_decision_is_never_changed_or_removed(engine, olga, anna, sales):
    job = approved(engine, olga, anna, sales)
    decision = job.decisions.get()
    with pytest.raises(Exception, match="never changed"), transaction.atomic():
        Decision.objects.filter(pk=decision.pk).update(comment="other words")
    with pytest.raises(Exception, match="never changed"), transaction.atomic():
        decision.delete()


def test_the_database_lets_nothing_run_without_its_quorum(engine, olga, sales):
    job = asked(engine, olga, sales)
    with pytest.raises(IntegrityError, match="quorum"), transaction.atomic():
        Job.objects.filter(pk=job.pk).update(state="queued")


def test_a_role_taken_away_ends_its_approval(engine, olga, anna, sales):
    job = approved(engine, olga, anna, sales)
    Grant.objects.filter(person=anna).delete()
    assert claim_run(factories.holder()) is None
    assert lost_quorum.send_back() == 1
    job.refresh_from_db()
    assert job.state == State.AWAITING_APPROVAL


def test_a_disabled_person_no_longer_counts(engine, olga, anna, sales):
    approved(engine, olga, anna, sales)
    Person.objects.filter(pk=anna.pk).update(is_active=False)
    assert claim_run(factories.holder()) is None


def test_a_rule_that_became_stricter_counts_at_the_claim(engine, olga, anna, sales):
    job = approved(engine, olga, anna, sales)
    PolicyRule.objects.filter(command="delete", enabled=True).update(required_approvals=2)
    assert claim_run(factories.holder()) is None
    job.refresh_from_db()
    assert job.state == State.AWAITING_APPROVAL
    decisions.approve(actor(factories.appointed("ben", Role.APPROVER)), job, job.digest)
    assert worked(engine, claim_run).state == State.SUCCEEDED


def test_a_job_that_ends_while_it_is_sent_back_ends_no_claim(engine, olga, anna, sales, monkeypatch):
    job = approved(engine, olga, anna, sales)
    PolicyRule.objects.filter(command="delete", enabled=True).update(required_approvals=2)
    send_back = claims._send_back

    def meanwhile(job_id, holder):
        Job.objects.filter(pk=job_id).update(state=State.WITHDRAWN, finished_at=Now())
        send_back(job_id, holder)

    monkeypatch.setattr(claims, "_send_back", meanwhile)
    assert claim_run(factories.holder()) is None
    assert Job.objects.get(pk=job.pk).state == State.WITHDRAWN


def test_a_rule_that_became_milder_lowers_nothing_that_is_open(engine, olga, anna, sales):
    PolicyRule.objects.filter(command="delete", enabled=True).update(required_approvals=2)
    job = asked(engine, olga, sales)
    factories.change_rules(enabled=False)
    decisions.approve(actor(anna), job, job.digest)
    job.refresh_from_db()
    assert job.state == State.AWAITING_APPROVAL


def test_a_rule_for_whole_tables_asks_for_two(engine, olga, anna, sales):
    PolicyRule.objects.filter(table_class="whole_table").update(enabled=True)
    assert asked(engine, olga, sales, None).policy["required_approvals"] == 2
    assert asked(engine, olga, sales, "id < 5").policy["required_approvals"] == 1


def test_a_comment_is_an_event_of_the_job(engine, olga, anna, sales):
    job = asked(engine, olga, sales)
    decisions.comment(actor(anna), job, "Why not last month’s?")
    assert job.events.filter(kind="comment", who="anna", text="Why not last month’s?").exists()


# --- drift ------------------------------------------------------------------------------------------------------------


def test_other_files_elsewhere_are_no_drift(engine, olga, anna, sales, place):
    approved(engine, olga, anna, sales)
    small_delta.append(place, [{"id": 77, "p": "DE"}])
    job = worked(engine, claim_run)
    assert (job.state, job.drift["verdict"], job.version) == ("succeeded", "same_files", 2)


def test_the_same_rows_in_other_files_are_counted_again_and_run(engine, olga, anna, sales, place):
    approved(engine, olga, anna, sales)
    small_delta.compact(place)
    measured = engine.measured
    job = worked(engine, claim_run)
    assert (job.state, job.drift["verdict"]) == ("succeeded", "same_rows")
    assert engine.measured == measured + 1


def test_another_matching_row_makes_it_stale(engine, olga, anna, sales, place):
    approved(engine, olga, anna, sales)
    small_delta.append(place, [{"id": 3, "p": "FR"}])
    job = worked(engine, claim_run)
    assert (job.state, job.drift["verdict"], job.error["code"]) == ("stale", "moved", "stale")
    assert small_delta.head(place) == 1


def rewritten(place, version):
    """Has a version name another file, in its place: same number, same table."""
    commit = place / "_delta_log" / f"{version:020d}.json"
    lines = [json.loads(line) for line in commit.read_text().splitlines()]
    add = next(line["add"] for line in lines if "add" in line)
    (place / "p=FR" / "other.json").write_bytes((place / add["path"]).read_bytes())
    add["path"] = add["path"].rpartition("/")[0] + "/other.json"
    (place / add["path"]).write_bytes((place / "p=FR" / "other.json").read_bytes())
    commit.write_text("\n".join(json.dumps(line) for line in lines) + "\n")


@pytest.mark.parametrize("predicate", ["id < 5", None])
def test_a_version_rewritten_in_its_place_is_not_the_one_that_was_approved(engine, olga, anna, sales, place, predicate):
    approved(engine, olga, anna, sales, predicate)
    rewritten(place, 0)
    job = worked(engine, claim_run)
    assert (job.state, job.drift["verdict"]) == ("stale", "moved")
    assert "rewritten in its place" in job.error["message"]
    assert small_delta.head(place) == 0


def test_any_movement_makes_a_whole_table_stale(engine, olga, anna, sales, place):
    approved(engine, olga, anna, sales, None)
    small_delta.append(place, [{"id": 77, "p": "XX"}])
    assert worked(engine, claim_run).state == State.STALE
    assert len(small_delta.rows_of(place)) == 11


def test_a_movement_after_the_check_fails_a_whole_table(engine, olga, anna, sales, place):
    approved(engine, olga, anna, sales, None)
    engine.before_commit = lambda: small_delta.append(place, [{"id": 77, "p": "XX"}]) and None
    job = worked(engine, claim_run)
    assert (job.state, job.error["code"]) == ("stale", "stale")
    assert len(small_delta.rows_of(place)) == 11


def test_a_commit_that_followed_another_version_is_said_to_have_drifted(engine, olga, anna, sales, place, monkeypatch):
    approved(engine, olga, anna, sales)
    run = engine.run
    monkeypatch.setattr(
        engine, "run", lambda *given: small_delta.append(place, [{"id": 78, "p": "DE"}]) and run(*given)
    )
    job = worked(engine, claim_run)
    assert (job.state, job.result["drifted"]) == ("succeeded", True)


def test_a_table_made_anew_at_the_same_path_is_another(engine, olga, anna, sales, place):
    import shutil

    approved(engine, olga, anna, sales)
    shutil.rmtree(place)
    small_delta.create(place, lakes.SALES)
    job = worked(engine, claim_run)
    assert job.state == State.STALE
    assert "isn’t the one that was previewed" in job.error["message"]


def test_a_row_changed_behind_levee_is_not_run(engine, olga, anna, sales, place):
    job = approved(engine, olga, anna, sales)
    Job.objects.filter(pk=job.pk).update(parameters=job.parameters | {"tree": None, "predicate": None})
    assert worked(engine, claim_run).state == State.STALE
    assert small_delta.head(place) == 0


# --- undo -------------------------------------------------------------------------------------------------------------


def test_an_undo_is_a_reviewed_restore_and_brings_the_rows_back(engine, olga, anna, sales, place):
    before = small_delta.rows_of(place)
    approved(engine, olga, anna, sales)
    done = worked(engine, claim_run)
    made = decisions.undo(actor(olga), done, "wrong ones").job
    assert (made.command, made.parameters["version"], made.undoes_id) == ("restore", 0, done.pk)
    undo = worked(engine, claim_preview)
    assert (undo.state, undo.preview["rows_back"], undo.preview["rows_gone"]) == ("awaiting_approval", 5, 3)
    assert [c["version"] for c in undo.preview["commits_undone"]] == [1]
    decisions.approve(actor(anna), undo, undo.digest)
    assert worked(engine, claim_run).version == 2
    assert small_delta.rows_of(place) == before


@pytest.mark.parametrize("version", [0, 1])
def test_a_restore_is_held_to_both_versions_as_they_were(engine, olga, anna, sales, place, version):
    """The one that it leaves and the one that it goes back to."""
    small_delta.append(place, [{"id": 50, "p": "FR"}])
    request_restore(actor(olga), sales.pk, 0, "back")
    undo = worked(engine, claim_preview)
    decisions.approve(actor(anna), undo, undo.digest)
    rewritten(place, version)
    job = worked(engine, claim_run)
    assert (job.state, small_delta.head(place)) == ("stale", 1)
    assert f"Version {version} of the table was rewritten" in job.error["message"]


def test_later_commits_must_be_said_yes_to(engine, olga, anna, sales, place):
    approved(engine, olga, anna, sales)
    done = worked(engine, claim_run)
    small_delta.append(place, [{"id": 50, "p": "DE"}])
    with pytest.raises(Problem) as found:
        decisions.undo(actor(olga), done, "wrong ones")
    assert (found.value.code, found.value.extra["commits"]) == ("later_commits", [2])
    assert decisions.undo(actor(olga), done, "wrong ones", [2]).job.parameters["accepted_commits"] == [2]


def test_what_has_not_ended_is_not_undone(engine, olga, sales):
    job = asked(engine, olga, sales)
    assert code_of(lambda: decisions.undo(actor(olga), job, "why")) == "wrong_state"


def test_there_is_nothing_to_undo_of_what_committed_nothing(engine, olga, sales):
    job = asked(engine, olga, sales, "id > 99")
    assert code_of(lambda: decisions.undo(actor(olga), job, "why")) == "nothing_to_undo"


def test_a_restore_of_a_version_whose_files_are_gone_is_refused(engine, olga, anna, sales, place):
    approved(engine, olga, anna, sales)
    worked(engine, claim_run)
    for name in set(small_delta.live(place, 0)) - set(small_delta.live(place)):
        (place / name).unlink()
    request_restore(actor(olga), sales.pk, 0, "back")
    job = worked(engine, claim_preview)
    assert (job.state, job.error["code"]) == ("failed", "version_gone")


def test_a_restore_to_the_newest_version_does_nothing(engine, olga, sales):
    request_restore(actor(olga), sales.pk, 0, "back")
    job = worked(engine, claim_preview)
    assert (job.state, job.no_op) == ("succeeded", True)


def test_a_version_that_never_was_is_refused(olga, sales):
    assert code_of(lambda: request_restore(actor(olga), sales.pk, 7, "back")) == "invalid"


def test_an_unknown_table_is_not_found(olga):
    from django.http import Http404

    with pytest.raises(Http404):
        request_delete(actor(olga), uuid.uuid4(), "id = 1", "why")


def test_a_shape_is_the_same_whatever_blanks_its_text_has(engine, olga, anna, sales):
    """Another writer's metaData with the same schema in other blanks makes no preview stale."""
    before = subject_of(sales.pk).shape_sha256
    log = Path(sales.path) / "_delta_log"
    lines = (json.loads(line) for line in (log / f"{0:020d}.json").read_text().splitlines())
    (metadata,) = (line for line in lines if "metaData" in line)
    struct = json.loads(metadata["metaData"]["schemaString"])
    metadata["metaData"]["schemaString"] = json.dumps(struct, indent=2)
    small_delta.commit(Path(sales.path), "SET TBLPROPERTIES", [metadata])
    assert subject_of(sales.pk).shape_sha256 == before
    metadata["metaData"]["schemaString"] = json.dumps({**struct, "fields": struct["fields"][::-1]})
    small_delta.commit(Path(sales.path), "SET TBLPROPERTIES", [metadata])
    assert subject_of(sales.pk).shape_sha256 != before


def test_home_counts_the_rows_that_the_delete_itself_counted(engine, olga, anna, sales):
    approved(engine, olga, anna, sales)
    worked(engine, claim_run)
    (shown,) = destructive_lately(Person.objects.get(pk=olga.pk))
    assert (shown["operation"], shown["rows"], shown["behind"]) == ("DELETE", 2, "olga")


def test_a_request_of_a_command_that_is_not_known_here_is_not_edited(engine, olga, sales, monkeypatch):
    job = asked(engine, olga, sales)
    monkeypatch.delitem(registry.ROWS, job.command)
    with pytest.raises(Problem) as caught:
        decisions.edit(actor(olga), job, {"predicate": "id = 1"}, "another")
    assert (caught.value.status, caught.value.code) == (409, "wrong_state")
