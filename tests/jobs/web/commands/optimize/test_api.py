"""An optimize by the API: its prediction, and what Delta would refuse."""

import pytest

from jobs.models import Job
from tests.clients import caller


def ask(who, sales, **more):
    return who.post("/jobs", {"command": "optimize", "table": str(sales.pk), "reason": "r", **more})


def test_the_api_answers_with_the_prediction(sales):
    answer = ask(caller("operator"), sales)
    assert answer.status_code == 201
    preview = answer.json()["preview"]
    assert (preview["files_in"], preview["files_out"], preview["nothing_to_do"]) == (3, 1, False)
    assert "shape_sha256" not in preview


@pytest.mark.parametrize(
    ("given", "condition"),
    [
        ({"predicate": "id = 1"}, "DELTA_NON_PARTITION_COLUMN_REFERENCE"),
        ({"zorder_by": ["p"]}, "DELTA_ZORDERING_ON_PARTITION_COLUMN"),
        ({"full": True}, "DELTA_OPTIMIZE_FULL_NOT_SUPPORTED"),
    ],
)
def test_the_api_refuses_with_delta_s_condition(sales, given, condition):
    answer = ask(caller("operator"), sales, **given)
    assert (answer.status_code, answer.json()["engine"]["condition"]) == (400, condition)
    assert not Job.objects.exists()


@pytest.mark.parametrize("columns", [["id", "ID"], [" "], [f"c{n}" for n in range(33)]])
def test_odd_columns_are_400_and_named(sales, columns):
    answer = ask(caller("operator"), sales, zorder_by=columns)
    assert answer.status_code == 400
    assert "zorder_by" in answer.json()["fields"]
