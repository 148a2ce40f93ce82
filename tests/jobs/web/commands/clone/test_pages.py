"""The page that asks for a clone: what the log says before, what is refused, the job."""

import html as markup

import pytest

from jobs.models import Job
from jobs.policy.evaluate import policy_of
from tables.history.reachability import Span
from tests import factories
from tests.clients import browser


@pytest.fixture
def client(db):
    return browser(factories.person_with("operator"))


def shown(answer):
    return " ".join(markup.unescape(answer.content.decode()).split())


def test_the_page_offers_both_kinds_and_your_roots(client, sales, tmp_path):
    answer = client.get(f"/tables/{sales.pk}/clone/")
    assert answer.status_code == 200
    assert "enter one to see what the clone would hold" in shown(answer)
    assert str(tmp_path) in shown(answer)
    assert "Versions that can be read now: 0 to 1." in shown(answer)
    assert "field-error" not in shown(answer)


@pytest.mark.parametrize(
    ("kind", "said"), [("shallow", "names files of sales and has none of its own"), ("deep", "Bytes to copy")]
)
def test_it_says_what_each_would_hold_and_makes_nothing(client, sales, tmp_path, kind, said):
    answer = client.get(f"/tables/{sales.pk}/clone/", {"target": f"{tmp_path}/copy", "kind": kind})
    assert said in shown(answer)
    assert "Needs no approval" in shown(answer)
    assert answer.context["preview"]["files"] == 3
    assert not (tmp_path / "copy").exists()


def test_of_many_ranges_of_versions_the_older_ones_are_a_number(client, sales, monkeypatch):
    monkeypatch.setattr("jobs.web.commands.clone.pages.MOST_SPANS", 1)
    spans = [Span(n, n, None, None, True, n != 1, None, None) for n in (0, 1, 2, 4)]  # 1 can't be read
    monkeypatch.setattr("jobs.web.commands.clone.pages.joined", lambda found: spans)
    assert "Versions that can be read now: 2 older ranges, 4." in shown(client.get(f"/tables/{sales.pk}/clone/"))


@pytest.mark.parametrize("target", ["", "copy"])
def test_it_says_that_the_rules_of_the_table_and_of_the_place_decide_not_its_size(client, sales, tmp_path, target):
    given = {"target": f"{tmp_path}/{target}", "kind": "deep"} if target else {}
    text = shown(client.get(f"/tables/{sales.pk}/clone/", given))
    assert "The rules for this table and for the place of the clone decide" in text
    assert "how much of the table" not in text
    assert "Spark’s count decides" not in text


@pytest.mark.parametrize(
    ("target", "status", "said"),
    [
        ("{root}/sales/inside", 409, "is inside the Delta table"),
        ("{root}/no/such", 404, "no/such"),
        ("/elsewhere/copy", 403, "not below a root"),
        ("relative", 403, "absolute path"),
        ("", 400, "This field is required"),
    ],
)
def test_what_can_not_be_is_said_on_the_page(client, sales, tmp_path, target, status, said):
    given = {"target": target.format(root=tmp_path), "kind": "deep", "reason": "r", "do": "request"}
    answer = client.post(f"/tables/{sales.pk}/clone/", given)
    assert (answer.status_code, said in shown(answer)) == (status, True)
    assert not Job.objects.exists()


def test_a_request_needs_a_reason(client, sales, tmp_path):
    given = {"target": f"{tmp_path}/copy", "kind": "deep", "reason": " ", "do": "request"}
    answer = client.post(f"/tables/{sales.pk}/clone/", given)
    assert answer.status_code == 400
    assert "Enter a reason" in shown(answer)
    assert not (tmp_path / "copy").exists()


def test_the_button_makes_the_job_and_its_page_leads_back_with_the_same_values(client, sales, tmp_path):
    given = {"target": f"{tmp_path}/copy", "kind": "deep", "version": "0", "reason": "to try", "do": "request"}
    answer = client.post(f"/tables/{sales.pk}/clone/", given)
    job = Job.objects.get()
    assert (answer.status_code, answer["location"]) == (302, f"/jobs/{job.pk}/")
    page = shown(client.get(f"/jobs/{job.pk}/"))
    assert "Clone sales to copy, deep" in page
    assert f"/tables/{sales.pk}/" in page


@pytest.mark.parametrize("of", ["source", "source's root", "target's root", "another"])
def test_rules_for_the_source_and_for_the_place_count_on_the_page_and_in_the_job(client, sales, tmp_path, no_wakes, of):
    """A rule about a table asks for approvals wherever its clone is made."""
    (tmp_path / "lake").mkdir()
    there, another = (factories.RootFactory(uri=f"{tmp_path}/{name}", name=name) for name in ("lake", "another"))
    scopes = {
        "source": {"table": sales},
        "source's root": {"root": sales.root},
        "target's root": {"root": there},
        "another": {"root": another},
    }
    factories.PolicyRuleFactory(command="clone", scope=next(iter(scopes[of])), **scopes[of])
    needed = 0 if of == "another" else 1
    given = {"target": f"{tmp_path}/lake/copy", "kind": "shallow", "reason": "r", "do": "request"}
    assert client.get(f"/tables/{sales.pk}/clone/", given).context["needs"].required_approvals == needed
    assert client.post(f"/tables/{sales.pk}/clone/", given).status_code == 302
    job = Job.objects.select_related("table").get()
    assert policy_of(job, job.preview or {}).required_approvals == needed


def test_a_viewer_may_not(sales):
    assert browser(factories.person_with("viewer")).get(f"/tables/{sales.pk}/clone/").status_code == 403
