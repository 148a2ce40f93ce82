""" "Can't match" and "must match" of the log's preview against Spark: every predicate on every file of a table, in one job."""

import os
import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from urllib.parse import unquote

import pytest
from pyspark.sql import functions as F

from jobs.domain.errors import CommandRefused, EngineFailed
from jobs.domain.predicates.printing import to_text
from jobs.domain.predicates.schema import Schema
from jobs.domain.predicates.tree import Arithmetic, Call, Cast, Negative, Node, walk
from jobs.engine.errors import translate
from jobs.engine.predicates import column_of
from jobs.predicates.reading import parse
from jobs.predicates.table_schema import schema_of
from jobs.pruning.matching import match
from jobs.pruning.outcomes import Outcome
from jobs.pruning.prediction import Prediction, files_of, see
from tables.deltalog.read.problems import ProblemCode
from tables.deltalog.replay.log import open_log
from tables.deltalog.rules.schema import parse_schema
from tests.jobs.engine.foreign_logs import LAYOUTS as FOREIGN_LAYOUTS
from tests.jobs.engine.foreign_logs import Foreign, write_by_deltalake
from tests.jobs.predicates.making import Maker

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

DDL = (
    "id bigint not null, n int, small smallint, tiny tinyint, name string, Price decimal(10,2), big decimal(38,10), d double, f float, "
    "day date, moment timestamp, local timestamp_ntz, ok boolean, data binary, `we``ird.x` int, `a b` string, "
    "nested struct<x: int, deep: struct<`y z`: string>>, list array<int>"
)
PREDICATES = 200 if os.environ.get("LEVEE_SOAK_SIZE") == "full" else 100
# `make soak` proves it on thirty tables of every layout, the tests on one without partitions and one with.
TABLES = 30 if os.environ.get("LEVEE_SOAK_SIZE") == "full" else 2
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


def predicates(schema: Schema, seed: int, count: int = PREDICATES) -> list[Node]:
    """Trees that can't fail on a row: what a preview says of a job that fails is nobody's loss."""
    maker = Maker(random.Random(seed))
    found: list[Node] = []
    while len(found) < count:
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


# `make soak` proves it on thirty foreign tables, the tests on five: one of them by deltalake.
FOREIGN = 30 if os.environ.get("LEVEE_SOAK_SIZE") == "full" else 5
ASKED = 200 if os.environ.get("LEVEE_SOAK_SIZE") == "full" else 60


@pytest.mark.parametrize("seed", range(FOREIGN))
def test_nothing_wrong_is_said_of_tables_that_others_wrote(runtime, tmp_path, seed):
    chance, folder = random.Random(f"foreign {seed}"), tmp_path / "t"
    if seed % 5 == 4:
        write_by_deltalake(folder, chance)
    else:
        Foreign(folder, chance, FOREIGN_LAYOUTS[seed % len(FOREIGN_LAYOUTS)]).write()
    snapshot = open_log(str(folder)).snapshot(None, tmp_path / "files.arrow")
    assert snapshot.metadata
    assert snapshot.complete
    assert {problem.code for problem in snapshot.problems} <= {ProblemCode.OUTSIDE, ProblemCode.ODD}
    struct = parse_schema(snapshot.metadata.schema_json)
    schema = schema_of(struct)
    trees = predicates(schema, seed, ASKED)
    truth = spark_truth(runtime.new_session(), str(folder), trees)
    files = files_of(snapshot, struct, schema)
    names = [file_name(path) for path in files.table.column("path").to_pylist()]
    assert set(names) == set(truth)
    wrong: list = []
    for at, tree in enumerate(trees):
        counts = {name: truth[name][at] for name in names}
        wrong += [(to_text(tree), *fault) for fault in faults(match(tree, files), names, counts)]
        wrong += [(to_text(tree), fault) for fault in false_sums(see(snapshot, struct, schema, tree)[0], counts)]
    assert wrong == []


# What a log may say so that Spark refuses the whole table: a delete of it fails, and says so by this name.
REFUSED = {
    "a path that is no URI": ("part%200", "part 0", "FAILED_EXECUTE_UDF"),
    "a feature in use that the protocol doesn't list": (
        '"invariants", ',
        "",
        "DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH",
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_table_that_spark_refuses_is_refused_by_name(runtime, tmp_path, why):
    said, instead, condition = REFUSED[why]
    Foreign(tmp_path / "t", random.Random(why), []).write()
    first = tmp_path / "t" / "_delta_log" / f"{0:020d}.json"
    assert said in first.read_text()
    for log in first.parent.glob("*.json"):
        log.write_text(log.read_text().replace(said, instead))
    for checkpoint in first.parent.glob("*.checkpoint.parquet"):
        checkpoint.unlink()
    assert open_log(str(tmp_path / "t")).snapshot(None, tmp_path / "files.arrow").num_files == 8
    with pytest.raises(EngineFailed) as caught, translate():
        runtime.new_session().read.format("delta").load(str(tmp_path / "t")).collect()
    assert caught.value.failure.condition == condition


def faults(outcome: Outcome, names: list[str], counts: dict[str, tuple[int, int]]) -> list[tuple]:
    """Where "can't" or "must" is wrong: the file, may, must, matching rows, all rows."""
    said = zip(names, outcome.true.to_pylist(), outcome.must.to_pylist(), strict=True)
    found = [(name, may, must, *counts[name]) for name, may, must in said]
    return [fault for fault in found if (fault[3] and not fault[1]) or (fault[1] and fault[2] and fault[3] < fault[4])]


def false_sums(said: Prediction, counts: dict[str, tuple[int, int]]) -> list[str]:
    """What of a prediction's numbers and words the counts disprove."""
    matching, rows = (sum(pair[part] for pair in counts.values()) for part in (0, 1))
    disproved = {
        "exact": said.rows_matched_exact and said.rows_matched != matching,
        "at most": said.rows_matched is not None and said.rows_matched < matching,
        "at least": said.rows_least is not None and said.rows_least > matching,
        "whole table": said.kind == "whole_table" and matching < rows,
        "nothing": said.branch == "nothing" and matching > 0,
    }
    return [f"{word}: {matching} of {rows}, said {said}" for word, is_false in disproved.items() if is_false]


def file_name(path: str) -> str:
    return unquote(path).rsplit("/", 1)[-1]


def spark_truth(session, path, trees) -> dict[str, list[tuple[int, int]]]:
    """Matching rows and all rows, per file and predicate."""
    frame = session.read.format("delta").load(path)
    counts = [F.count_if(column_of(tree, session)).alias(f"c{at}") for at, tree in enumerate(trees)]
    name = F.element_at(F.split(F.input_file_name(), "/"), -1)
    found = frame.groupBy(name.alias("file")).agg(F.count(F.lit(1)).alias("rows"), *counts).collect()
    return {unquote(row["file"]): [(row[f"c{at}"], row["rows"]) for at in range(len(trees))] for row in found}
