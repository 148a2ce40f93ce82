"""A job's title: the sentence that names it everywhere."""

from __future__ import annotations

from jobs.models import Job


def title_of(job: Job) -> str:
    """`Convert orders to Delta`."""
    if job.command == "delete":
        return f"Delete {'rows' if (job.parameters or {}).get('tree') else 'all rows'} from {job.table.name}"
    if job.command == "restore":
        return f"Restore {job.table.name} to version {(job.parameters or {}).get('version', 0):,}"
    if job.command == "convert":
        return f"Convert {job.table.name} to Delta"
    return f"{job.command.capitalize()} {job.table.name}"
