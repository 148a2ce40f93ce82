"""A dropped feature by the API: its steps and the protocol afterwards, and what Delta would refuse."""

from pathlib import Path

import pytest

from jobs.models import Job
from tests import factories
from tests.clients import caller
from tests.jobs import small_delta


@pytest.fixture
def sales(db, tmp_path):
    """A table with checkConstraints in its protocol."""
    root = factories.RootFactory(uri=str(tmp_path))
    small_delta.create(tmp_path / "sales", [{"id": 1, "p": "FR"}], writer=3)
    return factories.TableFactory(root=root, path=str(tmp_path / "sales"), name="sales")


def ask(who, sales, **more):
    return who.post("/jobs", {"command": "drop_feature", "table": str(sales.pk), "reason": "r", **more})


def test_the_api_answers_with_the_steps_and_the_protocol(sales):
    answer = ask(caller("operator"), sales, feature="checkconstraints")
    assert answer.status_code == 201
    preview = answer.json()["preview"]
    assert (preview["class"], preview["way"], preview["violating_rows"]) == ("irreversible", "plain", None)
    assert preview["before"]["features"] == ["appendOnly", "checkConstraints", "invariants"]
    assert preview["after"]["features"] == ["appendOnly", "invariants"]
    assert preview["protocol_after"]["min_writer_version"] == 2
    assert len(preview["steps"]) == 2
    assert preview["ask_again_after"] is None
    assert Job.objects.get().parameters["feature"] == "checkConstraints"


@pytest.mark.parametrize(
    ("given", "condition"),
    [
        ({"feature": "nosuch"}, "DELTA_FEATURE_DROP_UNSUPPORTED_CLIENT_FEATURE"),
        ({"feature": "appendOnly"}, "DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE"),
        ({"feature": "deletionVectors"}, "DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT"),
        ({"feature": "timestampNtz"}, "DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT"),
        ({"feature": "delta.enableDeletionVectors"}, "DELTA_FEATURE_DROP_FEATURE_IS_DELTA_PROPERTY"),
        (
            {"feature": "checkConstraints", "truncate_history": True},
            "DELTA_FEATURE_DROP_HISTORY_TRUNCATION_NOT_ALLOWED",
        ),
    ],
)
def test_the_api_refuses_with_delta_s_condition(sales, given, condition):
    answer = ask(caller("operator"), sales, **given)
    assert (answer.status_code, answer.json()["engine"]["condition"]) == (400, condition)
    assert not Job.objects.exists()


def test_constraints_go_before_their_feature(sales, tmp_path):
    small_delta.create(
        tmp_path / "checked", [{"id": 1, "p": "FR"}], {f"delta.constraints.{n}": "id > 0" for n in "ba"}, writer=3
    )
    checked = factories.TableFactory(root=sales.root, path=str(tmp_path / "checked"), name="checked")
    answer = ask(caller("operator"), checked, feature="checkConstraints")
    assert (answer.status_code, answer.json()["engine"]["condition"]) == (
        400,
        "DELTA_CANNOT_DROP_CHECK_CONSTRAINT_FEATURE",
    )
    assert "must be dropped first: `a`, `b`." in answer.json()["detail"]
    assert not Job.objects.exists()


def test_columns_get_plain_names_before_column_mapping_goes(sales):
    mapped = {"minReaderVersion": 2, "minWriterVersion": 7, "writerFeatures": ["columnMapping"]}
    small_delta.commit(Path(sales.path), "UPGRADE PROTOCOL", [{"protocol": mapped}])
    inner = {"type": "struct", "fields": [{**small_delta.FIELDS[0], "name": "x;y"}]}
    odd = [{**small_delta.FIELDS[0], "name": "a b"}, {**small_delta.FIELDS[0], "name": "s", "type": inner}]
    small_delta.reshape(Path(sales.path), {"type": "struct", "fields": [*small_delta.FIELDS, *odd]})
    answer = ask(caller("operator"), sales, feature="columnMapping")
    condition = "DELTA_INVALID_COLUMN_NAMES_WHEN_REMOVING_COLUMN_MAPPING"
    assert (answer.status_code, answer.json()["engine"]["condition"]) == (400, condition)
    assert "Invalid column names: a b, s.x;y." in answer.json()["detail"]


def test_a_table_that_its_catalog_manages_is_refused(sales):
    names = ["catalogManaged", "vacuumProtocolCheck"]
    action = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": names, "writerFeatures": names}
    small_delta.commit(Path(sales.path), "UPGRADE PROTOCOL", [{"protocol": action}])
    for given in (
        {"feature": "catalogManaged"},
        {"command": "set_properties", "set": {"team": "me"}, "unset": []},
    ):
        answer = caller("operator").post(
            "/jobs", {"command": "drop_feature", "table": str(sales.pk), "reason": "r", **given}
        )
        assert (answer.status_code, answer.json()["code"]) == (422, "catalog_managed")
    assert not Job.objects.exists()


def test_a_feature_without_a_name_is_400(sales):
    assert "feature" in ask(caller("operator"), sales, feature=" ").json()["fields"]
