"""A job that Levee itself enters begins by its preview: what follows from one, approvals first, is held by rules on updates."""

from typing import ClassVar

from django.db import migrations

CREATE = """
create function jobs_begin_by_preview() returns trigger language plpgsql as $$
begin
    if new.state <> 'previewing' then
        raise exception 'a job begins by its preview, not as %', new.state using errcode = '23514', constraint = 'job_begins';
    end if;
    return new;
end $$;

create trigger job_begins before insert on jobs_job for each row execute function jobs_begin_by_preview();
"""

DROP = """
drop trigger job_begins on jobs_job;
drop function jobs_begin_by_preview();
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("jobs", "0010_round_failures")]
    operations: ClassVar = [migrations.RunSQL(CREATE, DROP)]
