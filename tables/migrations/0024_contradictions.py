"""A commit whose job predicted something else than Delta recorded awaits acknowledgement too."""

from django.db import migrations, models

VERDICTS = ["waiting", "approved", "needed_none", "nobody", "unapproved", "forged", "contradicts"]


class Migration(migrations.Migration):
    dependencies = [("tables", "0023_old_files")]

    operations = [
        migrations.RemoveIndex(model_name="explanation", name="explanation_open"),
        migrations.AlterField(
            model_name="explanation",
            name="verdict",
            field=models.CharField(
                choices=[(verdict, verdict.replace("_", " ").title()) for verdict in VERDICTS],
                default="waiting",
                max_length=11,
            ),
        ),
        migrations.AddIndex(
            model_name="explanation",
            index=models.Index(
                condition=models.Q(
                    ("acknowledged_at", None), ("verdict__in", ["nobody", "unapproved", "forged", "contradicts"])
                ),
                fields=["-found_at", "-id"],
                name="explanation_open",
            ),
        ),
    ]
