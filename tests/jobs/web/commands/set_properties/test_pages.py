"""The page of a table's properties: their values, the filter, what a change does, the job."""

import html as markup

import pytest
from django.db.models.functions import Now

from jobs.domain.results import Result
from jobs.models import Job
from tests import factories
from tests.clients import browser


@pytest.fixture
def client(db):
    return browser(factories.person_with("operator"))


def shown(answer):
    return " ".join(markup.unescape(answer.content.decode()).split())


def fields_of(client, sales):
    """What a browser would send back unchanged."""
    form = client.get(f"/tables/{sales.pk}/properties/").context["form"]
    return {bound.html_name: bound.value() or "" for bound in form}


def test_the_page_shows_every_property_with_its_value_and_no_secret(client, sales):
    answer = client.get(f"/tables/{sales.pk}/properties/")
    assert answer.status_code == 200
    text = shown(answer)
    assert "delta.enableChangeDataFeed" in text
    assert 'value="finance"' in text
    assert "hunter2" not in text
    assert "nothing would change" in text
    assert "true puts the feature changeDataFeed into the protocol: Delta can’t drop it again." in text


def test_unchanged_fields_change_nothing(client, sales):
    answer = client.post(f"/tables/{sales.pk}/properties/", {**fields_of(client, sales), "do": "preview"})
    assert answer.context["preview"] == {}


def test_a_changed_value_is_previewed_with_who_can_read_the_table_then(client, sales):
    given = {**fields_of(client, sales), "property:delta.enableDeletionVectors": "true", "do": "preview"}
    answer = client.post(f"/tables/{sales.pk}/properties/", given)
    assert answer.context["preview"]["after"] == {"delta.enableDeletionVectors": "true"}
    assert "Needs 1 approval" in shown(answer)
    assert "reader 1, writer 2 → reader 3, writer 7" in shown(answer)


def test_the_filter_hides_and_keeps_what_it_leaves_out(client, sales):
    given = {**fields_of(client, sales), "property:team": "sales", "filter": "vectors", "do": "preview"}
    answer = client.post(f"/tables/{sales.pk}/properties/", given)
    text = shown(answer)
    assert '<input type="hidden" name="property:team" value="sales"' in text
    assert '<label class="lv-mono lv-break" for="id_property:delta.enableDeletionVectors"' in text
    assert answer.context["preview"]["after"] == {"team": "sales"}


def test_what_delta_refuses_is_said_on_the_page(client, sales):
    given = {**fields_of(client, sales), "added": "delta.nosuch = 1", "reason": "r", "do": "request"}
    answer = client.post(f"/tables/{sales.pk}/properties/", given)
    assert answer.status_code == 400
    assert "DELTA_UNKNOWN_CONFIGURATION" in shown(answer)
    assert not Job.objects.exists()


def test_the_button_makes_the_job_and_its_page_leads_back_with_the_same_values(client, sales):
    given = {**fields_of(client, sales), "property:team": "", "added": "owner = me", "reason": "r", "do": "request"}
    answer = client.post(f"/tables/{sales.pk}/properties/", given)
    job = Job.objects.get()
    assert (answer.status_code, answer["location"]) == (302, f"/jobs/{job.pk}/")
    assert (job.parameters["set"], job.parameters["unset"]) == ({"owner": "me"}, ["team"])
    assert "Change 2 properties of sales" in shown(client.get(f"/jobs/{job.pk}/"))
    again = client.get(f"/tables/{sales.pk}/properties/?set=owner%3Dme&unset=team")
    assert again.context["preview"]["after"] == {"owner": "me", "team": None}


def test_a_viewer_may_not(sales):
    assert browser(factories.person_with("viewer")).get(f"/tables/{sales.pk}/properties/").status_code == 403


def test_what_a_job_has_set_leads_to_its_opposite(client, sales):
    given = {**fields_of(client, sales), "property:team": "sales", "reason": "ours", "do": "request"}
    assert client.post(f"/tables/{sales.pk}/properties/", given).status_code == 302
    job = Job.objects.get()
    result = Result(1, "SET TBLPROPERTIES", read_version=0, details={"text": "done", "commits": [{"version": 1}]})
    Job.objects.filter(pk=job.pk).update(state="succeeded", version=1, result=result.as_json(), finished_at=Now())
    page = client.get(f"/jobs/{job.pk}/")
    link = page.context["outcome"]["opposite_url"]
    assert markup.escape(link) in page.content.decode()
    values = {bound.html_name: bound.value() for bound in client.get(link).context["form"]}
    assert values["property:team"] == "finance"
