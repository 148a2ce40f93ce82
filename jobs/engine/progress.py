"""A tag's progress in Spark, read from another thread."""

from __future__ import annotations

from pyspark import SparkContext


def tasks(context: SparkContext, tag: str) -> tuple[int, int] | None:
    """(done, total) tasks of the active stages of the job group `tag`; None when no stage is active."""
    tracker = context.statusTracker()
    done = total = 0
    for stage_id in tracker.getActiveStageIds():
        info = tracker.getStageInfo(stage_id)
        if info is not None and _belongs(context, stage_id, tag):
            done += info.numCompletedTasks
            total += info.numTasks
    return (done, total) if total else None


def holds_slots(context: SparkContext, tag: str) -> bool:
    """Whether a task of the job group `tag` runs. A cancelled job ends at once, but its tasks only when they check for the cancel."""
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job_id) for job_id in tracker.getJobIdsForGroup(tag)]
    stages = {stage_id for job in jobs if job is not None for stage_id in job.stageIds}
    infos = [tracker.getStageInfo(stage_id) for stage_id in stages]
    return any(info is not None and info.numActiveTasks for info in infos)


def _belongs(context: SparkContext, stage_id: int, tag: str) -> bool:
    tracker = context.statusTracker()
    for job_id in tracker.getJobIdsForGroup(tag):
        info = tracker.getJobInfo(job_id)
        if info is not None and stage_id in info.stageIds:
            return True
    return False


def has_executors(context: SparkContext) -> bool:
    """Whether a task could run now: always in local mode, else when an executor beside the driver is registered."""
    if context.master.startswith("local"):
        return True
    return registered(context) > 1


def registered(context: SparkContext) -> int:
    """The number of block managers, including the driver's. Spark's own threads must answer, so a hung JVM doesn't return."""
    return int(context._jsc.sc().getExecutorMemoryStatus().size())
