import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("tables", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="DispatcherRound",
            fields=[
                ("kind", models.CharField(max_length=20, primary_key=True, serialize=False)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("seconds", models.FloatField(default=0)),
                ("text", models.CharField(blank=True, default="", max_length=500)),
            ],
        ),
        migrations.CreateModel(
            name="Worker",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=200, unique=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("spark", "Spark"),
                            ("interactive", "Interactive"),
                            ("light", "Light"),
                            ("dispatcher", "Dispatcher"),
                        ],
                        max_length=11,
                    ),
                ),
                ("host", models.CharField(max_length=200)),
                ("boot_id", models.CharField(max_length=64)),
                ("pid", models.IntegerField()),
                ("start_ticks", models.BigIntegerField()),
                ("jvm_pid", models.IntegerField(null=True)),
                ("jvm_start_ticks", models.BigIntegerField(null=True)),
                ("jvm_memory_bytes", models.BigIntegerField(null=True)),
                (
                    "condition",
                    models.CharField(
                        choices=[
                            ("starting", "Starting"),
                            ("ready", "Ready"),
                            ("draining", "Draining"),
                            ("down", "Down"),
                        ],
                        max_length=8,
                    ),
                ),
                ("text", models.CharField(blank=True, default="", max_length=500)),
                ("version", models.CharField(blank=True, default="", max_length=40)),
                ("started_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("heartbeat_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("drain_requested_at", models.DateTimeField(null=True)),
                ("restart_requested_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["kind", "name"],
            },
        ),
        migrations.CreateModel(
            name="Job",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("command", models.CharField(max_length=20)),
                ("schema_version", models.IntegerField()),
                ("parameters", models.JSONField()),
                ("parameters_sha256", models.CharField(max_length=64)),
                ("location", models.TextField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("previewing", "previewing"),
                            ("awaiting_approval", "awaiting approval"),
                            ("queued", "queued"),
                            ("running", "running"),
                            ("cancelling", "cancelling"),
                            ("reconciling", "reconciling"),
                            ("succeeded", "succeeded"),
                            ("failed", "failed"),
                            ("cancelled", "cancelled"),
                            ("rejected", "rejected"),
                            ("withdrawn", "withdrawn"),
                            ("expired", "expired"),
                            ("stale", "stale"),
                        ],
                        max_length=17,
                    ),
                ),
                ("requested_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("reason", models.TextField()),
                ("expires_at", models.DateTimeField()),
                ("idempotency_key", models.CharField(max_length=200, null=True)),
                ("request_sha256", models.CharField(max_length=64)),
                ("preview", models.JSONField(null=True)),
                ("digest", models.CharField(max_length=64, null=True)),
                ("base_version", models.BigIntegerField(null=True)),
                ("policy", models.JSONField(default=dict)),
                ("queued_at", models.DateTimeField(null=True)),
                ("claimed_at", models.DateTimeField(null=True)),
                ("attempt", models.IntegerField(default=0)),
                ("token", models.BigIntegerField(null=True)),
                ("lease_until", models.DateTimeField(null=True)),
                ("cancel_requested_at", models.DateTimeField(null=True)),
                ("progress", models.JSONField(default=dict)),
                ("result", models.JSONField(null=True)),
                ("version", models.BigIntegerField(null=True)),
                ("no_op", models.BooleanField(default=False)),
                ("error", models.JSONField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "cancel_requested_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "requested_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="jobs", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "table",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="jobs", to="tables.table"
                    ),
                ),
            ],
            options={
                "ordering": ["-requested_at", "-id"],
                "indexes": [
                    models.Index(fields=["state", "queued_at"], name="job_state_queued"),
                    models.Index(fields=["location", "claimed_at"], name="job_location_claimed"),
                    models.Index(fields=["-requested_at", "-id"], name="job_newest"),
                    models.Index(fields=["table", "-requested_at"], name="job_table_newest"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                [
                                    "previewing",
                                    "awaiting_approval",
                                    "queued",
                                    "running",
                                    "cancelling",
                                    "reconciling",
                                    "succeeded",
                                    "failed",
                                    "cancelled",
                                    "rejected",
                                    "withdrawn",
                                    "expired",
                                    "stale",
                                ],
                            )
                        ),
                        name="job_state_known",
                    ),
                    models.CheckConstraint(condition=models.Q(("reason", ""), _negated=True), name="job_reason_given"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("finished_at__isnull", False),
                                (
                                    "state__in",
                                    ["cancelled", "expired", "failed", "rejected", "stale", "succeeded", "withdrawn"],
                                ),
                            ),
                            models.Q(
                                ("finished_at", None),
                                (
                                    "state__in",
                                    [
                                        "awaiting_approval",
                                        "cancelling",
                                        "previewing",
                                        "queued",
                                        "reconciling",
                                        "running",
                                    ],
                                ),
                            ),
                            _connector="OR",
                        ),
                        name="job_ended_has_end",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                ["awaiting_approval", "cancelling", "previewing", "queued", "reconciling", "running"],
                            ),
                            ("lease_until", None),
                            _connector="OR",
                        ),
                        name="job_ended_holds_no_lease",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state__in", ["cancelling", "reconciling", "running"]), _negated=True),
                            models.Q(("attempt__gte", 1), ("token__isnull", False)),
                            _connector="OR",
                        ),
                        name="job_claimed_has_attempt",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["previewing", "failed", "withdrawn", "cancelled", "expired", "succeeded"]),
                            ("digest__isnull", False),
                            _connector="OR",
                        ),
                        name="job_queued_has_digest",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "succeeded"), _negated=True), ("result__isnull", False), _connector="OR"
                        ),
                        name="job_success_has_result",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "failed"), _negated=True), ("error__isnull", False), _connector="OR"
                        ),
                        name="job_failure_has_error",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("no_op", False), ("version", None), _connector="OR"),
                        name="job_no_op_commits_nothing",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ["cancelling", "reconciling", "running"])),
                        fields=("location",),
                        name="job_one_running_per_location",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                ["awaiting_approval", "cancelling", "previewing", "queued", "reconciling", "running"],
                            )
                        ),
                        fields=("location", "command", "parameters_sha256"),
                        name="job_already_open",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("idempotency_key__isnull", False)),
                        fields=("requested_by", "idempotency_key"),
                        name="job_idempotency",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Attempt",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("kind", models.CharField(choices=[("preview", "Preview"), ("run", "Run")], max_length=7)),
                ("number", models.IntegerField()),
                ("token", models.BigIntegerField(unique=True)),
                ("worker", models.CharField(max_length=200)),
                ("host", models.CharField(max_length=200)),
                ("boot_id", models.CharField(max_length=64)),
                ("pid", models.IntegerField()),
                ("start_ticks", models.BigIntegerField()),
                ("jvm_pid", models.IntegerField(null=True)),
                ("jvm_start_ticks", models.BigIntegerField(null=True)),
                ("claimed_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("ended_at", models.DateTimeField(null=True)),
                ("outcome", models.CharField(blank=True, default="", max_length=40)),
                (
                    "job",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="attempts", to="jobs.job"
                    ),
                ),
            ],
            options={
                "ordering": ["claimed_at"],
                "indexes": [
                    models.Index(fields=["job", "claimed_at"], name="attempt_job"),
                ],
            },
        ),
        migrations.CreateModel(
            name="JobEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("kind", models.CharField(max_length=20)),
                ("who", models.CharField(max_length=200)),
                ("source", models.CharField(blank=True, default="", max_length=17)),
                ("target", models.CharField(blank=True, default="", max_length=17)),
                ("attempt", models.IntegerField(null=True)),
                ("text", models.TextField()),
                ("table_text", models.TextField(blank=True, default="")),
                (
                    "job",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="events", to="jobs.job"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [
                    models.Index(fields=["job", "id"], name="job_event_order"),
                ],
            },
        ),
        migrations.CreateModel(
            name="LogLine",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
                ("text", models.TextField()),
                (
                    "attempt",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="log", to="jobs.attempt"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [
                    models.Index(fields=["attempt", "id"], name="log_line_order"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Read",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=20)),
                ("queue", models.CharField(max_length=11)),
                ("question", models.JSONField()),
                ("question_sha256", models.CharField(max_length=64)),
                ("asked_version", models.BigIntegerField(null=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("answered", "Answered"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("answer", models.JSONField(null=True)),
                ("problem", models.JSONField(null=True)),
                ("worker", models.CharField(blank=True, default="", max_length=200)),
                ("asked_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("started_at", models.DateTimeField(null=True)),
                ("answered_at", models.DateTimeField(null=True)),
                ("expires_at", models.DateTimeField()),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "table",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="tables.table"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["queue", "state", "asked_at"], name="read_waiting"),
                    models.Index(fields=["person", "question_sha256", "-asked_at"], name="read_same"),
                ]
            },
        ),
        migrations.CreateModel(
            name="TableLease",
            fields=[
                ("location", models.TextField(primary_key=True, serialize=False)),
                ("token", models.BigIntegerField()),
                ("exclusive_tree", models.BooleanField(default=False)),
                ("taken_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "job",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="table_lease", to="jobs.job"
                    ),
                ),
            ],
        ),
    ]
