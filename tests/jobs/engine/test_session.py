"""A job's session: nothing of it reaches the next; cancel ends what runs and nothing else."""

import shutil
import threading

import pytest
from delta.tables import DeltaTable
from pyspark.sql import functions as F

from jobs.domain.engine import Marks
from jobs.domain.errors import EngineCancelled, EngineFailed
from jobs.engine.config import cached_logs, driver_memory
from jobs.engine.errors import translate
from jobs.engine.runtime import DROPPED_FUNCTIONS
from jobs.engine.session import TXN_APP_ID, USER_METADATA, job_session
from tests.factories import lakes
from tests.jobs.engine.fixtures import MEMORY_BYTES
from tests.patience import wait_for

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

SLOW = "SELECT count(*) FROM range(0, 1000000000000, 1, 2) WHERE sqrt(id) = -1"


def test_settings_marks_and_tags_end_with_the_job(runtime, marks):
    with job_session(runtime, marks) as session:
        context = session.sparkContext
        session.conf.set("spark.sql.shuffle.partitions", "77")
        assert session.conf.get(TXN_APP_ID) == f"levee:{marks.job}"
        assert set(context.getJobTags()) == {marks.tag}
        assert context.getLocalProperty("spark.jobGroup.id") == marks.tag
    other = runtime.new_session()
    assert other.conf.get("spark.sql.shuffle.partitions") != "77"
    assert other.conf.get(USER_METADATA, None) is None
    assert set(context.getJobTags()) == set()
    assert context.getLocalProperty("spark.jobGroup.id") is None
    jvm = other._jvm.org.apache.spark.sql.classic.SparkSession
    assert jvm.getActiveSession().isEmpty()


def test_a_note_travels_with_the_marks(runtime, marks):
    with job_session(runtime, marks, note="by hand") as session:
        assert '"note": "by hand"' in session.conf.get(USER_METADATA)


def test_what_fails_inside_leaves_nothing_behind_either(runtime, marks):
    with pytest.raises(EngineFailed), job_session(runtime, marks) as session:
        session.sql("SELECT 1 / 0").collect()
    assert set(session.sparkContext.getJobTags()) == set()


def test_time_and_ansi_are_pinned(sql):
    assert sql("SELECT current_timezone() AS zone")[0].zone == "UTC"
    with pytest.raises(EngineFailed) as caught, translate():
        sql("SELECT CAST('x' AS int)")
    assert caught.value.failure.condition == "CAST_INVALID_INPUT"


def test_environment_variables_are_not_expanded(sql):
    assert sql("SELECT '${env:HOME}' AS text")[0].text == "${env:HOME}"


@pytest.mark.parametrize("name", DROPPED_FUNCTIONS)
def test_functions_that_call_java_are_gone(sql, name):
    with pytest.raises(EngineFailed) as caught, translate():
        sql(f"SELECT {name}('java.lang.System', 'currentTimeMillis')")
    assert caught.value.failure.condition == "UNRESOLVED_ROUTINE"


def test_cancel_ends_one_tag_and_spares_the_others(engine, runtime):
    ours, other = Marks("cancel-ours", 1, None), Marks("cancel-other", 1, None)
    outcome = {}

    def run(marks):
        try:
            with job_session(runtime, marks) as session:
                session.sql(SLOW).collect()
        except EngineCancelled as error:
            outcome[marks.job] = error

    threads = {marks.job: threading.Thread(target=run, args=(marks,)) for marks in (ours, other)}
    for thread in threads.values():
        thread.start()
    try:
        wait_for(lambda: engine.progress(ours.tag) and engine.progress(other.tag), "both jobs have tasks", 15.0)
        done, total = engine.progress(ours.tag)
        assert 0 <= done <= total
        engine.cancel(ours.tag)
        wait_for(lambda: not threads[ours.job].is_alive(), "the cancelled job's thread ends", 15.0)
        assert isinstance(outcome[ours.job], EngineCancelled)
        assert threads[other.job].is_alive()
    finally:
        for marks in (ours, other):
            while threads[marks.job].is_alive():
                engine.cancel(marks.tag)
                threads[marks.job].join(0.3)
    assert engine.progress(ours.tag) is None


def test_a_cancel_of_nothing_is_silent(engine):
    engine.cancel("levee-nobody-1")


def test_a_local_master_always_has_executors(engine):
    assert engine.has_executors() is True


def searches(runtime) -> bool:
    """Whether a task is within a regular expression now."""
    java = runtime.session._jvm.java
    threads = java.lang.Thread.getAllStackTraces().keySet()
    working = [thread.getId() for thread in threads if thread.getName().startswith("Executor task launch")]
    # The text of a thread has its first frames: asked one by one, they are gone before the last thread of a warm JVM is looked at.
    seen = java.lang.management.ManagementFactory.getThreadMXBean()
    return any("java.util.regex" in str(seen.getThreadInfo(number, 8)) for number in working)


def test_tasks_that_go_on_after_a_cancel_are_seen_until_they_end(engine, runtime):
    """Java's regular expressions never look up from their work; here it lasts some seconds."""
    marks, outcome = Marks("deaf", 1, None), {}

    def run():
        try:
            with job_session(runtime, marks) as session:
                text = F.repeat(F.lit("a"), F.col("id").cast("int") + 60)  # no constant: a task works it out
                session.range(1).select(F.like(text, F.lit("%a" * 6 + "%b"))).collect()
        except EngineCancelled as cancelled:
            outcome["ended"] = cancelled

    thread = threading.Thread(target=run)
    thread.start()
    wait_for(lambda: engine.busy(marks.tag) and searches(runtime), "both search", 15.0)
    while thread.is_alive():
        engine.cancel(marks.tag)
        thread.join(0.1)
    assert outcome
    assert engine.busy(marks.tag)
    wait_for(lambda: not engine.busy(marks.tag), "the tasks have ended", 60.0)


def test_the_heap_holds_the_logs_of_a_bounded_number_of_tables(runtime, tmp_path):
    """Each log that Delta keeps holds on to the session that loaded it."""
    bound = cached_logs(driver_memory(MEMORY_BYTES))
    table = lakes.delta(tmp_path / "table", {"id": [1]})
    for number in range(bound + 10):
        copy = shutil.copytree(table, tmp_path / str(number))
        with job_session(runtime, Marks(f"look-{number}", 1, None)) as session:
            DeltaTable.forPath(session, str(copy))
    logs = getattr(getattr(session._jvm.org.apache.spark.sql.delta, "DeltaLog$"), "MODULE$")
    assert 0 < logs.cacheSize() <= bound
