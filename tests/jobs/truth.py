"""The comparison that every run with faults ends in: what the jobs say against what the tables are."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.jobs import fake_table
from tests.jobs.instance import Instance

Marks = Mapping[str, Sequence[int]]
COLUMNS = (
    "j.id::text, j.location, j.state, j.version, j.no_op, j.command, j.lease_until is not null,"
    " exists (select 1 from jobs_tablelease l where l.job_id = j.id),"
    " (select count(*) from jobs_attempt a where a.job_id = j.id and a.ended_at is null),"
    " (select count(*) from audit.event e where e.job = j.id and e.action = 'job.end'),"
    " exists (select 1 from jobs_jobevent v where v.job_id = j.id and v.kind = 'late_commit')"
)


def mismatches(instance: Instance, marks: Callable[[str], Marks] = fake_table.marks) -> list[str]:
    """Every difference between a job that has ended and its table. An open job is one too."""
    found: list[str] = []
    known: dict[str, Marks] = {}
    for row in instance.rows(f"select {COLUMNS} from jobs_job j"):
        location = row[1]
        if location not in known:
            known[location] = marks(location)
        found += _of_job(row, known[location].get(row[0], ()))
    jobs = {row[0] for row in instance.rows("select id::text from jobs_job")}
    found += [f"{at}: a commit of the unknown job {pk}" for at, all_ in known.items() for pk in all_ if pk not in jobs]
    found += _broken_stories(instance)
    return found


def _of_job(row: tuple[Any, ...], versions: Sequence[int]) -> list[str]:
    pk, _, state, version, no_op, command, leased, table_leased, open_attempts, ends, late = row
    ended = state not in {"previewing", "awaiting_approval", "queued", "running", "cancelling", "reconciling"}
    committed = version is not None
    wrong = {
        "has not ended": not ended,
        f"has {len(versions)} effects": len(versions) > 1,
        f"says version {version}, the table {list(versions)}": list(versions) != ([version] if committed else []),
        "succeeded without a commit": state == "succeeded" and not committed and not no_op,
        "did nothing, as an append": no_op and command == "append",
        f"is {state} and committed, without saying so": committed and state != "succeeded" and not late,
        "holds a lease after its end": leased or table_leased,
        f"has {open_attempts} open attempts": open_attempts,
        f"has {ends} ends in the audit": ends != 1,
    }
    return [f"job {pk} {text}" for text, is_so in wrong.items() if is_so]


def _broken_stories(instance: Instance) -> list[str]:
    """Each event's source is the target of the one before."""
    rows = instance.rows(
        "select job_id::text, source, target from jobs_jobevent where target <> '' order by job_id, id"
    )
    broken, before = [], ("", "")
    for pk, source, target in rows:
        if pk == before[0] and source != before[1]:
            broken.append(f"job {pk}: from {before[1]} on, then from {source}")
        before = (pk, target)
    return broken


def rows_of_succeeded(instance: Instance, table: Path) -> int:
    """The rows that the jobs say they have appended."""
    query = (
        "select coalesce(sum((parameters->>'rows')::int), 0) from jobs_job where location = %s and version is not null"
    )
    return int(instance.rows(query, str(table))[0][0])
