"""The page that changes a schema: its fields, its list of changes, what the log says of them, the request."""

import html as markup
import json
import re

import pytest
from django.db.models.functions import Now

from jobs.commands.alter_schema.log.preview import with_counts
from jobs.commands.registry import shortfall
from jobs.domain.results import Result
from jobs.models import Job
from tests import factories
from tests.clients import browser
from tests.jobs import small_delta

ADD = {"add": {"path": "note", "type": "string"}}
ERROR = {
    "code": "constraint_violated",
    "message": "3 rows",
    "engine": None,
    "table_state": "nothing was committed",
    "what_to_do": "mend",
}


@pytest.fixture
def client(db):
    return browser(factories.person_with("operator"))


def url(table):
    return f"/tables/{table.pk}/schema/change/"


def shown(answer):
    return " ".join(markup.unescape(answer.content.decode()).split())


def test_an_empty_page_asks_for_a_change_and_refuses_nothing(client, sales):
    answer = client.get(url(sales))
    assert answer.status_code == 200
    assert answer.context["preview"] is None
    assert "No change yet" in shown(answer)


def test_what_is_filled_in_is_previewed_as_a_difference(client, sales):
    answer = client.post(url(sales), {"kind": "add", "path": "note", "type": "decimal(5,2)", "after": "id"})
    [line] = answer.context["preview"]["diff"][:1]
    assert (line["kind"], line["column"], line["after"]) == ("added", "note", "decimal(5,2)")
    assert "Add the column note of type decimal(5,2), after id" in shown(answer)
    assert "Needs no approval" in shown(answer)
    assert "An added column can’t be dropped again before the table has column mapping" in shown(answer)
    assert "Source" in shown(answer)


def test_what_follows_the_typing_is_on_the_page(client, sales):
    """An id that isn't there would leave the approvals of an earlier change in place, and htmx says nothing."""
    text = shown(client.get(url(sales)))
    for name in re.findall(r'hx-(?:select|select-oob|target)="#([\w-]+)"', text):
        assert f'id="{name}"' in text, name


def test_changes_are_kept_moved_and_removed(client, sales):
    kept = client.post(url(sales), {"kind": "add", "path": "note", "type": "string", "do": "add"})
    assert [change["text"] for change in kept.context["asked"].listed] == ["Add the column note of type string"]
    assert not kept.context["form"].begun
    changes = json.dumps([ADD, {"comment": {"path": "note", "text": "hi"}}])
    moved = client.post(url(sales), {"changes": changes, "kind": "add", "do": "up:2"})
    assert "cannot be resolved" in moved.context["preview_problem"].detail
    removed = client.post(url(sales), {"changes": changes, "kind": "add", "do": "remove:2"})
    assert json.loads(removed.context["asked"].changes_json) == [ADD]


def test_another_kind_has_other_fields(client, sales):
    answer = client.post(url(sales), {"kind": "rename", "path": "left over", "do": "kind"})
    assert list(answer.context["form"].fields) == ["path", "to"]
    assert answer.context["preview_problem"] is None


def offered(answer):
    return re.findall(r'<option value="([^"]*)"></option>', answer.content.decode().partition('id="wider"')[2])


@pytest.mark.parametrize(
    ("path", "types", "said"),
    [
        (
            "id",
            ["decimal(20,0)"],
            "id is bigint. It can widen to decimal(20,0), and to any decimal with at least 20 digits",
        ),
        ("p", [], "p can’t widen: string has no wider type in Delta."),
        ("nope", [], "A column with name `nope` cannot be resolved."),
        ("", [], "Name a column to see the types"),
    ],
)
def test_a_wider_type_is_one_that_the_column_can_widen_to_or_the_page_says_why_not(client, mapped, path, types, said):
    answer = client.post(url(mapped), {"kind": "widen", "path": path})
    assert offered(answer) == types
    assert said in shown(answer)


def test_wider_types_are_those_after_the_changes_so_far(client, mapped):
    changes = [{"add": {"path": "price", "type": "decimal(5,2)"}}, {"rename": {"path": "price", "to": "cost"}}]
    answer = client.post(url(mapped), {"changes": json.dumps(changes), "kind": "widen", "path": "cost"})
    assert offered(answer) == ["decimal(6,2)", "decimal(6,3)"]
    assert "at least 3 digits before the point and 2 after it" in shown(answer)


def test_the_wider_types_follow_the_typing_and_say_which_property_is_missing(client, sales):
    answer = client.post(url(sales), {"kind": "widen", "path": "id"})
    assert 'hx-select-oob="#definition-needs,#request-part,#widening"' in shown(answer)
    assert 'id="widening"' in shown(answer)
    assert 'list="wider"' in shown(answer)
    assert "The table needs delta.enableTypeWidening first." in shown(answer)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kind": "drop", "path": "id"}, "DELTA_UNSUPPORTED_DROP_COLUMN"),
        ({"kind": "widen", "path": "id", "type": "decimal(20,0)"}, "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP"),
        ({"kind": "add", "path": "ID", "type": "int"}, "FIELD_ALREADY_EXISTS"),
        ({"kind": "add", "path": "a", "type": "array<"}, "PARSE_SYNTAX_ERROR"),
        ({"kind": "cluster_by", "columns": "id"}, "DELTA_ALTER_TABLE_CLUSTER_BY_ON_PARTITIONED_TABLE_NOT_ALLOWED"),
        ({"kind": "add_constraint", "name": "c", "expression": "nope > 1"}, "nope"),
    ],
)
def test_what_delta_refuses_is_said_on_the_page(client, sales, given, said):
    answer = client.post(url(sales), {**given, "reason": "r", "do": "request"})
    assert answer.status_code == 400
    assert said in shown(answer)
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"kind": "rename", "path": "id", "to": "number"}, "delta.columnMapping.mode"),
        ({"kind": "widen", "path": "id", "type": "decimal(20,0)"}, "delta.enableTypeWidening"),
    ],
)
def test_the_property_that_a_change_needs_is_filled_in_on_its_page(client, sales, given, name):
    answer = client.post(url(sales), given)
    there = client.get(answer.context["properties_url"])
    assert name in [change["name"] for change in there.context["preview"]["changes"]]


def test_a_request_needs_a_change_and_a_reason(client, sales):
    assert "at least one change" in shown(client.post(url(sales), {"kind": "add", "do": "request", "reason": "r"}))
    answer = client.post(url(sales), {"changes": json.dumps([ADD]), "kind": "add", "do": "request", "reason": " "})
    assert answer.status_code == 400
    assert "Enter a reason" in shown(answer)
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    "last", [{"name": "c" * 256, "expression": "id > 0"}, {"name": "c", "expression": "id > 0\x00"}]
)
def test_a_change_that_the_form_refuses_is_not_left_out_of_the_request(client, sales, last):
    given = {"changes": json.dumps([ADD]), "kind": "add_constraint", **last, "reason": "r", "do": "request"}
    answer = client.post(url(sales), given)
    assert (answer.status_code, answer.context["preview_problem"].status) == (400, 400)
    assert not Job.objects.exists()


def test_changes_that_cannot_be_read_are_not_left_out_of_the_request(client, sales):
    given = {"changes": "[", "kind": "add", "path": "note", "type": "int", "reason": "r", "do": "request"}
    assert client.post(url(sales), given).status_code == 400
    assert not Job.objects.exists()


def test_the_button_makes_the_job_and_the_page_leads_back_with_the_same_changes(client, mapped):
    given = {"changes": json.dumps([ADD]), "kind": "drop", "path": "ID", "reason": "tidy", "do": "request"}
    answer = client.post(url(mapped), given)
    job = Job.objects.get()
    assert (answer.status_code, answer["location"]) == (302, f"/jobs/{job.pk}/")
    assert [next(iter(change)) for change in job.parameters["changes"]] == ["add", "drop"]
    assert job.parameters["changes"][1] == {"drop": {"path": "id"}}
    page = shown(client.get(f"/jobs/{job.pk}/"))
    assert "Change the schema of mapped in 2 steps" in page
    assert "What can’t be taken back" in page


@pytest.mark.parametrize("changes", ["[", "{}", "[1]", '[{"nope": {}}]', '[{"add": {"path": "x"}}]', "[" * 3000])
def test_changes_that_cannot_be_read_are_said_and_not_taken(client, sales, changes):
    answer = client.get(url(sales), {"changes": changes})
    assert answer.status_code == 200
    assert answer.context["asked"].changes == ()
    assert answer.context["preview_problem"].status == 400


def test_a_job_that_a_constraint_ended_leads_to_the_rows_that_violate_it(client, sales):
    client.post(
        url(sales), {"kind": "add_constraint", "name": "c", "expression": "id > 2", "reason": "r", "do": "request"}
    )
    job = Job.objects.get()
    assert "not counted yet" in shown(client.get(f"/jobs/{job.pk}/review/"))
    counted = with_counts(job.preview or {}, {"1": 3})
    Job.objects.filter(pk=job.pk).update(state="failed", preview=counted, error=ERROR, finished_at=Now())
    page = client.get(f"/jobs/{job.pk}/")
    link = f"/tables/{sales.pk}/rows/?version=0&amp;limit=20&amp;predicate=NOT%20%28%28id%20%3E%202%29%20%3C%3D%3E%20TRUE%29"
    assert link in page.content.decode()
    assert "Rows that violate c" in shown(page)


def test_a_job_that_made_some_of_its_changes_says_which_and_leads_to_the_others(client, mapped):
    changes = [ADD, {"comment": {"path": "note", "text": "hi"}}]
    client.post(url(mapped), {"changes": json.dumps(changes), "kind": "add", "reason": "r", "do": "request"})
    job = Job.objects.get()
    commits = [{"version": 1, "operation": "ADD COLUMNS"}]
    result = Result(1, "ADD COLUMNS", read_version=0, details={"text": "version 1: added.", "commits": commits})
    error = shortfall(job, result)
    Job.objects.filter(pk=job.pk).update(
        state="failed", version=1, result=result.as_json(), error=error, finished_at=Now()
    )
    page = client.get(f"/jobs/{job.pk}/")
    assert "1 of 2 changes are committed (version 1: Add the column note of type string)" in shown(page)
    again = page.context["again_url"]
    left = client.get(again)
    assert [change["text"] for change in left.context["asked"].listed] == ["Comment note with “hi”"]


def test_what_a_job_has_committed_leads_to_its_opposite(client, mapped):
    changes = [ADD, {"rename": {"path": "id", "to": "number"}}, {"comment": {"path": "note", "text": "hi"}}]
    client.post(url(mapped), {"changes": json.dumps(changes), "kind": "add", "reason": "r", "do": "request"})
    job = Job.objects.get()
    commits = [{"version": 1, "operation": "ADD COLUMNS"}, {"version": 2, "operation": "RENAME COLUMN"}]
    result = Result(2, "RENAME COLUMN", read_version=0, details={"text": "done", "commits": commits})
    assert client.get(f"/jobs/{job.pk}/").context.get("outcome", {}).get("opposite_url", "") == ""
    Job.objects.filter(pk=job.pk).update(state="succeeded", version=2, result=result.as_json(), finished_at=Now())
    page = client.get(f"/jobs/{job.pk}/")
    link = page.context["outcome"]["opposite_url"]
    assert f'id="to-opposite" class="btn" href="{link}"' in page.content.decode()
    asked = client.get(link).context["asked"]
    assert [change["text"] for change in asked.listed] == ["Rename the column number to id", "Drop the column note"]
    assert not asked.given.get("reason")
    viewer = browser(factories.person_with("viewer"))
    assert "to-opposite" not in viewer.get(f"/jobs/{job.pk}/").content.decode()


def test_what_no_change_takes_back_leads_nowhere(client, mapped):
    change = {"widen": {"path": "id", "type": "decimal(20,0)"}}
    client.post(url(mapped), {"changes": json.dumps([change]), "kind": "add", "reason": "r", "do": "request"})
    job = Job.objects.get()
    result = Result(1, "CHANGE COLUMN", read_version=0, details={"text": "done", "commits": [{"version": 1}]})
    Job.objects.filter(pk=job.pk).update(state="succeeded", version=1, result=result.as_json(), finished_at=Now())
    page = client.get(f"/jobs/{job.pk}/")
    assert page.context["outcome"]["opposite_url"] == ""
    assert "to-opposite" not in page.content.decode()


def test_many_long_changes_can_be_requested_again(client, mapped):
    """The server reads no address of more than 4,094 bytes."""
    changes = [{"comment": {"path": "id", "text": f"{number} " * 500}} for number in range(20)]
    client.post(url(mapped), {"changes": json.dumps(changes), "kind": "add", "reason": "r", "do": "request"})
    job = Job.objects.get()
    Job.objects.filter(pk=job.pk).update(state="failed", error=ERROR, finished_at=Now())
    again = client.get(f"/jobs/{job.pk}/").context["again_url"]
    assert len(again) < 1_000
    assert len(client.get(again).context["asked"].changes) == 20


@pytest.mark.parametrize("again", ["nope", "00000000-0000-0000-0000-000000000000"])
def test_a_job_that_is_not_there_is_not_requested_again(client, sales, again):
    assert client.get(url(sales), {"again": again}).status_code == 404


def test_a_job_of_another_table_is_not_requested_again(client, mapped, tmp_path):
    small_delta.create(tmp_path / "other", [{"id": 1, "p": "FR"}])
    other = factories.TableFactory(root=mapped.root, path=str(tmp_path / "other"), name="other")
    client.post(url(mapped), {"changes": json.dumps([ADD]), "kind": "add", "reason": "r", "do": "request"})
    assert client.get(url(other), {"again": str(Job.objects.get().pk)}).status_code == 404


def test_a_viewer_may_not(sales):
    assert browser(factories.person_with("viewer")).get(url(sales)).status_code == 403
