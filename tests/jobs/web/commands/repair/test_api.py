"""A repair by the API: what is known at the request, what Delta would refuse, who may."""

from pathlib import Path

import pytest

from jobs.models import Job
from tests import factories
from tests.clients import caller
from tests.factories import lakes
from tests.jobs import small_delta

pytestmark = pytest.mark.django_db


@pytest.fixture
def sales(lake):
    return lakes.sales_in(lake)


def ask(who, table, **more):
    return who.post("/jobs", {"command": "repair", "table": str(table.pk), "reason": "r", **more})


def test_the_api_answers_before_storage_is_asked_and_says_so(sales):
    answer = ask(caller("operator"), sales)
    assert answer.status_code == 201
    job = answer.json()
    preview = job["preview"]
    assert (job["state"], job["parameters"]) == ("previewing", {"table": str(sales.pk), "path": sales.path})
    assert (preview["files"], preview["rows"], preview["bytes"], preview["missing_sha256"]) == (None,) * 4
    assert (preview["files_total"], preview["class"], preview["sample"], preview["last_check"]) == (
        2, "irreversible", [], None,
    )  # fmt: skip
    assert "shape_sha256" not in preview
    assert "asked_first" in {each["code"] for each in preview["consequences"]}


def test_a_second_request_is_the_same_one(sales):
    operator = caller("operator")
    ask(operator, sales)
    answer = ask(operator, sales, reason="again")
    assert (answer.status_code, answer.json()["code"]) == (409, "already_open")


@pytest.mark.parametrize("more", [{"rehearse": True}, {"files": ["a"]}, {"reason": ""}])
def test_it_takes_a_table_and_a_reason_alone(sales, more):
    assert ask(caller("operator"), sales, **more).status_code == 400
    assert not Job.objects.exists()


def test_an_append_only_table_is_refused_with_delta_s_condition(lake):
    small_delta.create(Path(lake.uri) / "log", [{"id": 1, "p": "FR"}], {"delta.appendOnly": "true"})
    answer = ask(caller("operator"), factories.TableFactory(root=lake, name="log"))
    assert (answer.status_code, answer.json()["code"]) == (422, "append_only")
    assert answer.json()["engine"]["condition"] == "DELTA_CANNOT_MODIFY_APPEND_ONLY"


@pytest.mark.parametrize("role", ["viewer", "approver", "auditor"])
def test_others_may_not(sales, role):
    assert ask(caller(role), sales).status_code == 403
