"""When a person looked at the history in the guided first story: the next sign-in remembers it."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("accounts", "0007_preferences")]
    operations: ClassVar = [
        migrations.AddField("person", "story_looked_at", models.DateTimeField(null=True, blank=True)),
    ]
