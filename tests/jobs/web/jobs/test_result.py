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
