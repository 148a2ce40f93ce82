"""Streams, their rounds and micro-batches; and the rule for those that replace rows or start over."""

import uuid
from typing import Any, ClassVar

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

RULE = {
    "name": "A stream that replaces rows or starts over is seen by a second person",
    "command": "stream_round",
    "required_approvals": 1,
    "table_class": "whole_table",
}


def ship(apps: Any, schema_editor: Any) -> None:
    apps.get_model("jobs", "PolicyRule").objects.create(**RULE)


def withdraw(apps: Any, schema_editor: Any) -> None:
    """The rule stays: the database lets nobody delete one."""


class Migration(migrations.Migration):
    dependencies: ClassVar = [
        ("jobs", "0011_begins_by_preview"),
        ("tables", "0017_sync_times"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Stream",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                ("reason", models.TextField()),
                ("asked", models.JSONField()),
                ("definition", models.JSONField()),
                ("definition_sha256", models.CharField(max_length=64)),
                ("revision", models.IntegerField(default=1)),
                ("checkpoint", models.TextField(unique=True)),
                ("interval_seconds", models.PositiveIntegerField(null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("edited_by", models.JSONField(default=list)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("stopped", "Stopped"),
                            ("running", "Running"),
                            ("stopping", "Stopping"),
                            ("failed", "Failed"),
                        ],
                        default="stopped",
                        max_length=8,
                    ),
                ),
                ("state_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("state_text", models.TextField(blank=True, default="")),
                ("error", models.JSONField(null=True)),
                ("next_round_at", models.DateTimeField(null=True)),
                ("rounds", models.BigIntegerField(default=0)),
                ("prediction", models.JSONField(default=dict)),
                ("query_id", models.CharField(max_length=64, null=True)),
                ("made_table_id", models.CharField(max_length=64, null=True)),
                ("target_table_id", models.CharField(max_length=64, null=True)),
                ("approved_sha256", models.CharField(blank=True, default="", max_length=64)),
                ("lag", models.JSONField(null=True)),
                ("lag_at", models.DateTimeField(null=True)),
                ("removed_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["name"],
                "indexes": [
                    models.Index(fields=["state", "next_round_at"], name="stream_due"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("removed_at", None)), fields=("name",), name="stream_name_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["stopped", "running", "stopping", "failed"])),
                        name="stream_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("reason", ""), _negated=True), name="stream_reason_given"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("interval_seconds", None), ("interval_seconds__gte", 10), _connector="OR"),
                        name="stream_interval",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "failed"), _negated=True), ("error__isnull", False), _connector="OR"
                        ),
                        name="stream_failure_has_error",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("removed_at", None), ("state__in", ["stopped", "failed"]), _connector="OR"),
                        name="stream_removed_is_still",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="StreamBatch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("query_id", models.CharField(max_length=64)),
                ("run_id", models.CharField(blank=True, default="", max_length=64)),
                ("batch_id", models.BigIntegerField()),
                ("version", models.BigIntegerField(null=True)),
                ("output_mode", models.CharField(max_length=8)),
                ("at", models.DateTimeField()),
                ("skipped", models.BooleanField(default=False)),
                ("input_rows", models.BigIntegerField(null=True)),
                ("rows_out", models.BigIntegerField(null=True)),
                ("files_added", models.BigIntegerField(null=True)),
                ("files_removed", models.BigIntegerField(null=True)),
                ("bytes_added", models.BigIntegerField(null=True)),
                ("took_ms", models.BigIntegerField(null=True)),
                ("durations", models.JSONField(default=dict)),
                ("input_rate", models.FloatField(null=True)),
                ("processed_rate", models.FloatField(null=True)),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["at"], name="stream_batch_at"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("output_mode__in", ["append", "complete"])), name="stream_batch_mode"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="StreamRound",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.BigIntegerField()),
                ("revision", models.IntegerField()),
                ("reset", models.BooleanField(default=False)),
                ("opened_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("booked_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.AddField(
            model_name="job",
            name="folded",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AlterField(
            model_name="worker",
            name="kind",
            field=models.CharField(
                choices=[
                    ("spark", "Spark"),
                    ("interactive", "Interactive"),
                    ("streams", "Streams"),
                    ("light", "Light"),
                    ("dispatcher", "Dispatcher"),
                ],
                max_length=11,
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("folded", False)), fields=["-requested_at", "-id"], name="job_newest_shown"
            ),
        ),
        migrations.AddField(
            model_name="stream",
            name="approved_by_job",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="jobs.job"
            ),
        ),
        migrations.AddField(
            model_name="stream",
            name="created_by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="stream",
            name="run_by",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="stream",
            name="source_table",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="streams_out", to="tables.table"
            ),
        ),
        migrations.AddField(
            model_name="stream",
            name="table",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="streams_in", to="tables.table"
            ),
        ),
        migrations.AddField(
            model_name="streambatch",
            name="job",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="stream_batches", to="jobs.job"
            ),
        ),
        migrations.AddField(
            model_name="streambatch",
            name="stream",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="batches", to="jobs.stream"
            ),
        ),
        migrations.AddField(
            model_name="streamround",
            name="job",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="stream_round", to="jobs.job"
            ),
        ),
        migrations.AddField(
            model_name="streamround",
            name="stream",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="round_set", to="jobs.stream"
            ),
        ),
        migrations.AddConstraint(
            model_name="stream",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state__in", ["running", "stopping"]), _negated=True),
                    ("run_by__isnull", False),
                    _connector="OR",
                ),
                name="stream_runs_for_someone",
            ),
        ),
        migrations.AddIndex(
            model_name="streambatch",
            index=models.Index(fields=["stream", "-id"], name="stream_batch_newest"),
        ),
        migrations.AddConstraint(
            model_name="streambatch",
            constraint=models.UniqueConstraint(
                fields=("stream", "query_id", "batch_id", "job"), name="stream_batch_once"
            ),
        ),
        migrations.AddIndex(
            model_name="streamround",
            index=models.Index(fields=["stream", "-id"], name="stream_round_newest"),
        ),
        migrations.AddConstraint(
            model_name="streamround",
            constraint=models.UniqueConstraint(fields=("stream", "number"), name="stream_round_number"),
        ),
        migrations.AddConstraint(
            model_name="streamround",
            constraint=models.UniqueConstraint(
                condition=models.Q(("booked_at", None)), fields=("stream",), name="stream_one_open_round"
            ),
        ),
        migrations.RunPython(ship, withdraw),
    ]
