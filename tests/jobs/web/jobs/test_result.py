"""What a job's page says of its result."""

import uuid

import pytest
from django.template.loader import render_to_string

TABLE, JOB = uuid.uuid4(), uuid.uuid4()
RESULT = {"no_op": False, "version": 0, "operation": "CONVERT", "details": {}}


@pytest.mark.parametrize("seen", [True, False])
def test_the_version_that_a_convert_committed_leads_to_its_commit(seen):
    table = {"id": TABLE, "url": f"/tables/{TABLE}/" if seen else None}
    shown = render_to_string("jobs/convert/result.html", {"job": {"id": JOB, "table": table}, "result": RESULT})
    assert (f'href="/tables/{TABLE}/commits/0/?job={JOB}">0</a>' in shown) == seen
    assert "Committed as version" in shown


def test_a_convert_s_lines_stand_beside_the_inspection():
    line = {
        "name": "rows_in_table",
        "label": "Rows",
        "expected": "4",
        "actual": "3",
        "why": "",
        "word": {"tone": "wait", "icon": "alert-triangle", "text": "different"},
    }
    outcome = {"lines": [line], "differing": 1, "contradictions": ["Rows: predicted 4, recorded 3."]}
    job = {"id": JOB, "table": {"id": TABLE, "url": f"/tables/{TABLE}/"}}
    shown = render_to_string("jobs/convert/result.html", {"job": job, "result": RESULT, "outcome": outcome})
    assert "Result beside the prediction" in shown
    assert "1 line differs" in " ".join(shown.split())
    assert "Rows: predicted 4, recorded 3." in shown
