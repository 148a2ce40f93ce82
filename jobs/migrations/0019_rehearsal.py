"""Whether a job is rehearsed before people decide about it."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("jobs", "0018_schedules")]
    operations: ClassVar = [
        migrations.AddField(
            model_name="job", name="rehearse", field=models.BooleanField(db_default=False, default=False)
        ),
    ]
