"""Asking for a conversion by name: what the catalog fills in, and what it has against the request."""

import shutil

import pytest

from jobs.models import Job
from tables.models import Table
from tests import factories
from tests.clients import caller

pytestmark = pytest.mark.django_db

SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
        {"name": "p", "type": "integer", "nullable": True, "metadata": {}},
    ],
}


@pytest.fixture
def lake(tmp_path):
    (tmp_path / "raw" / "p=1").mkdir(parents=True)
    (tmp_path / "raw" / "p=1" / "a.parquet").write_bytes(b"PAR1")
    return factories.RootFactory(name="lake", uri=str(tmp_path))


@pytest.fixture
def named(lake):
    """Names the directory, as the catalog's API does."""

    def give(**declared):
        body = {"name": "shop.raw", "path": f"{lake.uri}/raw", "source_format": "parquet", **declared}
        answer = caller("operator").post("/tables", body)
        assert answer.status_code == 201, answer.content
        return Table.objects.get(pk=answer.json()["id"])

    return give


def convert(name="shop.raw", **changes):
    return {"command": "convert", "name": name, "source_format": "parquet", "reason": "by its name", **changes}


def test_the_catalog_fills_in_what_it_knows(named):
    table = named(schema=SCHEMA, partition_columns=["p"])
    answer = caller("operator").post("/jobs", convert("Shop.RAW"))
    assert answer.status_code == 201
    job = Job.objects.get()
    assert (job.table_id, job.location) == (table.pk, table.path)
    given = job.parameters
    assert (given["name"], given["path"], given["location"]) == ("shop.raw", None, table.path)
    assert (given["declared_schema"], given["declared_partitions"]) == (SCHEMA, ["p"])


def test_an_entry_that_declares_nothing_fills_in_the_place_alone(named):
    table = named()
    caller("operator").post("/jobs", convert(partition_schema="p int"))
    given = Job.objects.get().parameters
    assert (given["location"], given["declared_schema"], given["declared_partitions"]) == (table.path, None, None)


def test_a_partition_schema_that_disagrees_is_400_in_deltas_words(named):
    named(schema=SCHEMA, partition_columns=["p"])
    operator = caller("operator")
    answer = operator.post("/jobs", convert(partition_schema="p string"))
    assert (answer.status_code, answer.json()["code"]) == (400, "partition_mismatch")
    assert "partition_schema" in answer.json()["fields"]
    engine = answer.json()["engine"]
    assert (engine["condition"], engine["sqlstate"]) == ("DELTA_UNEXPECTED_PARTITION_SCHEMA_FROM_USER", "KD009")
    assert Job.objects.count() == 0
    assert operator.post("/jobs", convert(partition_schema="p INTEGER")).status_code == 201


def test_the_same_key_and_body_is_the_same_request_though_the_entry_has_changed(named):
    table = named()
    operator = caller("operator")
    first = operator.post("/jobs", convert(partition_schema="p int"), **{"idempotency-key": "k"}).json()
    Table.objects.filter(pk=table.pk).update(catalog_entry={"schema": SCHEMA, "partition_columns": ["p"]})
    again = operator.post("/jobs", convert(partition_schema="p int"), **{"idempotency-key": "k"})
    assert (again.status_code, again.json()["id"]) == (200, first["id"])


@pytest.mark.parametrize("name", ["shop.none", "no name", "a.b.c", "shop.raw; DROP TABLE x"])
def test_no_such_name_is_404(named, name):
    named()
    answer = caller("operator").post("/jobs", convert(name))
    assert (answer.status_code, answer.json()["code"]) == (404, "no_table")


def test_a_name_whose_directory_is_gone_is_404(named):
    shutil.rmtree(named().path)
    answer = caller("operator").post("/jobs", convert())
    assert (answer.status_code, answer.json()["code"]) == (404, "no_table")


def test_a_stranger_does_not_learn_of_a_name(named):
    named()
    answer = caller("operator", root=factories.RootFactory()).post("/jobs", convert())
    assert (answer.status_code, answer.json()["code"]) == (404, "no_table")


def test_a_reader_asks_for_no_conversion(named):
    named()
    assert caller("viewer").post("/jobs", convert()).status_code == 403


@pytest.mark.parametrize(
    ("schema", "condition", "sqlstate"),
    [("p foo", "UNSUPPORTED_DATATYPE", "0A000"), ("p int; x", "PARSE_SYNTAX_ERROR", "42601")],
)
def test_a_partition_schema_that_spark_would_not_read_carries_its_words(lake, schema, condition, sqlstate):
    body = {"path": f"{lake.uri}/raw", "name": None, "partition_schema": schema}
    answer = caller("operator").post("/jobs", convert(**body))
    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["partition_schema"])
    engine = answer.json()["engine"]
    assert (engine["condition"], engine["sqlstate"]) == (condition, sqlstate)
