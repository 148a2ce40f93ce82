"""What a job's page says of its result."""

import re
import uuid

import pytest
from django.template.loader import render_to_string

from jobs.models import Job
from tests import factories
from tests.clients import browser

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


@pytest.mark.django_db
def test_what_a_conversion_found_is_shown_while_its_page_polls(tmp_path):
    """Its page is there before its inspection: the part that polls brings it, and a page keeps what it has."""
    table = factories.TableFactory(name="raw", path=str(tmp_path / "raw"))
    who = factories.person_named("ines", "operator")
    given = {"path": table.path, "name": None, "source_format": "parquet"}
    job = factories.job("running", command="convert", table=table, requested_by=who, parameters=given, preview=None)
    client = browser(who)
    assert 'id="asked"' not in client.get(f"/jobs/{job.pk}/live/").content.decode()
    found = {"num_files": 2, "size_bytes": 10, "num_records": 3, "partition_columns": [{"name": "p", "distinct": 41}]}
    Job.objects.filter(pk=job.pk).update(preview=found)
    shown = " ".join(re.sub(r"<[^>]+>", " ", client.get(f"/jobs/{job.pk}/live/").content.decode()).split())
    assert "Measured before the run" in shown
    assert "Values of p 41" in shown
