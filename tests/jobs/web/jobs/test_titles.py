"""A job has one title, with its number and its reason, wherever it is named."""

import html
import re
import uuid

import pytest

from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from jobs.commands.delete.rules import Delete
from jobs.commands.registry import ROWS, title_of
from jobs.domain.states import State
from jobs.models import Job
from jobs.web.jobs.naming import name_by_id, names_of
from jobs.web.jobs.queries import titled
from tables.models import Table
from tables.record.table_fields import index_words
from tests import factories
from tests.clients import browser
from tests.factories.jobs import job_on

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]
COUNTS = {"rows_matched": 357, "rows_matched_exact": True, "files_matched": 3, "class": "ordinary"}
FILES = {"manifest": {"files": ["a" * 100] * 50}}


def text_of(answer) -> str:
    assert answer.status_code == 200, answer.content[-2000:]
    bare = re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", answer.content.decode(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(bare))


@pytest.fixture
def orders():
    made = factories.TableFactory(name="orders", version=7)
    index_words(made)
    made.save()
    return made


@pytest.fixture
def who():
    return factories.person_named("ines", "operator", "auditor", "admin")


def delete(orders: Table, who, rows: int, reason: str, state: State = State.QUEUED) -> Job:
    command = Delete(table=str(orders.pk), path=orders.path, predicate=f"n = {rows}", tree={"n": rows})
    preview = COUNTS | FILES | {"rows_matched": rows, "measured_at_version": 7}
    made = job_on(orders, who, command, state=state, preview=preview, reason=reason)
    record(Actor.acting_for(who), Action.JOB_REQUEST, ObjectKind.JOB, made.pk, str(made), reason=reason, job=made.pk)
    return made


PAGES = [
    "/",
    "/jobs/",
    "/find/?q=orders",
    "/tables/{table}/",
    "/tables/{table}/history/",
    "/approvals/?show=mine",
    "/audit/?object=orders",
]


@pytest.mark.parametrize("address", PAGES)
def test_the_title_has_its_number_and_the_reason_stands_beside_it(orders, who, address):
    delete(orders, who, 357, "GDPR request 4711")
    delete(orders, who, 1, "a test order")
    text = text_of(browser(who).get(address.format(table=orders.pk)))
    for expected in ("Delete 357 rows from orders", "GDPR request 4711", "Delete 1 row from orders", "a test order"):
        assert expected in text
    assert "Delete rows from orders" not in text


def test_what_others_decide_and_what_one_has_decided_too(orders, who):
    waits = delete(orders, who, 12, "twice imported", State.AWAITING_APPROVAL)
    approver = factories.person_named("anna", "approver")
    waits.decisions.create(person=approver, decision="reject", digest=waits.digest or "d" * 64)
    for person, address in (
        (who, "/approvals/"),
        (approver, "/approvals/?show=decided"),
        (who, f"/jobs/{waits.pk}/life/"),
    ):
        text = text_of(browser(person).get(address))
        assert "Delete 12 rows from orders" in text
        assert "twice imported" in text


@pytest.mark.parametrize("kind", ROWS)
def test_a_list_says_the_same_as_the_jobs_page_from_less_of_its_preview(kind, orders, who):
    made = factories.job("queued", command=kind, table=orders, requested_by=who, parameters={}, preview=COUNTS | FILES)
    [listed] = titled(Job.objects.filter(pk=made.pk).select_related("table"))
    assert title_of(listed) == title_of(Job.objects.select_related("table").get(pk=made.pk))
    assert "preview" in listed.get_deferred_fields()


def test_a_long_reason_is_cut_in_lists(orders, who):
    delete(orders, who, 2, "because " * 100)
    assert f"{('because ' * 100)[:119]}…" in text_of(browser(who).get("/jobs/"))


def test_a_commits_mark_names_no_job_of_another_table(orders, who):
    """Any writer can put any job's id there, and who sees this table may not see that one's."""
    own = delete(orders, who, 2, "ours")
    other = delete(factories.TableFactory(name="secret"), who, 3, "theirs")
    names = names_of([own.pk, str(other.pk), uuid.uuid4()], orders.pk)
    assert {(each.title, each.reason) for each in names.values()} == {("Delete 2 rows from orders", "ours")}
    assert name_by_id(other.pk, orders.pk) is None
    assert name_by_id(None, orders.pk) is None
