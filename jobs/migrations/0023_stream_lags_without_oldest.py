"""When the oldest that waited came is never read of a minute's lag."""

from typing import ClassVar

from django.db import migrations


class Migration(migrations.Migration):
    dependencies: ClassVar = [("jobs", "0022_stream_lags")]
    operations: ClassVar = [migrations.RemoveField(model_name="streamlag", name="oldest")]
