"""The fencing tokens' sequence, and the trigger that lets a job's state move only as `jobs/domain/states.py` says.

The transitions are written out: a migration says what the database held at the time; a test compares them with the code.
"""

from typing import ClassVar

from django.db import migrations

TRANSITIONS = {
    "previewing": "queued awaiting_approval succeeded failed withdrawn cancelled expired",
    "awaiting_approval": "previewing queued rejected withdrawn cancelled expired",
    "queued": "running previewing awaiting_approval rejected withdrawn cancelled expired stale",
    "running": "succeeded failed stale cancelling reconciling queued",
    "cancelling": "cancelled succeeded failed stale",
    "reconciling": "succeeded queued failed stale cancelled cancelling",
}

_ALLOWED = "\n    or ".join(
    f"(old.state = '{source}' and new.state in ({', '.join(repr(t) for t in targets.split())}))"
    for source, targets in TRANSITIONS.items()
)

CREATE = f"""
create sequence jobs_fencing_token;
grant usage on sequence jobs_fencing_token to levee_app;

create function jobs_check_transition() returns trigger language plpgsql as $$
begin
    if old.state = new.state then
        return new;
    end if;
    if not (
    {_ALLOWED}
    ) then
        raise exception 'a job does not go from % to %', old.state, new.state using errcode = '23514', constraint = 'job_transition';
    end if;
    return new;
end $$;

create trigger job_transition before update of state on jobs_job
    for each row execute function jobs_check_transition();
"""

DROP = """
drop trigger job_transition on jobs_job;
drop function jobs_check_transition();
drop sequence jobs_fencing_token;
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("jobs", "0001_initial")]
    operations: ClassVar = [migrations.RunSQL(CREATE, DROP)]
