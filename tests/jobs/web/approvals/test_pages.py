"""Pages of reviews as a browser meets them: what they show, what they offer to whom, what each button does."""

import re
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from console.accounts import services
from console.accounts.authority import EVERYTHING
from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from console.audit.models import Event
from jobs.commands.registry import title_of
from jobs.domain.errors import CommandRefused, Refusal
from jobs.domain.states import State
from jobs.models import Decision, Job, Read
from jobs.web.jobs import queries
from jobs.worker.claims import claim_preview, claim_run
from jobs.worker.execution import Execution, work
from tables.models import Commit
from tables.sync import table as syncing
from tests import factories
from tests.clients import SURE, Caller, browser, confirmed_browser
from tests.factories import lakes
from tests.jobs import small_delta
from tests.jobs.asking import request_delete, request_restore
from tests.jobs.commands.delete.test_flow import actor
from tests.jobs.small_delta import SmallEngine

pytestmark = pytest.mark.django_db(transaction=True)
PREDICATE = "p = 'FR' AND id < 5"


@pytest.fixture(autouse=True)
def quick(timing, no_wakes, redis_server):
    return timing(watch=0.3, lease=5, record_retry=5)


@pytest.fixture
def sales(tmp_path):
    return lakes.sales_in(factories.RootFactory(uri=str(tmp_path)))


@pytest.fixture
def olga():
    return factories.person_with("operator")


@pytest.fixture
def anna():
    return factories.person_with("approver")


def work_on(claiming) -> Any:
    engine: Any = SmallEngine()
    claim = claiming(factories.holder())
    assert claim is not None
    work(Execution(claim, engine, threading.Event(), engine.end_hard))
    return Job.objects.select_related("table", "requested_by").get(pk=claim.job.pk)


def asked(who, table, predicate: str | None = PREDICATE) -> Any:
    """A delete that has been measured and waits."""
    request_delete(actor(who), table.pk, predicate, "too old for us")
    return work_on(claim_preview)


def done(who, by, table, predicate: str | None = PREDICATE) -> Any:
    """A delete that was approved and has run."""
    job = asked(who, table, predicate)
    Decision.objects.create(job=job, person=by, decision="approve", digest=job.digest)
    Job.objects.filter(pk=job.pk).update(state="queued")
    return work_on(claim_run)


def text_of(answer) -> str:
    """The page's words, without markup."""
    bare = re.sub(r"<(script|style|title)\b.*?</\1>|<[^>]+>", " ", answer.content.decode(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", bare.replace("&#x27;", "'").replace("&lt;", "<").replace("&quot;", '"'))


def page(who, job, confirmed=True) -> Any:
    return (confirmed_browser if confirmed else browser)(who).get(f"/jobs/{job.pk}/")


def act(who, job, name, confirmed=True, **values) -> Any:
    client = (confirmed_browser if confirmed else browser)(who)
    return client.post(f"/jobs/{job.pk}/review/", {"act": name, "digest": job.digest or ""} | SURE | values)


# --- what it shows ----------------------------------------------------------------------------------------------------


def test_a_request_that_waits_shows_what_why_how_much_and_what_follows(olga, anna, sales):
    job = asked(olga, sales)
    text = text_of(page(anna, job))
    assert "Delete 2 rows from sales" in text
    assert PREDICATE in text
    assert "too old for us" in text
    assert "20% of the table, exact" in text
    assert "Files to rewrite 1 of 2" in text
    assert "bring them back with a restore" in text
    assert "By partition: 1 of" in text
    assert "0 of 1 approvals" in text
    assert "second person" in text
    assert job.digest in text


def test_before_spark_has_counted_the_numbers_are_said_to_be_bounds(olga, anna, sales):
    job = request_delete(actor(olga), sales.pk, PREDICATE, "old").job
    text = text_of(page(anna, job))
    assert "≤ 5" in text
    assert "at most, from the log" in text
    assert "not yet" in text
    assert 'value="approve"' not in page(anna, job).content.decode()


def test_a_restore_names_the_commits_that_it_undoes(olga, anna, sales, tmp_path):
    small_delta.append(tmp_path / "sales", [{"id": 50, "p": "DE"}])
    request_restore(actor(olga), sales.pk, 0, "wrong rows")
    text = text_of(page(anna, work_on(claim_preview)))
    assert "Restore sales to version 0" in text
    assert "version 1 WRITE" in text
    assert "Commits to undo 1" in text


def test_hostile_text_stays_text(olga, anna, sales):
    job = asked(olga, sales, "p <> '<script>alert(1)</script>' AND id = 1")
    act(anna, job, "comment", comment="<img src=x onerror=alert(2)>")
    body = page(anna, job).content.decode()
    assert "<script>alert(1)" not in body
    assert "<img src=x" not in body


# --- who may what -----------------------------------------------------------------------------------------------------


def test_an_approver_approves_and_it_waits_for_a_worker(olga, anna, sales):
    job = asked(olga, sales)
    assert 'value="approve"' in page(anna, job).content.decode()
    answer = act(anna, job, "approve", comment="looks right")
    assert (answer.status_code, answer.url) == (302, f"/jobs/{job.pk}/")
    assert Job.objects.get(pk=job.pk).state == "queued"
    assert "Approved by" in text_of(page(anna, job))
    assert "looks right" in text_of(page(olga, job))


def test_without_a_recent_password_the_way_leads_to_giving_it_before_anything_is_typed(olga, anna, sales):
    job = asked(olga, sales)
    body = page(anna, job, confirmed=False).content.decode()
    assert 'value="approve"' not in body
    assert body.index("confirm-first") < body.index("decide-comment")
    assert f"/confirm/?next=%2Fjobs%2F{job.pk}%2F" in body
    answer = act(anna, job, "approve", confirmed=False)
    assert answer.status_code == 302
    assert answer.url.startswith("/confirm/")
    assert Job.objects.get(pk=job.pk).state == "awaiting_approval"


@pytest.mark.parametrize("confirmed", [True, False])
def test_a_rejection_ends_it(olga, anna, sales, confirmed):
    job = asked(olga, sales)
    answer = act(anna, job, "reject", confirmed=confirmed, comment="not these")
    assert answer.url == f"/jobs/{job.pk}/"
    text = text_of(page(olga, job))
    assert "Rejected" in text
    assert "not these" in text


def test_ones_own_request_says_why_one_cant_approve_it(olga, sales):
    factories.GrantFactory(person=olga, role="approver")
    job = asked(olga, sales)
    answer = page(olga, job)
    assert "You requested this, so another person decides." in text_of(answer)
    assert 'value="approve"' not in answer.content.decode()
    refused = act(olga, job, "approve")
    assert refused.status_code == 403
    assert "You can’t decide your own request" in text_of(refused)
    assert Event.objects.filter(action="job.approve", outcome="refused").exists()


def test_somebody_without_the_role_is_told_so(olga, sales):
    job = asked(olga, sales)
    viewer = factories.person_with("viewer")
    assert "Only an approver of sales can decide" in text_of(page(viewer, job))
    assert act(viewer, job, "approve").status_code == 403


def test_who_has_decided_is_told_so(olga, anna, sales):
    factories.PolicyRuleFactory(required_approvals=2)
    job = asked(olga, sales)
    act(anna, job, "approve")
    text = text_of(page(anna, job))
    assert "1 of 2 approvals" in text
    assert "You have approved this version of the request." in text


def test_a_decision_on_what_has_changed_since_is_refused_and_the_comment_kept(olga, anna, sales):
    job = asked(olga, sales)
    refused = act(anna, job, "approve", digest="0" * 64, comment="my long comment")
    assert refused.status_code == 409
    assert "is no longer the one that you looked at" in text_of(refused)
    assert "my long comment" in refused.content.decode()
    assert Job.objects.get(pk=job.pk).state == "awaiting_approval"


def test_a_page_that_was_opened_before_an_edit_offers_no_decision(olga, anna, sales):
    job = asked(olga, sales)
    act(olga, job, "edit", predicate="id = 3", reason="fewer")
    work_on(claim_preview)
    fresh = confirmed_browser(anna).get(f"/jobs/{job.pk}/review/now/?digest={job.digest}&seen=old")
    assert "The request has changed since you opened this page" in text_of(fresh)
    assert 'value="approve"' not in fresh.content.decode()


def test_a_poll_without_news_swaps_nothing(olga, anna, sales):
    job = asked(olga, sales)
    client = confirmed_browser(anna)
    body = client.get(f"/jobs/{job.pk}/").content.decode()
    now = re.search(r'hx-get="(/jobs/[^"]+/review/now/[^"]+)"', body)
    assert now is not None
    address = now[1].replace("&amp;", "&")
    with CaptureQueriesContext(connection) as seen:
        assert client.get(address).status_code == 204
    assert len(seen) <= 6, [query["sql"] for query in seen]
    act(olga, job, "comment", comment="please look")
    assert "please look" in text_of(client.get(address))


def test_a_request_that_runs_leads_to_its_job(olga, anna, sales):
    job = done(olga, anna, sales)
    answer = browser(anna).get(f"/jobs/{job.pk}/review/now/?digest={job.digest}&seen=old")
    assert answer.headers["HX-Redirect"] == f"/jobs/{job.pk}/"


def test_what_was_reviewed_can_be_looked_at_afterwards(olga, anna, sales):
    job = done(olga, anna, sales)
    answer = confirmed_browser(anna).get(f"/jobs/{job.pk}/review/")
    assert PREDICATE in text_of(answer)
    assert anna.name in text_of(answer)
    assert 'value="approve"' not in answer.content.decode()


# --- what the requester does ------------------------------------------------------------------------------------------


def test_a_request_is_withdrawn_by_whom_it_is(olga, anna, sales):
    job = asked(olga, sales)
    assert "Withdraw the request" not in text_of(page(anna, job))
    assert act(anna, job, "withdraw").status_code == 403
    assert act(olga, job, "withdraw").status_code == 302
    assert Job.objects.get(pk=job.pk).state == "withdrawn"


def test_an_edit_voids_approvals_and_is_measured_again(olga, anna, sales):
    factories.PolicyRuleFactory(required_approvals=2)
    job = asked(olga, sales)
    act(anna, job, "approve")
    assert act(olga, job, "edit", predicate="id = 3", reason="fewer").status_code == 302
    assert Job.objects.get(pk=job.pk).state == "previewing"
    work_on(claim_preview)
    text = text_of(page(anna, job))
    assert "voided by an edit" in text
    assert "0 of 2 approvals" in text


def test_the_link_to_the_edit_leads_to_an_open_form(olga, anna, sales):
    job = asked(olga, sales)
    html = page(olga, job).content.decode()
    [link] = re.findall(r'id="to-edit" href="([^"#]*)#edit"', html)
    closed, there = (
        text.partition('<section id="edit"')[2]
        for text in (html, browser(olga).get(f"/jobs/{job.pk}/{link}").content.decode())
    )
    assert "<details>" in closed
    assert "<details open>" in there
    refused = act(olga, job, "edit", predicate="nope = 1", reason="x").content.decode()
    assert "<details open>" in refused.partition('<section id="edit"')[2]
    assert 'id="to-edit"' not in page(anna, job).content.decode()


def test_no_link_of_a_template_leads_into_a_box_that_is_closed():
    """A browser opens no box for a link: the page that it leads to has to be asked for with the box open."""
    templates = [path.read_text() for path in (Path(__file__).parents[4] / "frontend" / "templates").rglob("*.html")]
    linked = {name for text in templates for name in re.findall(r'href="#([\w-]+)"', text)}
    assert {"decision", "main"} <= linked
    boxes = [box for text in templates for box in re.findall(r"<details.*?</details>", text, re.S)]
    around = [text for text in templates for name in linked if re.search(rf'id="{name}"[^>]*>\s*<details', text)]
    assert [name for name in linked for box in boxes if f'id="{name}"' in box] + around == []


def test_a_review_shows_what_each_edit_changed(olga, anna, sales):
    job = asked(olga, sales)
    for predicate, reason in (("p = 'FR' AND id < 3", "fewer"), ("p = 'FR' AND id < 3", "fewer, as the law says")):
        act(olga, job, "edit", predicate=predicate, reason=reason)
        work_on(claim_preview)
    body = page(anna, job).content.decode()
    first, second = re.findall(r'<table class="lv-diff">.*?</table>', body, re.DOTALL)
    assert ("<del>5</del>" in first, "<ins>3</ins>" in first) == (True, True)
    assert "id &lt; " in first  # what stays is read in both
    assert re.search(r"Rows to delete</th>\s*<td>\d+</td>\s*<td>\d+</td>", first)
    assert "Condition" not in second
    assert "<ins>, as the law says</ins>" in second
    assert "Revision 2" in second
    assert "Revision 3" in second


def test_a_refused_edit_says_where_and_keeps_what_was_typed(olga, sales):
    job = asked(olga, sales)
    answer = act(olga, job, "edit", predicate="id = (select 1)", reason="x")
    assert answer.status_code == 400
    assert "id = (select 1)" in answer.content.decode()
    assert Job.objects.get(pk=job.pk).parameters["predicate"] == PREDICATE


def test_an_edit_doesnt_turn_some_rows_into_the_whole_table(olga, sales):
    job = asked(olga, sales)
    answer = act(olga, job, "edit", predicate="", reason="all")
    assert answer.status_code == 400
    assert "Deleting every row is a separate request." in text_of(answer)


def test_an_act_that_there_isnt_does_nothing(olga, sales):
    assert act(olga, asked(olga, sales), "dance").status_code == 400


# --- checks and sample ------------------------------------------------------------------------------------------------


def checks(who, job) -> str:
    return text_of(browser(who).get(f"/jobs/{job.pk}/checks/"))


def test_the_checks_say_that_the_table_is_as_it_was_measured(olga, anna, sales):
    text = checks(anna, asked(olga, sales))
    assert "The table is as it was measured." in text
    assert "The digest holds." in text
    assert "It has 0 of 1 approvals." in text
    assert "It can be undone." in text


def test_the_checks_say_that_the_table_has_moved(olga, anna, sales, tmp_path):
    whole = asked(olga, sales, None)
    some = asked(olga, sales, "id < 5")
    small_delta.append(tmp_path / "sales", [{"id": 3, "p": "FR"}])
    assert "this would end stale" in checks(anna, whole)
    assert "Spark counts and compares" in checks(anna, some)
    assert "this would end stale" not in checks(anna, some)


def test_without_a_script_the_checks_are_a_link_away(olga, anna, sales):
    job = asked(olga, sales)
    assert 'href="?look=now"' in page(anna, job).content.decode()
    assert "The digest holds." in text_of(browser(anna).get(f"/jobs/{job.pk}/?look=now"))


def test_a_sample_is_read_for_its_viewer_when_they_ask(olga, anna, sales):
    job = asked(olga, sales)
    page(anna, job)
    assert not Read.objects.exists()
    answer = browser(anna).get(f"/jobs/{job.pk}/sample/")
    assert answer.status_code == 200
    read = Read.objects.get()
    assert (read.kind, read.person, read.question["predicate"]["node"]) == ("rows", anna, "and")
    assert f"/reads/{read.pk}/rows/" in answer.content.decode()
    assert Event.objects.filter(action="table.read_rows", actor_id=anna.pk).count() == 1


# --- approvals --------------------------------------------------------------------------------------------------------


def test_approvals_hold_what_waits_for_me_and_why_the_others_dont(olga, anna, sales):
    factories.GrantFactory(person=anna, role="operator")
    theirs, own = asked(olga, sales), asked(anna, sales, "id = 4")
    text = text_of(confirmed_browser(anna).get("/approvals/"))
    assert "One request waits for you" in text
    assert (
        text.index("Delete 2 rows from sales") < text.index("You can’t approve these") < text.index("Delete 1 row from")
    )
    assert "You requested this" in text
    act(anna, theirs, "approve")
    assert "No requests are waiting for you" in text_of(browser(anna).get("/approvals/"))
    assert "approved" in text_of(browser(anna).get("/approvals/?show=decided"))
    assert "Delete 1 row from sales" in text_of(browser(anna).get("/approvals/?show=mine"))
    assert own.pk


def test_the_navigation_counts_what_waits_for_me_and_home_lists_it(olga, anna, sales):
    asked(olga, sales)
    home = browser(anna).get("/")
    assert 'aria-label="1 waiting for you"' in home.content.decode()
    assert "One decision waits for you" in text_of(home)
    assert "waiting for you" not in browser(olga).get("/").content.decode()


def test_home_counts_more_than_it_lists(olga, anna, sales, monkeypatch):
    monkeypatch.setattr(queries, "ON_HOME", 1)
    factories.GrantFactory(person=anna, role="operator")
    asked(anna, sales, "id = 4")
    theirs = [asked(olga, sales), asked(olga, sales, "id = 2")]
    home = browser(anna).get("/")
    assert "Two decisions wait for you" in text_of(home)
    assert 'aria-label="2 waiting for you"' in home.content.decode()
    assert "Delete 1 row from sales" in text_of(home).partition("Waiting for others")[2]
    for job in theirs:
        act(anna, job, "approve")
    assert "Two jobs are queued" in text_of(browser(olga).get("/home/now/"))


def test_an_approver_of_another_root_is_asked_for_nothing(olga, sales):
    elsewhere = factories.person_with("approver", root=factories.RootFactory())
    asked(olga, sales)
    assert "No requests are waiting for you" in text_of(browser(elsewhere).get("/approvals/"))


def test_the_page_of_approvals_asks_the_database_as_often_for_many_as_for_few(olga, anna, sales):
    client = browser(anna)
    counts = []
    for more in (2, 4):
        for number in range(more):
            asked(olga, sales, f"id = {number + more}")
        with CaptureQueriesContext(connection) as seen:
            client.get("/approvals/")
        counts.append(len(seen))
    assert counts[0] == counts[1] <= 17


def test_why_they_cant_decide_is_asked_as_often_for_many_requests_as_for_few(sales):
    """Anna has her role from the admin who added Olga: that is asked once, and not for each table that Olga requests on."""
    boss = factories.appointed("boss", Role.ADMIN)
    given = factories.person_named("anna")
    services.grant(Actor.acting_for(boss), given, Role.APPROVER, EVERYTHING)
    client = browser(Person.objects.get(pk=given.pk))
    olga = services.add_person(Actor.acting_for(boss), "olga", None)
    counts = []
    for more in (2, 4):
        for number in range(more):
            table = factories.TableFactory(root=sales.root, name=f"other{more}{number}")
            factories.job_on(table, olga, state=State.AWAITING_APPROVAL)
        with CaptureQueriesContext(connection) as seen:
            page = client.get("/approvals/")
        counts.append(len(seen))
        assert text_of(page).count("boss added olga, and boss gave anna the role approver") >= more
    assert counts[0] == counts[1], counts


# --- after the run, and back again --------------------------------------------------------------------------------------


def test_a_job_that_has_run_shows_its_result_beside_the_prediction(olga, anna, sales):
    job = done(olga, anna, sales)
    answer = page(olga, job)
    state = re.findall(r'<p class="lv-sentence lv-after">(.*?)</p>', answer.content.decode(), re.DOTALL)[0]
    assert state.count("ommitted as version 1") == 1
    text = text_of(answer)
    assert "Committed as version 1" in text
    assert f"approved by {anna.name}" in text
    assert "Rows deleted num_affected_rows 2 2 as predicted" in text
    assert "numCopiedRows 3 not recorded" in text
    assert "nothing differs" in text
    assert "files before skipping" in text
    assert PREDICATE in text
    assert "Undo…" in text


def test_a_run_that_followed_another_commit_than_the_one_checked_says_so_and_offers_the_undo(olga, anna, sales):
    job = done(olga, anna, sales)
    Job.objects.filter(pk=job.pk).update(result=job.result | {"drifted": True})
    answer = page(olga, job)
    assert "Another commit came between the check and the commit." in text_of(answer)
    assert answer.content.decode().count(f"/jobs/{job.pk}/undo/") >= 2


def test_a_running_job_asks_the_database_little(olga, anna, sales):
    job = asked(olga, sales)
    act(anna, job, "approve")
    claim_run(factories.holder())
    client = browser(anna)
    client.get(f"/jobs/{job.pk}/live/")
    with CaptureQueriesContext(connection) as seen:
        assert client.get(f"/jobs/{job.pk}/live/").status_code == 200
    assert len(seen) <= 9, [query["sql"] for query in seen]


def undo(who, job, **values) -> Any:
    return browser(who).post(f"/jobs/{job.pk}/undo/", {"reason": "wrong rows"} | values)


def test_an_undo_opens_a_restore_with_a_review_of_its_own(olga, anna, sales):
    job = done(olga, anna, sales)
    text = text_of(browser(olga).get(f"/jobs/{job.pk}/undo/"))
    assert "goes back to version 0" in text
    assert (
        "a link’s reason</textarea>"
        in browser(olga).get(f"/jobs/{job.pk}/undo/?reason=a+link’s+reason").content.decode()
    )
    assert "No later commits" in text
    answer = undo(olga, job)
    restore = Job.objects.get(command="restore")
    assert answer.url == f"/jobs/{restore.pk}/"
    assert (restore.undoes_id, restore.parameters["version"]) == (job.pk, 0)
    shown = text_of(page(olga, restore))
    assert f"undoes {title_of(job)} {job.reason}" in shown
    assert "Already requested" in text_of(page(olga, job))


def ran(by, restore) -> Any:
    """A restore that waits, approved and run."""
    Decision.objects.create(job=restore, person=by, decision="approve", digest=restore.digest)
    Job.objects.filter(pk=restore.pk).update(state="queued")
    return work_on(claim_run)


def restored_by(way, olga, anna, sales, job) -> tuple[int, str, str]:
    """The table is back at version 0, one way or another: the restore's version, and who the pages and the API say it was."""
    if way == "another writer":
        place = Path(sales.path)
        back = [SmallEngine()._added(place, name) for name in small_delta.live(place, 0)]
        version = small_delta.commit(place, "RESTORE", back, operationParameters={"version": "0", "timestamp": None})
        syncing.sync(sales.pk)
        return version, "a restore outside Levee", "a restore outside Levee"
    if way == "its undo":
        undo(olga, job)
    else:
        request_restore(actor(olga), sales.pk, 0, "all of it back")
    restore = ran(anna, work_on(claim_preview))
    assert restore.version is not None
    return restore.version, f"{title_of(restore)} {restore.reason}", f"job {str(restore.pk)[:8]}"


@pytest.mark.parametrize("way", ["its undo", "a restore to before it", "another writer"])
def test_an_undone_job_says_by_what_and_offers_no_undo(olga, anna, sales, way):
    job = done(olga, anna, sales)
    version, by, by_id = restored_by(way, olga, anna, sales, job)
    html = page(olga, job).content.decode()
    assert f"Undone by {by} as version {version} ." in text_of(page(olga, job)).replace("  ", " ")
    assert f"Undone as version {version}" in text_of(page(olga, job))
    assert f'href="/jobs/{job.pk}/undo/"' not in html
    assert "Undo until" not in html
    asked_for = text_of(browser(olga).get(f"/jobs/{job.pk}/undo/"))
    assert "There is nothing left to undo." in asked_for
    assert "Request undo" not in asked_for
    before = Job.objects.count()
    assert undo(olga, job).status_code == 409
    api = Caller(olga).post(f"/jobs/{job.pk}/undo", {"reason": "again", "accept_commits": [version]})
    assert (api.status_code, api.json()["code"]) == (409, "nothing_to_undo")
    assert f"Undone by {by_id} as version {version}." in api.json()["detail"]
    assert Job.objects.count() == before


def test_an_undo_that_is_undone_itself_leaves_the_job_to_be_undone_again(olga, anna, sales):
    job = done(olga, anna, sales)
    undo(olga, job)
    restore = ran(anna, work_on(claim_preview))
    assert f'href="/jobs/{job.pk}/undo/"' not in page(olga, job).content.decode()
    undo(olga, restore)
    again = ran(anna, work_on(claim_preview))
    assert (restore.version, again.version) == (2, 3)
    assert f'href="/jobs/{job.pk}/undo/"' in page(olga, job).content.decode()
    assert f"Undone by {title_of(again)} {again.reason}" in text_of(page(olga, restore))


def test_a_restore_to_a_version_that_has_the_commit_undoes_it_not(olga, anna, sales, tmp_path):
    job = done(olga, anna, sales)
    small_delta.append(tmp_path / "sales", [{"id": 50, "p": "DE"}])
    request_restore(actor(olga), sales.pk, 1, "without the last load")
    assert ran(anna, work_on(claim_preview)).version == 3
    assert f'href="/jobs/{job.pk}/undo/"' in page(olga, job).content.decode()


def test_later_commits_must_be_ticked_before_they_are_undone_as_well(olga, anna, sales, tmp_path):
    job = done(olga, anna, sales)
    small_delta.append(tmp_path / "sales", [{"id": 50, "p": "DE"}])
    small_delta.append(tmp_path / "sales", [{"id": 51, "p": "DE"}])
    text = text_of(browser(olga).get(f"/jobs/{job.pk}/undo/"))
    assert "2 later commits are undone as well" in text
    refused = undo(olga, job, accept=["2"])
    assert refused.status_code == 409
    assert "undoes later commits as well: 3" in text_of(refused)
    assert 'value="2" checked' in refused.content.decode()
    assert not Job.objects.filter(command="restore").exists()
    assert undo(olga, job, accept=["2", "3"]).status_code == 302
    assert Job.objects.get(command="restore").parameters["accepted_commits"] == [2, 3]


def test_many_later_commits_are_ticked_together(olga, anna, sales, tmp_path, monkeypatch):
    monkeypatch.setattr("jobs.web.approvals.undo.NAMED", 1)
    job = done(olga, anna, sales)
    for number in (50, 51):
        small_delta.append(tmp_path / "sales", [{"id": number, "p": "DE"}])
    assert 'value="2-3"' in browser(olga).get(f"/jobs/{job.pk}/undo/").content.decode()
    assert undo(olga, job, accept=["2-3"]).status_code == 302
    assert Job.objects.get(command="restore").parameters["accepted_commits"] == [2, 3]


def test_an_undo_needs_a_reason_and_a_commit(olga, anna, sales):
    job = done(olga, anna, sales)
    assert undo(olga, job, reason="").status_code == 400
    assert undo(olga, asked(olga, sales, "id = 4")).status_code == 409
    assert not Job.objects.filter(command="restore").exists()


def test_until_when_it_can_be_undone_is_told_by_the_age_of_the_version_before(olga, anna, sales):
    job = asked(olga, sales)
    assert "Undo until" in text_of(page(anna, job))
    Commit.objects.filter(table=sales, version=0).update(committed_at=timezone.now() - timedelta(days=8))
    assert "Undo not possible" in text_of(page(anna, job))
    assert "can’t be undone once it has run" in text_of(browser(anna).get(f"/jobs/{job.pk}/checks/"))


def test_what_came_to_nothing_is_asked_for_again_on_the_table_as_it_is_now(olga, anna, sales, tmp_path):
    job = asked(olga, sales, None)
    act(anna, job, "approve")
    small_delta.append(tmp_path / "sales", [{"id": 50, "p": "DE"}])
    assert work_on(claim_run).state == "stale"
    assert f'href="/tables/{sales.pk}/delete/?again={job.pk}"' in page(olga, job).content.decode()
    assert "Request again</a>" not in page(anna, job).content.decode()
    some = asked(olga, sales)
    act(anna, some, "reject")
    address = re.search(r'id="ask-again"[^>]* href="([^"]+)"', page(olga, some).content.decode())
    assert address is not None
    again = browser(olga).get(address[1].replace("&amp;", "&"))
    assert again.status_code == 200
    assert PREDICATE in again.content.decode().replace("&#x27;", "'").replace("&lt;", "<")


# --- who stands behind an approver ------------------------------------------------------------------------------------


def test_a_page_that_refuses_an_approval_says_why_and_what_ends_it(olga, sales):
    job = asked(olga, sales)
    puppet = factories.PersonFactory(created_by=olga)
    factories.GrantFactory(person=puppet, role="approver")
    shown = page(puppet, job)
    text = text_of(shown)
    assert f"Your approval doesn’t count here: {olga.name} added {puppet.name}." in text
    assert f"manage.py person vouch {puppet.name}" in text
    assert 'value="approve"' not in shown.content.decode()
    assert 'value="reject"' in shown.content.decode()
    refused = act(puppet, job, "approve")
    assert refused.status_code == 403
    assert "Your approval doesn’t count here" in text_of(refused)
    assert Event.objects.filter(action="job.approve", outcome="refused", reason__startswith="not_independent").exists()
    services.vouch(Actor.system("machine"), puppet)
    assert act(puppet, job, "approve").status_code == 302
    assert Job.objects.get(pk=job.pk).state == "queued"


def test_a_puppet_may_still_say_no(olga, sales):
    job = asked(olga, sales)
    puppet = factories.PersonFactory(created_by=olga)
    factories.GrantFactory(person=puppet, role="approver")
    assert act(puppet, job, "reject").status_code == 302
    assert Job.objects.get(pk=job.pk).state == "rejected"


def test_an_approval_says_who_appointed_its_giver_and_why_it_counts_no_more(olga, anna, sales):
    factories.PolicyRuleFactory(required_approvals=2)
    job = asked(olga, sales)
    act(anna, job, "approve")
    ben = factories.person_with("approver")
    text = text_of(page(ben, job))
    assert "Added by a command on the machine, made approver by a command on the machine" in text
    assert "1 of 2 approvals" in text
    factories.GrantFactory(person=anna, role="admin", granted_by=olga)
    text = text_of(page(ben, job))
    assert f"It doesn’t count: {olga.name} gave {anna.name} the role admin." in text
    assert "0 of 2 approvals" in text
    Person.objects.filter(pk=anna.pk).update(is_active=False)
    assert "account is closed" in text_of(page(ben, job))


# --- what an undo means -----------------------------------------------------------------------------------------------


def test_the_form_of_an_undo_tells_rows_files_and_approvals(olga, anna, sales):
    job = done(olga, anna, sales)
    text = text_of(browser(olga).get(f"/jobs/{job.pk}/undo/"))
    for label in ("Rows to restore", "Rows to remove", "Commits to undo", "Files to restore", "Files to remove"):
        assert label in text
    assert "Needs 1 approval" in text
    assert f"It can be approved by {anna.name}." in text


def test_later_commits_count_in_what_it_tells(olga, anna, sales, tmp_path):
    job = done(olga, anna, sales)
    small_delta.append(tmp_path / "sales", [{"id": 50, "p": "DE"}])
    text = text_of(browser(olga).get(f"/jobs/{job.pk}/undo/"))
    assert re.search(r"Commits to undo 2\b", text)


def test_a_log_that_cannot_tell_is_said_and_the_undo_can_still_be_asked_for(olga, anna, sales, monkeypatch):
    job = done(olga, anna, sales)

    def refused(*_):
        raise CommandRefused(Refusal("version_gone", "The log no longer reaches version 0"))

    monkeypatch.setattr("jobs.web.approvals.undo.undo_request", refused)
    text = text_of(browser(olga).get(f"/jobs/{job.pk}/undo/"))
    assert "The log can’t tell what this would do." in text
    assert "Request undo" in text


# --- a decision that ends a request -----------------------------------------------------------------------------------


def test_a_rejection_is_signed_and_asked_once_more_with_its_comment(olga, anna, sales):
    job = asked(olga, sales)
    shown = page(anna, job).content.decode()
    assert f'data-reject-as="Reject as {anna.name}"' in shown
    assert f'signed as <span class="lv-who">{anna.name}</span>' in shown
    question = act(anna, job, "reject", comment="not these <b>", sure="")
    text = text_of(question)
    assert f"Signed as {anna.name}" in text
    assert "Nothing" not in text.partition("What happens")[0]
    assert f"Reject as {anna.name}</button>" in question.content.decode()
    assert "btn btn-danger" in question.content.decode()
    assert "not these &lt;b&gt;</textarea>" in question.content.decode()
    assert not job.decisions.exists()
    assert act(anna, job, "reject", comment="not these").status_code == 302
    assert job.decisions.get().comment == "not these"
