"""A vacuum by the API: its prediction, and what Delta would refuse."""

from pathlib import Path

import pytest

from console.audit.actor import Actor
from jobs.models import Job, Stream
from jobs.streams import acts
from tables.sync import log_access
from tests import factories
from tests.clients import caller
from tests.jobs import small_delta
from tests.jobs.web.commands.vacuum.conftest import old_table


def ask(who, table, **more):
    return who.post("/jobs", {"command": "vacuum", "table": str(table.pk), "reason": "r", **more})


def test_the_api_answers_with_the_prediction(sales):
    answer = ask(caller("operator"), sales)
    assert answer.status_code == 201
    preview = answer.json()["preview"]
    assert (preview["class"], preview["files"], preview["untracked_files"]) == ("ordinary", 2, None)
    assert (preview["dying_versions"], preview["first_readable_after"], preview["needed_by"]) == ([], 2, [])
    assert "table_id" not in preview


def test_less_than_seven_days_is_a_class_of_its_own_and_names_the_versions_that_die(sales):
    answer = ask(caller("operator"), sales, retention_hours=12)
    assert answer.status_code == 201
    preview = answer.json()["preview"]
    assert (preview["class"], preview["files"]) == ("short_retention", 6)
    assert (preview["dying_versions"], preview["first_readable_after"]) == ([[2, 2]], 3)


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"retention_hours": -1}, 400), ({"retention_hours": 1_000_000}, 400), ({"retention_hours": 1.5}, 400),
        ({"retention_hours": "168"}, 400), ({"retention_hours": True}, 400), ({"lite": 1}, 400), ({"days": 7}, 400),
        ({"retention_hours": 0}, 201), ({"retention_hours": None, "lite": True}, 201),
    ],
)  # fmt: skip
def test_odd_retentions_are_400(sales, given, status):
    answer = ask(caller("operator"), sales, **given)
    assert answer.status_code == status
    assert Job.objects.exists() == (status == 201)


def test_a_negative_retention_has_delta_s_condition(sales):
    engine = ask(caller("operator"), sales, retention_hours=-1).json()["engine"]
    assert engine["condition"] == "DELTA_VACUUM_RETENTION_PERIOD_NEGATIVE"


def test_shorter_than_the_table_keeps_is_refused_as_delta_refuses_it(db, tmp_path):
    old_table(tmp_path / "long", {"delta.deletedFileRetentionDuration": "interval 30 days"})
    table = factories.TableFactory(root=factories.RootFactory(uri=str(tmp_path)), path=str(tmp_path / "long"))
    answer = ask(caller("operator"), table, retention_hours=200)
    assert (answer.status_code, answer.json()["engine"]["condition"]) == (
        400,
        "DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT",
    )
    assert ask(caller("operator"), table, retention_hours=720).status_code == 201


def test_hours_below_what_a_stream_needs_are_refused(sales):
    log_access.sync(sales.pk)
    olga = factories.person_with("operator")
    asked = {"source": {"table": str(sales.pk)}, "target": {"path": f"{sales.root.uri}/copy"}, "output_mode": "append"}
    stream = acts.create(Actor.acting_for(olga), "copy", "a copy", asked)
    Stream.objects.filter(pk=stream.pk).update(query_id="q", reads_from=3)
    answer = ask(caller("operator"), sales, retention_hours=12)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert "keep at least 25 hours" in answer.json()["detail"]
    assert not Job.objects.filter(command="vacuum").exists()
    assert ask(caller("operator"), sales, retention_hours=25).status_code == 201


def protocol(table, *features: str) -> None:
    """Another writer's upgrade: the table now needs these features."""
    names = list(features)
    action = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": names, "writerFeatures": names}
    small_delta.commit(Path(table.path), "UPGRADE PROTOCOL", [{"protocol": action}])


def test_a_table_that_its_catalog_manages_is_refused(sales):
    protocol(sales, "catalogManaged", "vacuumProtocolCheck")
    answer = ask(caller("operator"), sales)
    assert (answer.status_code, answer.json()["code"]) == (422, "catalog_managed")
    assert not Job.objects.exists()


def test_one_whose_readers_and_writers_check_the_protocol_is_not(sales):
    protocol(sales, "vacuumProtocolCheck")
    assert ask(caller("operator"), sales).status_code == 201


def test_a_retention_of_the_table_that_is_no_length_is_refused(db, tmp_path):
    text = "interval -1 days"
    old_table(tmp_path / "odd", {"delta.deletedFileRetentionDuration": text})
    table = factories.TableFactory(root=factories.RootFactory(uri=str(tmp_path)), path=str(tmp_path / "odd"))
    for hours in (None, 168):
        answer = ask(caller("operator"), table, retention_hours=hours)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
        assert f"“{text}”, which is no interval" in answer.json()["detail"]


def test_what_is_no_delta_table_is_refused_in_delta_s_words(db, tmp_path):
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.parquet").write_bytes(b"PAR1")
    root = factories.RootFactory(uri=str(tmp_path))
    table = factories.TableFactory(root=root, path=str(tmp_path / "plain"), format="parquet")
    answer = ask(caller("operator"), table)
    assert (answer.status_code, answer.json()["engine"]["condition"]) == (400, "DELTA_MISSING_DELTA_TABLE")
