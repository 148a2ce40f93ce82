"""A tag's progress in Spark, read from another thread."""

from __future__ import annotations

from pyspark import SparkContext


def tasks(context: SparkContext, tag: str) -> tuple[int, int] | None:
    """(done, total) tasks of the active stages of the jobs with this tag; None when no stage is active."""
    tracker, own = context.statusTracker(), _stages(context, tag)
    active = [tracker.getStageInfo(stage_id) for stage_id in tracker.getActiveStageIds() if stage_id in own]
    done = sum(info.numCompletedTasks for info in active if info is not None)
    total = sum(info.numTasks for info in active if info is not None)
    return (done, total) if total else None


def holds_slots(context: SparkContext, tag: str) -> bool:
    """Whether a task of a job with this tag runs. A cancelled job ends at once, but its tasks only when they check for the cancel."""
    tracker = context.statusTracker()
    infos = [tracker.getStageInfo(stage_id) for stage_id in _stages(context, tag)]
    return any(info is not None and info.numActiveTasks for info in infos)


def _stages(context: SparkContext, tag: str) -> set[int]:
    """The stages of all jobs with this tag, not of their group: a streaming query has a group of its own, and keeps the tags."""
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job_id) for job_id in context._jsc.sc().statusTracker().getJobIdsForTag(tag)]
    return {stage_id for job in jobs if job is not None for stage_id in job.stageIds}


def has_executors(context: SparkContext) -> bool:
    """Whether a task could run now: always in local mode, else when an executor beside the driver is registered.

    With dynamic allocation, a cluster rightly gives none to a driver that has no tasks: then only work that waits counts as without.
    """
    if context.master.startswith("local"):
        return True
    if registered(context) > 1:
        return True
    dynamic = context._jsc.sc().conf().getBoolean("spark.dynamicAllocation.enabled", False)
    return bool(dynamic) and not context.statusTracker().getActiveStageIds()


def registered(context: SparkContext) -> int:
    """The number of block managers, including the driver's. Spark's own threads must answer, so a hung JVM doesn't return."""
    return int(context._jsc.sc().getExecutorMemoryStatus().size())
