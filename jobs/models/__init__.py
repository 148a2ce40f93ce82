"""The rows of jobs, by subject; the database refuses what can't be."""

from jobs.models.approval import Decision, Edit
from jobs.models.attempt import Attempt, JobEvent, LogLine, TableLease
from jobs.models.job import Job
from jobs.models.policy import PolicyChange, PolicyRule
from jobs.models.read import Read
from jobs.models.schedule import Schedule, ScheduleDecision, ScheduleRun
from jobs.models.stream import Stream, StreamBatch, StreamLag, StreamRound, StreamStart
from jobs.models.totals import EndedAttempts, EndedJobs
from jobs.models.worker import DispatcherRound, Worker

__all__ = [
    "Attempt",
    "Decision",
    "DispatcherRound",
    "Edit",
    "EndedAttempts",
    "EndedJobs",
    "Job",
    "JobEvent",
    "LogLine",
    "PolicyChange",
    "PolicyRule",
    "Read",
    "Schedule",
    "ScheduleDecision",
    "ScheduleRun",
    "Stream",
    "StreamBatch",
    "StreamLag",
    "StreamRound",
    "StreamStart",
    "TableLease",
    "Worker",
]
