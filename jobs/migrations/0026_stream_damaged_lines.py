"""How many damaged lines a micro-batch left out. Batches from before don't tell: null."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("jobs", "0025_repair")]
    operations: ClassVar = [
        migrations.AddField(model_name="streambatch", name="damaged_lines", field=models.BigIntegerField(null=True)),
    ]
