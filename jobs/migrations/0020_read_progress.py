"""How far the answer of a read has come."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("jobs", "0019_rehearsal")]
    operations: ClassVar = [
        migrations.AddField(model_name="read", name="progress", field=models.JSONField(null=True)),
    ]
