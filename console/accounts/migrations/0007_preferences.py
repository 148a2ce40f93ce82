"""Time zone, density and keyboard shortcuts of a person; columns, order and page size of their lists; filters with a name."""

import uuid
from typing import Any, ClassVar

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models


def to_person(name: str) -> Any:
    on_delete = django.db.models.deletion.PROTECT
    return models.ForeignKey(on_delete=on_delete, related_name=name, to=settings.AUTH_USER_MODEL)


DENSITIES = [("compact", "Compact"), ("comfortable", "Comfortable")]


class Migration(migrations.Migration):
    dependencies: ClassVar = [("accounts", "0006_first_links")]
    operations: ClassVar = [
        migrations.AddField("person", "time_zone", models.CharField(default="UTC", max_length=64)),
        migrations.AddField("person", "density", models.CharField(choices=DENSITIES, default="compact", max_length=11)),
        migrations.AddField("person", "shortcuts", models.BooleanField(default=True)),
        migrations.CreateModel(
            name="ListPreference",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("list", models.CharField(max_length=20)),
                (
                    "columns",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=20), null=True, size=None
                    ),
                ),
                ("order", models.CharField(blank=True, default="", max_length=20)),
                ("rows", models.PositiveSmallIntegerField(null=True)),
                ("person", to_person("list_preferences")),
            ],
            options={"constraints": [models.UniqueConstraint(fields=("person", "list"), name="list_preference_once")]},
        ),
        migrations.CreateModel(
            name="SavedFilter",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("list", models.CharField(max_length=20)),
                ("name", models.CharField(max_length=60)),
                ("query", models.CharField(max_length=2000)),
                ("pinned", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("person", to_person("saved_filters")),
            ],
            options={
                "ordering": ["-pinned", "name", "id"],
                "constraints": [
                    models.UniqueConstraint(
                        "person", "list", django.db.models.functions.text.Lower("name"), name="saved_filter_name_once"
                    )
                ],
            },
        ),
    ]
