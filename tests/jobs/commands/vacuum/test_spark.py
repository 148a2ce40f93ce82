"""VACUUM on real Delta: the plan is Delta's own dry run, the run deletes that and no more, and exactly the versions it names die."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from jobs.commands.vacuum.comparison import compare
from jobs.commands.vacuum.rules import Vacuum
from jobs.commands.vacuum.spark.measure import measured
from jobs.commands.vacuum.spark.plan import PlanOrder, planned
from jobs.commands.vacuum.spark.run import CHECK, COMMANDS, SETTINGS
from jobs.domain.comparison import Verdict
from jobs.domain.engine import UNCHECKED
from jobs.domain.errors import CommandRefused, EngineFailed
from jobs.engine.table_v2 import loaded_table
from jobs.worker.spark_engine import Silent
from tests.jobs.commands.vacuum.aged import DAY_MS, aged, now_ms
from tests.jobs.commands.vacuum.generated import changes, generated, history
from tests.jobs.engine.deltas import FEED, VECTORS, ids, make
from tests.jobs.engine.lake import commits

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]
LONG = pytest.mark.long
GONE = r"(?i)not.?exist|not.?found|no such file"


@pytest.fixture
def spark(runtime):
    """A session that is active in this thread: an engine's run before this test may have left none."""
    session = runtime.new_session()
    active = session._jvm.org.apache.spark.sql.classic.SparkSession
    active.setActiveSession(session._jsparkSession)
    yield session
    active.clearActiveSession()


def dry_run(session: Any, path: Path, hours: int | None, *, lite: bool = False) -> set[str]:
    """The paths below the table that Delta itself would delete."""
    for name, value in {**SETTINGS, CHECK: "false"}.items():
        session.conf.set(name, value)
    jvm = session._jvm
    none, some = jvm.scala.Option.empty(), jvm.scala.Some
    module = getattr(getattr(getattr(jvm, COMMANDS), "VacuumCommand$"), "MODULE$")
    metrics = getattr(getattr(jvm.scala.collection.immutable, "Map$"), "MODULE$").empty()
    clock = jvm.org.apache.spark.util.SystemClock()
    retention, kind = none if hours is None else some(float(hours)), some("LITE" if lite else "FULL")
    table = loaded_table(session, {"path": str(path)})
    found = module.gc(session._jsparkSession, table, True, retention, none, kind, metrics, clock)
    return {row.getString(0).removeprefix(f"file:{path}/") for row in found.collectAsList()}


def plan_of(path: Path, hours: int | None, *, lite: bool = False) -> set[str]:
    plan = planned(PlanOrder(str(path), hours, lite, now_ms()), Silent(), with_paths=True)
    return {*plan.paths, *plan.directories}


SEEDS = [*range(5), *(pytest.param(seed, marks=LONG) for seed in range(5, 20))]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_plan_is_deltas_own_dry_run(spark, tmp_path, seed):
    table = generated(tmp_path / "t", seed)
    path = table.path
    if seed % 2:
        loaded_table(spark, {"path": str(path)}).deltaLog().checkpoint()
    if seed % 3 == 1:  # commits after the checkpoint
        table.commit(changes(table, now_ms() - DAY_MS // 20), now_ms() - DAY_MS // 20)
    hours = (None, 24, 480, 2)[seed % 4]
    lite = seed % 5 == 4
    found = dry_run(spark, path, hours, lite=lite)
    assert plan_of(path, hours, lite=lite) == found
    assert found or lite


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20, 26))
def test_a_lite_plan_is_deltas_own_dry_run(spark, tmp_path, seed):
    path = generated(tmp_path / "t", seed).path
    assert plan_of(path, 24, lite=True) == dry_run(spark, path, 24, lite=True)


@pytest.fixture
def vacuum(engine, marks, report):
    """Previews and runs; answers prediction and result. `seen` stands for what was approved."""

    def do(path: Path, hours: int | None, *, lite: bool = False, **seen: Any):
        command = Vacuum("t", hours, lite, str(path))
        found = asdict(engine.preview(command, None, marks, report))
        preview = {**found, "measured_at_version": found["version"], "dying_versions": found["dying"]} | seen
        return preview, engine.run(command, preview, UNCHECKED, marks, report)

    return do


HISTORIES = {
    "deletes": [
        "DELETE FROM {t} WHERE id IN (3, 5)",
        "DELETE FROM {t} WHERE p = 1",
        "INSERT INTO {t} VALUES (50, 'x', 1)",
    ],
    "compaction": ["INSERT INTO {t} VALUES (50, 'x', 1)", "OPTIMIZE {t}", "DELETE FROM {t} WHERE id = 0"],
    # The restore drops the deletion vectors of the version before it.
    "restore": ["DELETE FROM {t} WHERE id IN (3, 4)", "RESTORE {t} TO VERSION AS OF 0", "DELETE FROM {t} WHERE p = 0"],
}


@pytest.mark.long
@pytest.mark.parametrize("name", HISTORIES)
def test_exactly_the_versions_that_it_names_die_of_a_table_by_spark(spark, tmp_path, vacuum, name):
    source = make(spark, tmp_path / "source", {**VECTORS, **FEED} if name == "restore" else FEED, files=2)
    # delta-rs reads no deletion vectors.
    read = partial(ids_by_spark, spark) if name == "restore" else ids
    for statement in HISTORIES[name]:
        spark.sql(statement.format(t=f"delta.`{source}`"))
    path = aged(source, tmp_path / "t", lambda version: (5, 4, 3, 1)[version])
    prove_which_die(path, 4, vacuum, 48, read)


def ids_by_spark(session: Any, path: Path, *, version: int) -> list[int]:
    rows = session.read.option("versionAsOf", version).format("delta").load(str(path)).select("id", "name").collect()
    return sorted(row.id for row in rows)


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=LONG) for seed in range(3, 30))])
def test_exactly_the_versions_that_it_names_die(tmp_path, vacuum, seed):
    table = history(tmp_path / "t", seed)
    prove_which_die(table.path, table.version, vacuum, (24, 48, 2)[seed % 3])


def prove_which_die(path: Path, versions: int, vacuum: Any, hours: int, read: Callable[..., list[int]] = ids) -> None:
    """Reads every version before and after a vacuum, with another engine unless told."""
    before = {version: read(path, version=version) for version in range(versions)}
    preview, result = vacuum(path, hours, **{"class": "short_retention"})
    assert (result.operation, result.version) == ("VACUUM END", versions + 1)
    assert (result.details["start_version"], result.read_version) == (versions, versions - 1)
    assert {line.verdict for line in compare(preview, result)} == {Verdict.SAME}
    assert result.details["proven"]
    dead = {version for first, last in preview["dying_versions"] for version in range(first, last + 1)}
    assert dead
    for version in range(versions):
        if version in dead:
            with pytest.raises((OSError, PySparkException, Py4JJavaError), match=GONE):
                read(path, version=version)
        else:
            assert read(path, version=version) == before[version]


def test_a_live_file_whose_name_the_log_spells_otherwise_than_hadoop_stays(spark, tmp_path, vacuum):
    """Delta compares the texts of two spellings, and would delete it: Levee gives it an inventory without the file."""
    table = history(tmp_path / "t", 3)
    at = now_ms() - 3 * DAY_MS
    action = table.add(at)
    live = next(name for name in table.live if table.named[name] == action["add"]["path"])
    action["add"]["path"] = action["add"]["path"].replace("=", "%3D")
    table.commit([action], at)
    path, version = table.path, table.version - 1
    rows = ids(path, version=version)
    assert live in dry_run(spark, path, 24)
    assert live not in plan_of(path, 24)
    _, result = vacuum(path, 24, **{"class": "short_retention"})
    assert (result.operation, result.details["proven"]) == ("VACUUM END", True)
    assert (path / live).is_file()
    assert ids(path, version=version) == rows
    assert sorted(row.id for row in spark.read.format("delta").load(str(path)).select("id").collect()) == rows


def test_without_the_class_delta_refuses_and_with_the_rest_of_its_plan_it_runs(spark, tmp_path, vacuum):
    path = generated(tmp_path / "t", 0).path
    count = len(commits(path))
    with pytest.raises(EngineFailed) as refused:
        vacuum(path, 2, **{"class": "ordinary"})
    assert refused.value.failure.condition == "DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT"
    assert len(commits(path)) == count
    expected = plan_of(path, 720)
    _, result = vacuum(path, 720, **{"class": "ordinary"})
    assert result.details["proven"]
    assert not [name for name in expected if (path / name).is_file()]
    with pytest.raises(CommandRefused, match="were approved"):
        vacuum(path, 2, **{"class": "short_retention", "files": 0})


def test_what_was_removed_since_the_preview_stays(spark, engine, marks, report, tmp_path):
    """Hours 0: all that no version needs goes, but nothing that one needed when it was approved."""
    table = history(tmp_path / "t", 1)
    path = table.path
    command = Vacuum("t", 0, path=str(path))
    found = asdict(engine.preview(command, None, marks, report))
    preview = {**found, "measured_at_version": found["version"], "dying_versions": found["dying"]}
    live = list(table.live)
    at = now_ms() - DAY_MS  # of a transaction that began a day ago and commits now
    table.commit([table.add(now_ms()), *(table.remove(name, at) for name in live)], now_ms())
    result = engine.run(command, {**preview, "class": "short_retention"}, UNCHECKED, marks, report)
    assert (result.operation, result.details["files"]) == ("VACUUM END", found["files"])
    assert result.details["same_files"]
    assert all((path / name).exists() for name in [*live, *table.live])
    assert ids(path, version=found["version"])


def test_a_clock_behind_that_of_the_preview_is_no_shorter_retention(tmp_path, vacuum):
    path = generated(tmp_path / "t", 0).path
    _, result = vacuum(path, None, **{"class": "ordinary", "planned_at_ms": now_ms() + 60_000})
    assert (result.operation, result.details["proven"]) == ("VACUUM END", True)


def test_a_lite_run_deletes_what_the_log_names_and_no_more(spark, tmp_path, vacuum):
    path = generated(tmp_path / "t", 1).path
    named, strays = plan_of(path, 24, lite=True), set(path.rglob("stray*"))
    assert named
    preview, result = vacuum(path, 24, lite=True, **{"class": "short_retention"})
    assert (result.operation, preview["listed"]) == ("VACUUM END", None)
    assert not [name for name in named if (path / name).is_file()]
    assert all(stray.exists() for stray in strays)


def test_no_delta_table_is_refused_in_these_words(spark, tmp_path):
    (tmp_path / "plain").mkdir()
    with pytest.raises(PySparkException) as refused:
        spark.sql(f"VACUUM delta.`{tmp_path}/plain`").collect()
    assert (refused.value.getCondition(), refused.value.getSqlState()) == ("DELTA_MISSING_DELTA_TABLE", "42P01")


def test_the_measure_is_the_plan_in_numbers(tmp_path):
    path = generated(tmp_path / "t", 2).path
    order = PlanOrder(str(path), None, False, now_ms())
    plan = planned(order, Silent(), with_paths=True)
    found = measured(plan, order)
    assert found.files == len(plan.paths) == sum(int(row["files"] or 0) for row in found.by_age)
    assert found.untracked_files >= 1
    assert found.bytes == 10 * found.files
    sizes = [row["bytes"] or 0 for row in found.curve]
    assert sizes == sorted(sizes, reverse=True)
