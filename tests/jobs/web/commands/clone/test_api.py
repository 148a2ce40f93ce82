"""A clone by the API: its prediction, where it may be made and where not, and for whom."""

import os
import time
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from jobs.models import Job
from tables.models import Table
from tests import factories
from tests.clients import caller
from tests.factories import lakes
from tests.jobs import small_delta


def ask(who, sales, target, **more):
    asked = {"command": "clone", "table": str(sales.pk), "target": str(target), "kind": "deep", "reason": "r"}
    return who.post("/jobs", asked | more)


@pytest.fixture
def olga(db):
    return caller("operator")


@pytest.mark.parametrize(("kind", "files", "size"), [("shallow", 0, False), ("deep", 3, True)])
def test_the_api_answers_with_the_prediction_and_a_job_of_the_new_table(olga, sales, tmp_path, kind, files, size):
    answer = ask(olga, sales, tmp_path / "copy", kind=kind)
    assert answer.status_code == 201
    preview = answer.json()["preview"]
    assert (preview["depth"], preview["files"], preview["rows"], preview["source_version"]) == (kind, 3, 11, 1)
    assert (preview["files_to_copy"], preview["bytes_to_copy"] > 0) == (files, size)
    assert not {"files_sha256", "table_id", "begins_empty", "reads"} & preview.keys()
    job = Job.objects.select_related("table").get()
    assert (job.location, job.table.path, job.table.name) == (str(tmp_path / "copy"), str(tmp_path / "copy"), "copy")
    assert (job.parameters["version"], job.parameters["source"]) == (1, sales.path)


def test_a_version_may_be_chosen(olga, sales, tmp_path):
    preview = ask(olga, sales, tmp_path / "copy", version=0).json()["preview"]
    assert (preview["files"], preview["rows"]) == (2, 10)
    assert "older_version" in [each["code"] for each in preview["consequences"]]
    left = datetime.fromisoformat(preview["readable_until"]) - timezone.now()
    assert timedelta(days=6, hours=23) < left <= timedelta(days=7)
    assert ask(olga, sales, tmp_path / "copy2").json()["preview"]["readable_until"] is None


def test_a_version_that_delta_reads_no_more_is_gone_before_spark_is_asked(olga, sales, tmp_path):
    long_ago = time.time() - 8 * 86_400
    os.utime(tmp_path / "sales" / "_delta_log" / f"{0:020d}.json", (long_ago, long_ago))
    answer = ask(olga, sales, tmp_path / "copy", version=0)
    assert (answer.status_code, answer.json()["code"]) == (410, "version_gone")
    assert "DELTA_UNSUPPORTED_TIME_TRAVEL" in str(answer.json())
    assert "(7 days) set on the table" in answer.json()["detail"]
    assert not Job.objects.exists()
    assert ask(olga, sales, tmp_path / "copy").status_code == 201


def test_the_names_of_check_constraints_are_told(olga, tmp_path):
    root = factories.RootFactory(uri=str(tmp_path))
    properties = {"delta.constraints.positive": "id > 0", "delta.appendOnly": "false"}
    small_delta.create(tmp_path / "checked", [{"id": 1, "p": "FR"}], properties, writer=3)
    table = factories.TableFactory(root=root, path=str(tmp_path / "checked"), name="checked")
    preview = ask(olga, table, tmp_path / "copy").json()["preview"]
    assert (preview["constraints"], preview["properties"]) == (["positive"], 2)


def test_odd_requests_are_400_and_their_field_is_named(olga, sales, tmp_path):
    answers = {
        "version": ask(olga, sales, tmp_path / "copy", version=2),
        "kind": ask(olga, sales, tmp_path / "copy", kind="deepest"),
        "target": ask(olga, sales, tmp_path / "sales" / "p=FR" / "copy"),
    }
    for field, answer in answers.items():
        assert answer.status_code in {400, 409}, answer.json()
        assert field in answer.json().get("fields", {field: ""})
    assert not Job.objects.exists()
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("version", ["1", 1.0, True, -1])
def test_a_version_is_a_whole_number(olga, sales, tmp_path, version):
    answer = ask(olga, sales, tmp_path / "copy", version=version)
    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["version"])
    assert not Job.objects.exists()


def test_half_a_character_as_a_choice_is_quoted_without_it(olga, sales, tmp_path):
    answer = ask(olga, sales, tmp_path / "copy", kind="\ud800")
    assert (answer.status_code, answer.json()["fields"]) == (400, {"kind": '"?" is not a valid choice.'})


def test_a_target_that_holds_anything_is_refused(olga, sales, tmp_path):
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "note.txt").write_text("mine")
    small_delta.create(tmp_path / "table", [{"id": 1, "p": "FR"}])
    for name, said in (("used", "it holds note.txt"), ("table", "is a Delta table")):
        answer = ask(olga, sales, tmp_path / name)
        assert (answer.status_code, answer.json()["code"]) == (422, "not_empty")
        assert said in answer.json()["detail"]


@pytest.mark.parametrize(
    ("where", "status"), [("sales", 422), ("sales/inside", 409), ("table/inside", 409), ("no/such", 404)]
)
def test_a_target_in_a_table_or_nowhere_is_refused(olga, sales, tmp_path, where, status):
    small_delta.create(tmp_path / "table", [{"id": 1, "p": "FR"}])
    assert ask(olga, sales, tmp_path / where).status_code == status
    assert not Job.objects.exists()


@pytest.mark.parametrize("where", ["files/inside", "files/deeper/inside", "files/p=3"])
def test_a_target_among_the_files_of_a_parquet_table_is_refused(olga, sales, tmp_path, where):
    """Its readers would take the clone's rows for its own."""
    lakes.parquet(tmp_path / "files" / "p=1" / "part-0.parquet", {"id": [1]})
    (tmp_path / "files" / "deeper").mkdir()
    entry = factories.TableFactory(root=sales.root, path=f"{tmp_path}/files", name="files", format="parquet")
    answer = ask(olga, sales, tmp_path / where)
    assert (answer.status_code, answer.json()["code"]) == (409, "inside_table")
    assert "inside the parquet table" in answer.json()["detail"]
    assert not (tmp_path / where).exists()
    for file in (tmp_path / "files").rglob("*.parquet"):
        file.unlink()
    assert entry.format == "parquet"
    (tmp_path / "files" / "p=3").mkdir(exist_ok=True)
    assert ask(olga, sales, tmp_path / where).status_code == 201


def test_a_link_on_the_way_is_refused(olga, sales, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    assert ask(olga, sales, tmp_path / "link" / "copy").status_code == 403
    assert ask(olga, sales, "/tmp/copy").status_code == 403
    assert not list((tmp_path / "elsewhere").iterdir())


def test_it_takes_an_operator_at_both_ends(sales, tmp_path):
    there = tmp_path.with_name(f"{tmp_path.name}-there")
    there.mkdir()
    other = factories.RootFactory(uri=str(there), name="there")
    who = caller("operator", root=sales.root)
    ana = who.person
    assert ask(who, sales, there / "copy").status_code == 403
    factories.GrantFactory(person=ana, role="viewer", root=other)
    assert ask(who, sales, there / "copy").json()["code"] == "forbidden"
    factories.GrantFactory(person=ana, role="operator", root=other)
    assert ask(who, sales, there / "copy").status_code == 201


def test_a_shallow_clone_is_not_cloned_again(olga, sales, tmp_path):
    file = {"path": f"file:{sales.path}/x.parquet", "partitionValues": {"p": "FR"}, "size": 5, "modificationTime": 0}
    small_delta.commit(tmp_path / "sales", "WRITE", [{"add": file | {"dataChange": True}}])
    answer = ask(olga, sales, tmp_path / "copy")
    assert (answer.status_code, answer.json()["code"]) == (422, "outside_roots")


def test_a_directory_that_a_withdrawn_clone_left_empty_is_taken(olga, sales, tmp_path):
    first = ask(olga, sales, tmp_path / "copy").json()
    assert ask(olga, sales, tmp_path / "copy").json()["code"] == "already_open"
    assert olga.post(f"/jobs/{first['id']}/withdraw", {}).status_code == 200
    (tmp_path / "copy").mkdir()
    assert ask(olga, sales, tmp_path / "copy").status_code == 201
    assert Table.objects.filter(path=str(tmp_path / "copy")).count() == 1
