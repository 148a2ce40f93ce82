"""The page that asks for a restore: what it says comes back and goes, what must be ticked and typed, what it asks for."""

import html as markup
import re

import pytest

from jobs.commands.restore.undone_commits import runs_of, versions_in
from jobs.models import Job
from tests import factories
from tests.clients import browser
from tests.jobs import small_delta

ROWS = [{"id": n, "p": "FR" if n % 2 else "DE"} for n in range(10)]


def commit(version, operation="WRITE", by=None, job=None):
    return {"version": version, "operation": operation, "by": by, "job": job, "committed_at": None}


def test_neighbours_of_one_kind_are_one_run_and_a_job_is_its_own():
    commits = [commit(9), commit(8), commit(7, "DELETE", "ana", "j1"), commit(6), commit(5)]
    found = runs_of(commits, {9: 5, 8: 2, 7: -3, 6: 1}, 4, 9)
    assert [(run.span, run.operation, run.rows) for run in found] == [
        ("8-9", "WRITE", 7),
        ("7-7", "DELETE", -3),
        ("5-6", "WRITE", None),
    ]


def test_commits_that_nobody_names_are_runs_as_well():
    found = runs_of([commit(9), commit(6)], {}, 2, 10)
    assert [(run.span, run.operation) for run in found] == [
        ("10-10", None),
        ("9-9", "WRITE"),
        ("7-8", None),
        ("6-6", "WRITE"),
        ("3-5", None),
    ]


def test_ticks_name_versions_within_what_goes():
    assert versions_in(["8-9", "5-5"], 4, 9) == {5, 8, 9}
    assert versions_in(["0-99999999"], 4, 9) == {5, 6, 7, 8, 9}
    assert versions_in(["x", "9", "9-", "-9", "9-8", "\u0665-\u0665", "1" * 30 + "-9"], 4, 9) == set()


@pytest.fixture
def sales(db, tmp_path):
    """At version 2: two appends after it was made."""
    root = factories.RootFactory(uri=str(tmp_path))
    small_delta.create(tmp_path / "sales", ROWS)
    for id_ in (20, 21):
        small_delta.append(tmp_path / "sales", [{"id": id_, "p": "FR"}])
    return factories.TableFactory(root=root, path=str(tmp_path / "sales"), name="sales")


@pytest.fixture
def client(db):
    return browser(factories.person_with("operator"))


def shown(answer, status=200):
    assert answer.status_code == status, answer.content[-2000:]
    return " ".join(markup.unescape(answer.content.decode()).split())


def look(client, table, status=200, **query):
    return shown(client.get(f"/tables/{table.pk}/restore/", query), status)


def post(client, table, **form):
    usual = {"version": "0", "accept": ["1-2"], "name": "sales", "reason": "wrong"}
    return client.post(f"/tables/{table.pk}/restore/", usual | form)


def test_without_a_version_it_offers_the_older_ones(client, sales):
    page = look(client, sales)
    assert re.findall(r'href="\?version=(\d+)"', page) == ["1", "0"]
    for odd in ("x", "-1", "1.5", "1" * 40):
        assert "Older versions" in look(client, sales, version=odd)


def test_it_says_what_goes_and_names_the_commits(client, sales):
    page = look(client, sales, version="0")
    assert "Restore sales to version 0" in page
    assert re.search(r"Commits to undo</dt><dd>2<", page)
    assert re.search(r"Rows</dt><dd>−2<", page)
    assert "+0 −2" in page
    assert 'value="1-2"' in page
    assert "WRITE × 2" in page
    assert "Version 2 stays in the history" in page
    assert "on exactly version 2" in page
    assert re.search(r"Needs \d approvals?, because", page)


def test_the_newest_version_leaves_nothing_to_do(client, sales):
    page = look(client, sales, version="2")
    assert "nothing to undo" in page
    assert "Request restore" not in page


def test_a_version_that_never_was_or_is_gone_is_said(client, sales, tmp_path):
    assert "no version 7: the latest is 2" in look(client, sales, 400, version="7")
    log = tmp_path / "sales" / "_delta_log"
    (log / f"{0:020}.json").unlink()
    assert "no longer holds what version 1 is rebuilt from" in look(client, sales, 410, version="1")


def test_ticked_and_typed_it_is_a_job(client, sales):
    answer = post(client, sales)
    job = Job.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/jobs/{job.pk}/")
    assert (job.command, job.parameters["version"], job.parameters["accepted_commits"]) == ("restore", 0, [1, 2])
    assert job.reason == "wrong"


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"accept": []}, "not ticked: 1-2"),
        ({"accept": ["1-1"]}, "not ticked: 1-2"),
        ({"name": "sale"}, "type sales to confirm it"),
        ({"name": ""}, "type sales to confirm it"),
        ({"reason": " "}, "Enter a reason"),
    ],
)
def test_what_is_missing_is_said_and_nothing_is_asked_for(client, sales, form, said):
    page = shown(post(client, sales, **form), 400)
    assert said in page
    assert not Job.objects.exists()


def test_a_commit_that_came_meanwhile_must_be_ticked_as_well(client, sales, tmp_path):
    small_delta.append(tmp_path / "sales", [{"id": 22, "p": "FR"}])
    page = shown(post(client, sales), 400)
    assert "not ticked: 1-3" in page
    assert not Job.objects.exists()


def test_the_same_again_leads_to_the_open_request(client, sales):
    post(client, sales)
    page = shown(post(client, sales), 409)
    assert f'href="/jobs/{Job.objects.get().pk}/"' in page
    assert 'value="1-2" checked' in page


def test_what_it_needs_follows_the_rules_of_now(client, sales):
    factories.change_rules("restore", enabled=False)
    assert "Needs no approval" in look(client, sales, version="0")


def test_history_and_commit_lead_operators_to_it_and_nobody_else(client, sales):
    look(client, sales)  # which brings the catalog in step
    viewer = browser(factories.person_with("viewer"))
    for address, times in ((f"/tables/{sales.pk}/history/", 2), (f"/tables/{sales.pk}/commits/1/", 1)):
        way = f"/tables/{sales.pk}/restore/?version="
        assert shown(client.get(address)).count(way) == times
        assert way not in shown(viewer.get(address))


@pytest.mark.parametrize("role", ["viewer", "approver", "admin"])
def test_who_may_not_ask_gets_no_page(sales, role):
    assert browser(factories.person_with(role)).get(f"/tables/{sales.pk}/restore/").status_code == 403
