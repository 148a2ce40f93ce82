"""Counts of what has ended, kept as it ends, and an index of the attempts that haven't."""

from typing import ClassVar

from django.db import migrations, models

# A transaction takes a slot that no other one counts in until it commits. Only when all are taken does it wait.
CREATE = """
create function jobs_free_slot() returns integer language sql volatile as $$
    select coalesce((select slot from generate_series(0, 63) slot where pg_try_advisory_xact_lock(1819698036, slot) limit 1), 0)
$$;

create function jobs_count_end() returns trigger language plpgsql as $$
begin
    insert into jobs_endedjobs as total (command, state, slot, jobs) values (new.command, new.state, jobs_free_slot(), 1)
    on conflict (command, state, slot) do update set jobs = total.jobs + 1;
    return null;
end $$;

create trigger job_end_counted after update of finished_at on jobs_job for each row
    when (old.finished_at is null and new.finished_at is not null) execute function jobs_count_end();

create function jobs_count_attempt() returns trigger language plpgsql as $$
begin
    insert into jobs_endedattempts as total (worker, kind, slot, lost, seconds) values (
        split_part(split_part(new.worker, '@', 1), '-', 1), new.kind, jobs_free_slot(), starts_with(new.outcome, 'lost')::int,
        greatest(0, extract(epoch from new.ended_at - new.claimed_at)))
    on conflict (worker, kind, slot) do update set lost = total.lost + excluded.lost, seconds = total.seconds + excluded.seconds;
    return null;
end $$;

create trigger attempt_end_counted after update of ended_at on jobs_attempt for each row
    when (old.ended_at is null and new.ended_at is not null) execute function jobs_count_attempt();
"""

DROP = """
drop trigger attempt_end_counted on jobs_attempt;
drop trigger job_end_counted on jobs_job;
drop function jobs_count_attempt();
drop function jobs_count_end();
drop function jobs_free_slot();
"""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("jobs", "0013_stream_keys")]
    operations: ClassVar = [
        migrations.CreateModel(
            name="EndedJobs",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "command", "state", "slot", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("command", models.CharField(max_length=20)),
                ("state", models.CharField(max_length=17)),
                ("slot", models.IntegerField()),
                ("jobs", models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="EndedAttempts",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "worker", "kind", "slot", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("worker", models.CharField(max_length=200)),
                ("kind", models.CharField(max_length=7)),
                ("slot", models.IntegerField()),
                ("lost", models.BigIntegerField()),
                ("seconds", models.FloatField()),
            ],
        ),
        migrations.AddIndex(
            model_name="attempt",
            index=models.Index(condition=models.Q(("ended_at", None)), fields=["claimed_at"], name="attempt_open"),
        ),
        migrations.RunSQL(CREATE, DROP),
    ]
