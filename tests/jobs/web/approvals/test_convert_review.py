"""A rule may ask for approvals of a convert: its page is a review then, like any other's."""

import html
import re

import pytest
from django.utils import timezone

from console.audit.actor import Actor
from jobs.models import Job, PolicyRule, Read
from jobs.policy import services
from jobs.requests.asking import REASON_LENGTH
from tests import factories
from tests.clients import SURE, browser, confirmed_browser

pytestmark = pytest.mark.django_db


@pytest.fixture
def rule():
    """The shipped rule about converts, which now asks for one."""
    found = PolicyRule.objects.get(command="convert")
    return services.change(Actor.system("tests"), found, required_approvals=1)


@pytest.fixture
def waits(rule):
    policy = {"required_approvals": 1, "role": "approver", "reasons": ["“Ours”: a convert job needs 1 approver."]}
    return factories.job("awaiting_approval", requested_by=factories.person_with("operator"), policy=policy)


def text_of(answer) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", answer.content.decode()))


def test_its_page_takes_the_decision(waits, no_wakes):
    anna = confirmed_browser(factories.person_with("approver"))
    shown = anna.get(f"/jobs/{waits.pk}/")
    assert 'value="approve"' in shown.content.decode()
    assert "This directory becomes a Delta table" in text_of(shown)
    assert "“Ours”: a convert job needs 1 approver." in text_of(shown)
    assert "Files to add" in text_of(shown)
    answer = anna.post(f"/jobs/{waits.pk}/review/", {"act": "approve", "digest": waits.digest, "comment": "fine"})
    assert answer.status_code == 302
    assert Job.objects.get(pk=waits.pk).state == "queued"


def test_one_no_ends_it_there(waits):
    anna = confirmed_browser(factories.person_with("approver"))
    assert anna.post(f"/jobs/{waits.pk}/review/", {"act": "reject", "digest": waits.digest, **SURE}).status_code == 302
    assert Job.objects.get(pk=waits.pk).state == "rejected"
    assert "rejected" in text_of(anna.get(f"/jobs/{waits.pk}/review/")).lower()


def test_the_page_that_was_open_while_it_was_inspected_becomes_the_review(waits):
    answer = browser(waits.requested_by).get(f"/jobs/{waits.pk}/live/")
    assert answer.headers["HX-Redirect"] == f"/jobs/{waits.pk}/"


def test_it_stands_among_the_approvals_of_both(waits):
    assert f"/jobs/{waits.pk}/" in browser(factories.person_with("approver")).get("/approvals/").content.decode()
    assert f"/jobs/{waits.pk}/" in browser(waits.requested_by).get("/approvals/?show=mine").content.decode()


def test_a_convert_that_needs_no_approval_has_no_review():
    job = factories.job("queued")
    shown = browser(factories.person_with("approver")).get(f"/jobs/{job.pk}/").content.decode()
    assert 'value="approve"' not in shown
    assert "lv-decision" not in shown


@pytest.mark.parametrize(("needs", "words"), [(0, "Needs no approval"), (2, "Needs 2 approvals, because")])
def test_the_convert_page_says_what_the_rules_say(needs, words, tmp_path, redis_server):
    rule = PolicyRule.objects.get(command="convert")
    services.change(Actor.system("tests"), rule, required_approvals=needs)
    (tmp_path / "orders").mkdir()
    factories.RootFactory(uri=str(tmp_path))
    who, path = factories.person_with("operator"), str(tmp_path / "orders")
    factories.read(who, question={"path": path}, state="answered", answer=factories.inspection(path))
    assert words in text_of(browser(who).get("/convert/", {"path": path}))


def test_a_reason_that_a_link_brings_along_stands_in_the_form_also_after_a_wait(tmp_path, redis_server):
    (tmp_path / "orders").mkdir()
    factories.RootFactory(uri=str(tmp_path))
    who, path = factories.person_with("operator"), str(tmp_path / "orders")
    read = factories.read(who, question={"path": path}, state="running")
    client = browser(who)
    waits = client.get("/convert/", {"path": path, "reason": "a <b> & more" + "x" * 2_000}).content.decode()
    found = re.search(r'hx-get="(/convert/inspection/[^"]+)"', waits)
    assert found
    Read.objects.filter(pk=read.pk).update(
        state="answered", answer=factories.inspection(path), answered_at=timezone.now()
    )
    shown = client.get(found[1].replace("&amp;", "&")).content.decode()
    typed = re.search(r'<textarea[^>]*name="reason"[^>]*>([^<]*)</textarea>', shown)
    assert typed
    assert typed[1].startswith("a &lt;b&gt; &amp; more")
    assert len(html.unescape(typed[1])) == REASON_LENGTH


@pytest.mark.parametrize("how", ["vanished", "another root", "without any role"])
def test_an_inspection_that_may_not_be_shown_any_more_asks_no_more(how, tmp_path, redis_server):
    (tmp_path / "orders").mkdir()
    factories.RootFactory(uri=str(tmp_path))
    person, path = factories.person_with("operator"), str(tmp_path / "orders")
    read = factories.read(person, question={"path": path}, state="running")
    client, part = browser(person), f"/convert/inspection/{read.pk}/"
    asks = {"HX-Request": "true", "HX-Current-URL": f"http://testserver/convert/?path={path}"}
    assert f'hx-get="{part}"' in client.get(part, headers=asks).content.decode()
    if how == "vanished":
        read.delete()
    else:
        person.grants.all().delete()
    if how == "another root":
        factories.GrantFactory(person=person, root=factories.RootFactory(uri="/elsewhere"))
    stopped = client.get(part, headers=asks)
    assert stopped.status_code == 200
    assert "you no longer have access" in text_of(stopped)
    assert "hx-get" not in stopped.content.decode()
    assert client.get(part).status_code in {403, 404}


def test_an_operator_of_the_table_alone_may_request_it_on_the_page(tmp_path, redis_server):
    (tmp_path / "orders").mkdir()
    root = factories.RootFactory(uri=str(tmp_path))
    path = str(tmp_path / "orders")
    table = factories.TableFactory(root=root, path=path, format="parquet")
    who, stranger = factories.person_with("operator", table=table), factories.person_with("viewer", root=root)
    for person in (who, stranger):
        factories.read(person, question={"path": path}, state="answered", answer=factories.inspection(path))
    assert "You need the operator role" not in text_of(browser(who).get("/convert/", {"path": path}))
    assert "You need the operator role" in text_of(browser(stranger).get("/convert/", {"path": path}))


@pytest.mark.parametrize(
    ("role", "starts"), [("viewer", False), ("approver", False), ("auditor", False), ("operator", True)]
)
def test_looking_at_a_directory_starts_spark_for_who_may_convert_it_alone(
    role, starts, tmp_path, redis_server, no_wakes
):
    (tmp_path / "orders").mkdir()
    factories.RootFactory(uri=str(tmp_path))
    client, path = browser(factories.person_with(role)), str(tmp_path / "orders")
    html_of = client.get("/convert/", {"path": path}).content.decode()
    assert Read.objects.filter(kind="inspect").exists() is starts
    assert ('hx-get="/convert/inspection/' in html_of) is starts
    assert ("Not inspected yet" in html_of) is not starts
    if not starts:
        assert 'id="inspect" type="submit"' in html_of
        assert client.post("/convert/again/", {"path": path}).status_code == 302
        assert Read.objects.filter(kind="inspect").count() == 1
        again = client.get("/convert/", {"path": path}).content.decode()
        assert "Not inspected yet" not in again
        assert Read.objects.filter(kind="inspect").count() == 1
