"""How far each stream was behind its source, minute by minute."""

from typing import ClassVar

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("jobs", "0021_plans_of_approvals")]
    operations: ClassVar = [
        migrations.CreateModel(
            name="StreamLag",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
                ("waiting", models.BigIntegerField(null=True)),
                ("exact", models.BooleanField(default=True)),
                ("oldest", models.DateTimeField(null=True)),
                (
                    "stream",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="lags", to="jobs.stream"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("stream", "at"), name="stream_lag_once")],
                "indexes": [models.Index(fields=["at"], name="stream_lag_at")],
            },
        ),
    ]
