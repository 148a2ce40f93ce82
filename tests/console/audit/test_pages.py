"""The audit's pages: narrowed, followed, verified; a job's whole life; home and banner."""

import html
import re
import uuid

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from console.audit.actions import Action, EventOutcome, ObjectKind
from console.audit.actor import Actor
from console.audit.integrity import chain, verification
from console.audit.models import Event
from console.audit.presenters import PHRASES
from console.audit.services import record
from jobs.models import Decision
from tables.models import Explanation
from tests import factories
from tests.clients import browser
from tests.console.audit.making import event, sealed

pytestmark = pytest.mark.django_db


@pytest.fixture
def auditor():
    return browser(factories.person_with("auditor"))


def text_of(client: Client, address: str, **query: str) -> str:
    answer = client.get(address, query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_every_act_has_words():
    assert set(PHRASES) == set(Action)


def test_the_list_shows_events_and_how_the_chain_is(auditor):
    sealed(3)
    verification.verify("tests")
    page = text_of(auditor, "/audit/")
    assert "path 2" in page
    assert "unbroken" in page
    assert "1 – 3 verified" in page
    assert Event.objects.filter(action=Action.AUDIT_READ).exists()


def test_page_and_banner_ask_for_the_last_verification_once(auditor):
    sealed(1)
    with CaptureQueriesContext(connection) as seen:
        text_of(auditor, "/audit/")
    assert len([q for q in seen.captured_queries if "problem_count" in q["sql"]]) == 1


def test_the_list_is_narrowed(auditor):
    sealed(3)
    page = text_of(auditor, "/audit/", object="path 1")
    assert "Events of path 1" in page
    assert "path 2" not in page


def test_others_see_no_chain_and_what_touches_their_tables_alone():
    table = factories.TableFactory(name="mine")
    record(Actor.system("x"), Action.TABLE_SYNC, ObjectKind.TABLE, table.pk, table.name)
    sealed(1)
    page = text_of(browser(factories.person_with("viewer", table=table)), "/audit/")
    assert "mine" in page
    assert "path 0" not in page
    assert "Signed head" not in page


def test_an_event_shows_what_is_on_record_and_its_link(auditor):
    made = record(
        Actor.system("x"), Action.GRANT_ADD, ObjectKind.PERSON, uuid.uuid4(), "ana", before={"role": None}, after={"role": "admin"},
        outcome=EventOutcome.REFUSED, reason="not_your_own: no",
    )  # fmt: skip
    chain.seal_waiting()
    page = text_of(auditor, f"/audit/{made.pk}/")
    assert "was refused: gave a role" in page
    assert made.hash in page
    assert re.search(r">role</th>\s*<td[^>]*>nothing</td>\s*<td[^>]*>admin</td>", page)


def test_a_jobs_whole_life_is_on_one_page(auditor):
    job = factories.job("awaiting_approval", policy={"required_approvals": 2})
    approver = factories.person_with("approver")
    Decision.objects.create(
        job=job, person=approver, decision="approve", digest=job.digest or "", comment="looks right"
    )
    record(
        Actor.acting_for(approver),
        Action.JOB_APPROVE,
        ObjectKind.JOB,
        job.pk,
        str(job),
        job=job.pk,
        reason="looks right",
    )
    factories.attempt(job, kind="preview", number=0)
    chain.seal_waiting()
    page = text_of(auditor, f"/jobs/{job.pk}/life/")
    for told in (
        "2 approvals needed",
        approver.name,
        "looks right",
        "spark@host",
        "#1 ·",
        job.reason,
        "No undo requested",
    ):
        assert told in page


def test_verifying_from_the_page_says_that_nothing_differs(auditor):
    sealed(2)
    answer = auditor.post("/audit/verification/")
    assert answer.status_code == 200
    assert "The audit is unchanged" in answer.content.decode()
    assert Event.objects.filter(action=Action.AUDIT_VERIFY).exists()


def test_what_differs_is_on_every_page_until_it_is_verified_again(intruder):
    client = browser(factories.person_with("auditor"))
    sealed(2)
    intruder.execute("update audit.event set reason = 'x' where id = (select event from audit.seal where sequence = 2)")
    page = client.post("/audit/verification/").content.decode()
    assert "from #2 on" in page
    assert "The audit is not what was recorded" in text_of(client, "/")
    verification.verify("tests", since=2)  # a part that is well takes nothing back
    assert "The audit is not what was recorded" in text_of(client, "/")


def test_events_that_nobody_seals_are_said_on_every_page(intruder):
    client = browser(factories.person_with("viewer"))
    made = event()
    assert "being sealed" not in text_of(client, "/")
    intruder.execute("update audit.event set at = now() - interval '10 minutes' where id = %s", [made.pk])
    intruder.execute("delete from audit.pending where event <> %s", [made.pk])
    assert "The audit isn’t being sealed" in text_of(client, "/")


def test_a_commit_that_nobody_approved_is_on_home_and_on_its_table():
    table = factories.TableFactory(name="orders", version=3)
    Explanation.objects.create(
        table=table, incarnation=0, version=3, effects=["delete"], verdict="nobody", why="It names no job."
    )
    client = browser(factories.person_with("operator"))
    assert "Commits to acknowledge" in text_of(client, "/")
    assert "1 commit to acknowledge" in text_of(client, f"/tables/{table.pk}/")
    assert "orders v3" not in text_of(browser(factories.person_with("viewer", table=factories.TableFactory())), "/")


def test_it_is_acknowledged_on_its_page():
    table = factories.TableFactory(version=3)
    Explanation.objects.create(table=table, incarnation=0, version=3, effects=["delete"], verdict="nobody")
    client = browser(factories.person_with("operator"))
    answer = client.post(f"/tables/{table.pk}/commits/3/acknowledge/", {"reason": "known"})
    assert answer.status_code == 302
    assert "Commits to acknowledge" not in text_of(client, "/")


# --- by object, with the reason ---------------------------------------------------------------------------------------


@pytest.fixture
def deleted():
    """A table, another one, and a delete of each."""
    made = {}
    for name in ("orders", "customers"):
        table = factories.TableFactory(name=name)
        job = factories.job("queued", table=table, command="delete", parameters={"tree": {}})
        record(
            Actor.system("x"), Action.JOB_REQUEST, ObjectKind.JOB, job.pk, str(job), reason=f"{name} were imported twice",
            job=job.pk, table=table.pk,
        )  # fmt: skip
        made[name] = (table, job)
    sealed(1)
    return made


@pytest.mark.parametrize("asked", ["orders", "table:{id}", "{id}", "{path}"])
def test_what_happened_to_a_table_has_its_jobs(auditor, deleted, asked):
    table, job = deleted["orders"]
    page = text_of(auditor, "/audit/", object=asked.format(id=table.pk, path=table.path))
    assert f"job {str(job.pk)[:8]}" in page
    assert "orders were imported twice" in page
    assert "customers were imported twice" not in page


def test_of_tables_with_one_name_it_has_what_happened_to_each(auditor, deleted):
    other = factories.TableFactory(name="orders")
    record(Actor.system("x"), Action.TABLE_SYNC, ObjectKind.TABLE, other.pk, "orders", reason="the second one")
    page = text_of(auditor, "/audit/", object="orders")
    assert "orders were imported twice" in page
    assert "the second one" in page


def test_an_object_that_shares_its_name_with_a_table_is_found_beside_it(auditor, deleted):
    record(Actor.system("x"), Action.ROOT_PAUSE, ObjectKind.ROOT, uuid.uuid4(), "orders", reason="the disk is full")
    page = text_of(auditor, "/audit/", object="orders")
    assert "orders were imported twice" in page
    assert "the disk is full" in page


def test_a_refusal_shows_its_reason_without_its_code_twice(auditor):
    record(
        Actor.system("x"), Action.JOB_APPROVE, ObjectKind.PATH, "p", "p", outcome=EventOutcome.REFUSED,
        reason="not_your_own: You can’t decide your own request.",
    )  # fmt: skip
    page = text_of(auditor, "/audit/")
    assert "You can’t decide your own request." in page
    assert "not_your_own: You" not in page


def test_what_an_act_changed_is_shown_field_by_field(auditor):
    made = record(
        Actor.system("x"), Action.POLICY_CHANGE, ObjectKind.POLICY, "p", "rule", before={"enabled": True, "min_share": None},
        after={"enabled": False, "min_share": 0.5, "on": ["root:lake"], "more": {"a": None}},
    )  # fmt: skip
    page = html.unescape(text_of(auditor, f"/audit/{made.pk}/"))
    for field, before, after in (
        ("enabled", "true", "false"),
        ("min_share", "nothing", "0.5"),
        ("on", "nothing", '["root:lake"]'),
        ("more", "nothing", '{"a": null}'),
    ):
        assert re.search(
            rf">{field}</th>\s*<td[^>]*>{re.escape(before)}</td>\s*<td[^>]*>{re.escape(after)}</td>", page
        ), field
    assert "{'" not in page


def test_an_instance_without_an_event_has_nothing_to_verify(auditor):
    verification.verify("tests")
    page = text_of(auditor, "/audit/")
    assert "nothing to verify yet" in page
    assert "1 – 0" not in page
    assert "1 – 0" not in text_of(auditor, "/audit/verification/")
