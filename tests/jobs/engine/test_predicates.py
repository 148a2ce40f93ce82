"""Our Column and Spark's own reading of the same text mean the same: equal analysed plans, for thousands of texts."""

import os
import random
import time
from collections.abc import Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from jobs.domain.errors import CommandRefused
from jobs.domain.predicates import patterns, tree
from jobs.domain.predicates.printing import to_text
from jobs.domain.predicates.schema import Field, Schema
from jobs.domain.predicates.stored import from_json, to_json
from jobs.engine.predicates import column_of
from jobs.predicates.reading import parse
from tests.jobs.predicates.making import DDL, SCHEMA, Maker

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

FULL = os.environ.get("LEVEE_SOAK_SIZE") == "full"
TEXTS = 5_000 if FULL else 1_000
PROMISED_S = 20
BATCH = 100


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
            parsed = parse(text, SCHEMA)
        except CommandRefused:
            continue
        if not any(map(is_rewritten, tree.walk(parsed))):
            found.append(text)
    return found


def is_rewritten(node) -> bool:
    """A LIKE that Spark gets as a regular expression of ours: another plan, compared by its answers below."""
    return isinstance(node, tree.Like) and patterns.regex(node.pattern, node.escape) is not None


def different(frame, session, found: list[str]) -> Iterator[str]:
    """The texts whose analysed plans differ, or that Spark won't take; one plan of many columns, halved where it differs."""
    if same(frame, session, found):
        return
    if len(found) == 1:
        yield found[0]
        return
    middle = len(found) // 2
    yield from different(frame, session, found[:middle])
    yield from different(frame, session, found[middle:])


def same(frame, session, found: list[str]) -> bool:
    trees = [from_json(to_json(parse(text, SCHEMA))) for text in found]
    try:
        ours = frame.select(*[column_of(tree, session).alias(f"c{at}") for at, tree in enumerate(trees)])
        theirs = frame.select(*[F.expr(text).alias(f"c{at}") for at, text in enumerate(found)])
    except PySparkException:
        return False
    return bool(ours._jdf.queryExecution().analyzed().sameResult(theirs._jdf.queryExecution().analyzed()))


def test_spark_reads_the_texts_as_we_do(session, frame):
    found = texts(TEXTS)
    odd = [text for at in range(0, TEXTS, BATCH) for text in different(frame, session, found[at : at + BATCH])]
    assert odd == []


def test_the_printed_text_means_the_same_to_spark(session, frame):
    printed = [to_text(parse(text, SCHEMA)) for text in texts(300)]
    assert list(different(frame, session, printed)) == []


def test_the_comparison_sees_a_difference(session, frame):
    """A proof that could not fail would prove nothing."""
    tree = parse("n = 1", SCHEMA)
    ours = frame.select(column_of(tree, session).alias("c"))._jdf.queryExecution().analyzed()
    for other in ("n = 2", "n <> 1", "small = 1", "n = 1L"):
        theirs = frame.select(F.expr(other).alias("c"))._jdf.queryExecution().analyzed()
        assert not ours.sameResult(theirs), other


def test_a_struct_with_the_name_of_the_table_is_no_qualifier(session):
    schema = Schema((Field("orders", "struct", True, (Field("id", "int"),)), Field("id", "int")))
    frame = session.createDataFrame([((7,), 1)], "orders struct<id: int>, id int").alias("orders")
    assert frame.filter(column_of(parse("orders.id = 7", schema), session)).count() == 1


def test_a_long_chain_is_no_deep_plan(session, frame):
    tree = parse(" OR ".join(f"n = {number}" for number in range(1_000)), SCHEMA)
    assert frame.filter(column_of(tree, session)).count() == 0


def test_rows_of_a_predicate_are_read(session, engine, marks, report, tmp_path):
    path = str(tmp_path / "t")
    session.createDataFrame([(1, "FR"), (2, "DE"), (3, None)], "id int, country string").write.format("delta").save(
        path
    )
    schema = Schema((Field("id", "int"), Field("country", "string")))
    tree = to_json(parse("country IS NULL OR country = 'DE'", schema))
    answer = engine.read("rows", {"path": path, "columns": ["id"], "predicate": tree, "limit": 10}, marks, report)
    assert sorted(answer["rows"]) == [[2], [3]]


def test_a_pattern_of_many_wildcards_finds_the_same_as_sparks_own(session):
    """Texts and patterns of three characters, so that many fit in several ways."""
    chance = random.Random(71)
    letters = ["a", "b", "\n", "é", "\U0001f600", "."]
    made = ["".join(chance.choice(letters) for _ in range(chance.randrange(9))) for _ in range(150)]
    written = {
        "".join(chance.choice([*letters[:4], "%", "%", "_", "\\%"]) for _ in range(chance.randrange(2, 8)))
        for _ in range(900)
    }
    rewritten = sorted(p for p in written if patterns.regex(p, "\\") is not None)
    assert len(rewritten) > 200
    rows = session.createDataFrame([(text,) for text in made], "t string")
    ours = [column_of(tree.Like(tree.ColumnPath(("t",)), p, "\\"), session) for p in rewritten]
    theirs = [F.like(F.col("t"), F.lit(p), F.lit("\\")) for p in rewritten]
    for at in range(0, len(rewritten), BATCH):
        both = zip(ours[at : at + BATCH], theirs[at : at + BATCH], strict=True)
        for row in rows.select("t", *[F.struct(a.alias("a"), b.alias("b")) for a, b in both]).collect():
            odd = [p for p, found in zip(rewritten[at : at + BATCH], row[1:], strict=True) if found.a != found.b]
            assert odd == [], row.t


@pytest.mark.parametrize("pattern", ["%a%a%a%a%a%a%a%a%a%a%a%a%b", "%%%%%%%%%%%%b", "a%a%a%a%_b", "%a_%a_%a_%a_%b%"])
def test_no_pattern_holds_a_core_for_longer_than_its_text_is_long(session, pattern):
    """Tried in all the ways that it could fit, the text would take longer than a test may."""
    rows = session.range(1).select(F.repeat(F.lit("a"), 20_000).alias("t")).cache()
    started = time.monotonic()
    assert rows.filter(column_of(tree.Like(tree.ColumnPath(("t",)), pattern, "\\"), session)).count() == 0
    if FULL:
        assert time.monotonic() - started < PROMISED_S
