"""The page that asks for a repair: what the last check found, the way to a check, the job; and the review of what storage lacks."""

import html as markup
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from console.audit.actor import Actor
from jobs.commands.repair.rules import Repair
from jobs.domain.states import State
from jobs.models import Job
from jobs.requests.asking import request
from jobs.worker.claims import claim_preview
from jobs.worker.execution import Execution, work
from tables.deltalog.read.data_files import Unlike
from tables.record import file_check
from tables.sync import file_checks
from tables.sync import table as syncing
from tests import factories
from tests.clients import browser
from tests.factories import lakes
from tests.jobs.commands.repair.asked import Repairing, take

pytestmark = pytest.mark.django_db


@pytest.fixture
def sales(lake, no_wakes):
    return syncing.sync(lakes.sales_in(lake).pk)


@pytest.fixture
def client(db):
    return browser(factories.person_with("operator"))


def shown(answer):
    return " ".join(markup.unescape(answer.content.decode()).split())


def checked(table, *names):
    found = [Unlike(name, 9, None) for name in names]
    file_checks.keep(table.pk, None, file_check.of_look(table.version, timezone.now(), 2, 2, found))


def test_without_a_check_the_page_leads_to_one_and_can_be_requested_all_the_same(client, sales):
    answer = client.get(f"/tables/{sales.pk}/repair/")
    text = shown(answer)
    assert answer.status_code == 200
    assert f'<a href="/tables/{sales.pk}/files/">Check files</a>' in text
    assert "not measured yet: a worker asks storage for each file, 2 files in all" in text
    assert "Needs 2 approvals" in text
    assert "Rehearse it first" not in text
    assert re.search('<button class="btn btn-primary"[^>]*value="request" ?>Request repair</button>', text)


def test_the_last_check_s_finding_is_named(client, sales):
    name = take(Path(sales.path), "FR")
    checked(sales, name)
    text = shown(client.get(f"/tables/{sales.pk}/repair/"))
    assert "found 1 missing of 2 files" in text
    assert name in text
    assert "p=FR" in text


def test_the_finding_of_a_missing_file_leads_to_it_and_to_no_schedule(client, sales):
    checked(sales, take(Path(sales.path), "FR"))
    text = shown(client.get(f"/tables/{sales.pk}/"))
    link = f'href="/tables/{sales.pk}/repair/"'
    assert text.count(link) == 2, "in the menu, and beside the finding"
    assert "command=repair" not in text


def test_a_request_needs_a_reason(client, sales):
    answer = client.post(f"/tables/{sales.pk}/repair/", {"do": "request"})
    assert (answer.status_code, "Enter a reason" in shown(answer)) == (400, True)
    assert not Job.objects.exists()


def test_the_button_makes_the_job(client, sales):
    answer = client.post(f"/tables/{sales.pk}/repair/", {"do": "request", "reason": "the disk is lost"})
    job = Job.objects.get()
    assert (answer.status_code, answer["location"]) == (302, f"/jobs/{job.pk}/")
    text = shown(client.get(f"/jobs/{job.pk}/"))
    assert "Repair sales: take missing files out" in text
    assert "storage isn’t asked yet" in text


@pytest.mark.django_db(transaction=True)
def test_the_review_shows_names_rows_and_partitions(olga, sales):
    name = take(Path(sales.path), "FR")
    request(Actor.acting_for(olga), Repair(str(sales.pk)), "the disk is lost")
    engine: Any = Repairing()
    claim = claim_preview(factories.holder())
    assert claim is not None
    work(Execution(claim, engine, threading.Event(), engine.end_hard))
    text = shown(browser(factories.person_with("approver")).get(f"/jobs/{claim.job.pk}/"))
    assert "Repair sales: take 1 missing file out" in text
    assert "by what storage answered for every live file" in text
    assert name in text
    assert "<dt>Rows lost</dt> <dd> 5 </dd>" in text
    assert '<td class="n">1</td><td class="n">5</td>' in text
    assert "A restore doesn’t bring them back" in text


def test_the_result_shows_what_was_taken_out_and_no_word_more(client, sales):
    details = {
        "text": "Took 1 missing file out of the table.",
        "files": 1,
        "bytes": 9,
        "rows": 5,
        "named": ["a.parquet"],
    }
    result = {"version": sales.version, "operation": "FSCK", "details": details, "num_affected_rows": 5}
    job = factories.job(State.SUCCEEDED, table=sales, command="repair", version=sales.version, result=result)
    text = shown(client.get(f"/jobs/{job.pk}/"))
    assert "<dt>Files taken out</dt><dd>1</dd></div>" in text
    assert not re.search(r">\s*None\s*<", text)


def test_a_viewer_may_not(sales):
    assert browser(factories.person_with("viewer")).get(f"/tables/{sales.pk}/repair/").status_code == 403
