""" "Can't match" and "must match" of the log's preview against Spark: every predicate on every file of a table, in one job."""

import os
import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from pyspark.sql import functions as F

from jobs.domain.errors import CommandRefused
from jobs.domain.predicates import Schema
from jobs.domain.predicates.tree import Arithmetic, Call, Cast, Negative, Node, walk
from jobs.engine.predicates import column_of
from jobs.predicates import parse, schema_of
from jobs.preview.matching import match
from jobs.preview.prediction import files_of
from tables.deltalog import open_log
from tables.deltalog.schema import parse_schema
from tests.jobs.predicates.making import Maker

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

DDL = (
    "id bigint not null, n int, small smallint, tiny tinyint, name string, Price decimal(10,2), big decimal(38,10), d double, f float, "
    "day date, moment timestamp, local timestamp_ntz, ok boolean, data binary, `we``ird.x` int, `a b` string, "
    "nested struct<x: int, deep: struct<`y z`: string>>, list array<int>"
)
PREDICATES = 200
# `make soak` proves it on thirty tables, the tests on one of each layout.
TABLES = 30 if os.environ.get("LEVEE_SOAK_SIZE") == "full" else 3
LAYOUTS: tuple[list[str], ...] = ([], ["day", "a b"], ["n"], ["ok", "name"], ["Price"])


def row(chance: random.Random, group: int) -> tuple:
    """Values close together within a file, so that files differ; NULLs, NaN, long texts and fractions of milliseconds among them."""

    def perhaps(value):
        return None if chance.random() < (0.5 if group % 3 == 0 else 0) else value

    number = group * 20 + chance.randint(0, 15)
    text = chance.choice(["FR", "a", "ab", "b" * 40, "x%", "it's", "é %", ""])
    day = date(2020, 1, 1) + timedelta(days=number * 3)
    moment = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=number, microseconds=chance.randint(0, 10**7))
    return (
        number, perhaps(number), perhaps(number % 100), perhaps(number % 100), perhaps(text),
        perhaps(Decimal(number) + Decimal("0.50")), perhaps(Decimal(number)),
        perhaps(chance.choice([float(number), float("nan"), -0.0])), perhaps(number / 10), perhaps(day), perhaps(moment),
        perhaps(moment.replace(tzinfo=None)), perhaps(chance.random() < 0.5), perhaps(b"\x00\xff"), perhaps(number), perhaps(text),
        (perhaps(number), (perhaps(text),)), [1],
    )  # fmt: skip


def predicates(schema: Schema, seed: int) -> list[Node]:
    """Trees that can't fail on a row: what a preview says of a job that fails is nobody's loss."""
    maker = Maker(random.Random(seed))
    found: list[Node] = []
    while len(found) < PREDICATES:
        try:
            tree = parse(maker.condition(2), schema)
        except CommandRefused:
            continue
        if not any(may_fail(node) for node in walk(tree)):
            found.append(tree)
    return found


def may_fail(node: Node) -> bool:
    """The smallest number has no positive one: `abs` overflows as arithmetic does."""
    return isinstance(node, Arithmetic | Cast | Negative) or (isinstance(node, Call) and node.name == "abs")


@pytest.mark.parametrize("seed", range(TABLES))
def test_what_cant_match_doesnt_and_what_must_does(runtime, tmp_path, seed):
    session = runtime.new_session()
    path, chance, partitions = str(tmp_path / "t"), random.Random(seed), LAYOUTS[seed % len(LAYOUTS)]
    rows = [row(chance, group) for group in range(6) for _ in range(4)]
    frame = session.createDataFrame(rows, DDL).coalesce(1).sortWithinPartitions("id")
    session.conf.set("spark.sql.files.maxRecordsPerFile", "4")
    session.conf.set("spark.databricks.delta.properties.defaults.columnMapping.mode", "name")  # for the blanks in names
    frame.write.format("delta").partitionBy(*partitions).save(path)
    snapshot = open_log(path).snapshot(None, tmp_path / "files.arrow")
    assert snapshot.metadata
    struct = parse_schema(snapshot.metadata.schema_json)
    schema = schema_of(struct)
    trees = predicates(schema, seed)
    files = files_of(snapshot, struct, schema)
    truth = spark_truth(session, path, trees)
    names = [str(name).rsplit("/", 1)[-1] for name in files.table.column("path").to_pylist()]
    wrong, ruled_out = [], 0
    for at, tree in enumerate(trees):
        outcome = match(tree, files)
        for name, may, must in zip(names, outcome.true.to_pylist(), outcome.must.to_pylist(), strict=True):
            matching, total = truth[name][at]
            ruled_out += not may
            if (matching and not may) or (must and may and matching < total):
                wrong.append((tree, name, may, must, matching, total))
    assert wrong == []
    assert ruled_out > PREDICATES / 4  # a preview that never rules anything out would be sound as well


def spark_truth(session, path, trees) -> dict[str, list[tuple[int, int]]]:
    """Matching rows and all rows, per file and predicate."""
    frame = session.read.format("delta").load(path)
    counts = [F.count_if(column_of(tree, session)).alias(f"c{at}") for at, tree in enumerate(trees)]
    name = F.element_at(F.split(F.input_file_name(), "/"), -1)
    found = frame.groupBy(name.alias("file")).agg(F.count(F.lit(1)).alias("rows"), *counts).collect()
    return {row["file"]: [(row[f"c{at}"], row["rows"]) for at in range(len(trees))] for row in found}
