"""Our Column and Spark's own reading of the same text mean the same: equal analysed plans, for thousands of texts."""

import random

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from jobs.domain.errors import CommandRefused
from jobs.domain.predicates import to_text
from jobs.domain.predicates.stored import from_json, to_json
from jobs.engine.predicates import column_of
from jobs.predicates import parse
from tests.jobs.predicates.making import DDL, SCHEMA, Maker

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

TEXTS = 5_000


@pytest.fixture(scope="module")
def session(runtime):
    return runtime.new_session()


@pytest.fixture(scope="module")
def frame(session):
    return session.createDataFrame([], DDL)


def texts(count: int) -> list[str]:
    """Texts that Levee accepts; what it refuses (folding, types) is not ours to compare."""
    found: list[str] = []
    maker = Maker(random.Random(20201))
    while len(found) < count:
        text = maker.condition()
        try:
            parse(text, SCHEMA)
        except CommandRefused:
            continue
        found.append(text)
    return found


def test_spark_reads_the_texts_as_we_do(session, frame):
    rules = session._jvm.org.apache.spark.sql.catalyst.optimizer
    fold = getattr(getattr(rules, "ConstantFolding$"), "MODULE$")
    different = [text for text in texts(TEXTS) if not same(session, frame, fold, text)]
    assert different == []


def same(session, frame, fold, text) -> bool:
    """Analysed plans are equal; where a literal has a size of its own, equal once casts of literals are folded."""
    tree = from_json(to_json(parse(text, SCHEMA)))
    try:
        ours = frame.filter(column_of(tree, session))._jdf.queryExecution().analyzed()
        theirs = frame.filter(F.expr(text))._jdf.queryExecution().analyzed()
    except PySparkException as error:  # what Levee accepts, Spark must take
        print(text, error)
        return False
    return ours.sameResult(theirs) or fold.apply(ours).sameResult(fold.apply(theirs))


def test_the_printed_text_means_the_same_to_spark(session, frame):
    rules = session._jvm.org.apache.spark.sql.catalyst.optimizer
    fold = getattr(getattr(rules, "ConstantFolding$"), "MODULE$")
    printed = [to_text(parse(text, SCHEMA)) for text in texts(200)]
    assert [text for text in printed if not same(session, frame, fold, text)] == []


def test_a_struct_with_the_name_of_the_table_is_no_qualifier(session):
    frame = session.createDataFrame([((7,), 1)], "orders struct<id: int>, id int").alias("orders")
    tree = parse("orders.id = 7", schema_of_orders())
    assert frame.filter(column_of(tree, session)).count() == 1


def schema_of_orders():
    from jobs.domain.predicates import Field, Schema

    return Schema((Field("orders", "struct", True, (Field("id", "int"),)), Field("id", "int")))


def test_a_long_chain_is_no_deep_plan(session, frame):
    tree = parse(" OR ".join(f"n = {number}" for number in range(1_000)), SCHEMA)
    assert frame.filter(column_of(tree, session)).count() == 0
