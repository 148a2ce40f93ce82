"""`POST /previews`: the log's answer at once, for those who may read rows; what can't be said with certainty isn't."""

import json

import pytest

from tests import factories
from tests.clients import Caller, caller
from tests.factories import lakes
from tests.jobs.pruning.tables import add, stats

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(tmp_path):
    return factories.RootFactory(uri=str(tmp_path))


@pytest.fixture
def make(root):
    """Writes a table below the root; answers its catalog entry, which has never been synced."""
    return lambda **more: lakes.log_alone(root, **more)


def asked(table, predicate, who="viewer"):
    return caller(who).post("/previews", {"table": str(table.pk), "predicate": predicate})


def test_it_answers_at_once_from_the_log(make):
    table = make()
    answer = asked(table, "N > 15 and Country in ('DE')")
    assert answer.status_code == 200
    found = answer.json()
    assert found.pop("why")
    assert found.pop("notes")
    assert {said["code"] for said in found.pop("consequences")} == {"readable_until", "bytes_stay"}
    assert found == {
        "table": str(table.pk), "predicate": "n > 15 AND country IN ('DE')", "class": "ordinary", "branch": "rewrite",
        "files_total": 2, "files_matched": 1, "files_whole": 0, "bytes_matched": 200, "files_to_rewrite": 1,
        "bytes_to_rewrite": 200, "rows_matched": 20, "rows_matched_exact": False, "rows_least": 0, "partitions": 1,
        "measured_at_version": 0, "speed": "log", "rows_total": 30, "rows_copied": None, "rows_hash": None,
        "table_id": "5b7e3a8e-0000-4000-8000-000000000001", "skipping": {"bounds": 0, "nan": 0},
    }  # fmt: skip


def test_it_says_how_many_files_delta_would_skip_though_rows_may_match(make):
    table = make(files=[add(0, stats(30, {"n": 9}, {"n": 1}, {"n": 0}), {"country": "DE"})])
    found = asked(table, "n = 5").json()
    assert (found["files_matched"], found["skipping"]) == (1, {"bounds": 1, "nan": 0})
    assert "may miss rows of 1 file" in " ".join(found["notes"])


def test_null_is_the_whole_table(make):
    found = asked(make(), None).json()
    assert (found["class"], found["branch"], found["rows_matched"]) == ("whole_table", "metadata_only", 30)
    assert found["predicate"] is None


def test_it_sees_what_came_since_the_last_sync(make, tmp_path):
    table = make()
    assert asked(table, "n > 100").json()["branch"] == "nothing"
    line = json.dumps(add(5, stats(1, {"n": 500}, {"n": 500}, {"n": 0}), {"country": "FR"}))
    (tmp_path / "table" / "_delta_log" / f"{1:020}.json").write_text(line)
    found = asked(table, "n > 100").json()
    assert (found["measured_at_version"], found["files_matched"]) == (1, 1)


@pytest.mark.parametrize(
    ("predicate", "position"),
    [
        ("nope = 1", 1),
        ("n = 1 OR 1 = 1", 10),
        ("n = 1; DROP TABLE x", 6),
        ("", 1),
        ("n IN (SELECT 1)", 7),
        ("n < now()", 5),
    ],
)
def test_a_predicate_is_refused_with_its_place_and_the_accepted_way(make, predicate, position):
    answer = asked(make(), predicate)
    assert (answer.status_code, answer.json()["code"]) == (400, "predicate_refused")
    assert answer.json()["place"] == f"position {position}"
    assert answer.json()["reason"]
    assert answer.json()["remedy"]
    assert "predicate" in answer.json()["fields"]


@pytest.mark.parametrize(
    "body", [{}, {"predicate": None}, {"table": "x", "predicate": None}, {"predicate": 5}, {"exact": True}]
)
def test_an_odd_question_is_400(make, body):
    body = {"table": str(make().pk), **body} if body != {} else {}
    answer = caller("viewer").post("/previews", body)
    assert answer.status_code == (200 if body.get("predicate", 1) is None and body["table"] != "x" else 400)


def test_a_missing_predicate_is_no_whole_table(make):
    answer = caller("viewer").post("/previews", {"table": str(make().pk)})
    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["predicate"])


def test_an_append_only_table_is_refused_with_deltas_condition(make):
    answer = asked(make(properties={"delta.appendOnly": "true"}), "n = 1")
    assert (answer.status_code, answer.json()["code"]) == (422, "append_only")
    assert answer.json()["engine"]["condition"] == "DELTA_CANNOT_MODIFY_APPEND_ONLY"


def test_a_log_that_is_not_understood_gives_no_answer(make):
    answer = asked(make(features=["deletionVectors", "fromTheFuture"]), "n = 1")
    assert (answer.status_code, answer.json()["code"]) == (422, "unreadable")
    assert "fromTheFuture" in answer.json()["detail"]


def test_a_damaged_log_gives_no_answer(make, tmp_path):
    table = make()
    (tmp_path / "table" / "_delta_log" / f"{2:020}.json").write_text("{}")
    assert (asked(table, "n = 1").status_code, asked(table, "n = 1").json()["code"]) == (422, "unreadable")


def test_a_parquet_directory_has_nothing_to_delete_from(root, tmp_path):
    (tmp_path / "plain").mkdir()
    table = factories.TableFactory(root=root, path=str(tmp_path / "plain"), name="plain")
    assert asked(table, None).json()["code"] == "not_delta"


def test_statistics_are_for_those_who_may_read_rows(make):
    table = make()
    assert asked(table, None, "admin").status_code == 403
    stranger = Caller(factories.person_with("viewer", root=factories.RootFactory()))
    assert stranger.post("/previews", {"table": str(table.pk), "predicate": None}).status_code == 404
