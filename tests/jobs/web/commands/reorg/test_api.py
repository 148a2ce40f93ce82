"""A reorg by the API: its prediction, and what Delta would refuse."""

import pytest

from jobs.models import Job
from tests.clients import caller


def ask(who, sales, **more):
    return who.post("/jobs", {"command": "reorg", "table": str(sales.pk), "reason": "r", **more})


def test_the_api_answers_with_the_prediction(sales):
    answer = ask(caller("operator"), sales)
    assert answer.status_code == 201
    preview = answer.json()["preview"]
    assert (preview["files_in"], preview["files_out"], preview["rows_hidden"], preview["exact"]) == (1, 1, 2, True)
    assert (preview["nothing_to_do"], preview["files_total"], preview["dropped_columns"]) == (False, 2, False)
    assert "shape_sha256" not in preview


def test_a_predicate_chooses_partitions_and_there_may_be_nothing_in_them(sales):
    preview = ask(caller("operator"), sales, predicate="p = 'DE'").json()["preview"]
    assert (preview["files_in"], preview["nothing_to_do"]) == (0, True)


def test_the_api_refuses_with_delta_s_condition_and_a_rehearsal(sales):
    operator = caller("operator")
    answer = ask(operator, sales, predicate="id = 1")
    assert (answer.status_code, answer.json()["engine"]["condition"]) == (400, "DELTA_NON_PARTITION_COLUMN_REFERENCE")
    assert ask(operator, sales, rehearse=True).status_code == 400
    assert not Job.objects.exists()


@pytest.mark.parametrize("role", ["viewer", "approver"])
def test_others_may_not(sales, role):
    assert ask(caller(role), sales).status_code == 403
