"""One more finding: a protocol by which Spark can’t write."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tables", "0032_destruction_by_actions"),
    ]

    operations = [
        migrations.AlterField(
            model_name="table",
            name="health_codes",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(
                    choices=[
                        ("small_files", "Small files"),
                        ("over_partitioned", "Over-partitioned"),
                        ("deletion_vectors", "Many deletion vectors"),
                        ("skew", "Partition skew"),
                        ("missing_statistics", "Missing statistics"),
                        ("no_checkpoint", "No checkpoint"),
                        ("long_log", "Long log"),
                        ("stale_sync", "Stale sync"),
                        ("corrupt_log", "Corrupt log"),
                        ("stops_spark", "Spark can’t open it"),
                        ("files_missing", "Files missing"),
                        ("vectors_missing", "Deletion vectors missing"),
                        ("file_sizes_differ", "Files of another size"),
                        ("last_checkpoint", "Bad _last_checkpoint"),
                        ("needs_feature", "Can’t be read by Levee"),
                        ("locks_writers_out", "Spark can’t write to it"),
                        ("unknown_actions", "Unknown log entries"),
                        ("missing", "Directory missing"),
                        ("recreated", "Recreated"),
                        ("rewritten", "Log rewritten"),
                        ("outside_files", "Files outside the table"),
                        ("old_files", "Old files"),
                    ],
                    max_length=30,
                ),
                default=list,
                size=None,
            ),
        ),
    ]
