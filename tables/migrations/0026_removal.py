"""What the removals of commits did to rows, and by which rules a log was read: each table's next sync reads its log once from its begin."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tables", "0025_stops_spark"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="commit",
            name="commit_destruction",
        ),
        migrations.RemoveIndex(
            model_name="commit",
            name="commit_destruction_of",
        ),
        migrations.AddField(
            model_name="commit",
            name="removal",
            field=models.CharField(db_default="", default="", max_length=10),
        ),
        migrations.AddField(
            model_name="table",
            name="read_by",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.AddIndex(
            model_name="commit",
            index=models.Index(
                condition=models.Q(
                    ("version__gt", 0),
                    models.Q(
                        ("removal", "lost"),
                        models.Q(
                            ("removal__in", ["", "none", "replaced"]),
                            models.Q(
                                (
                                    "operation__in",
                                    [
                                        "DELETE",
                                        "TRUNCATE",
                                        "UPDATE",
                                        "MERGE",
                                        "RESTORE",
                                        "VACUUM START",
                                        "CREATE OR REPLACE TABLE",
                                        "CREATE OR REPLACE TABLE AS SELECT",
                                        "REPLACE TABLE",
                                        "REPLACE TABLE AS SELECT",
                                    ],
                                ),
                                ("operation_parameters__mode", "Overwrite"),
                                ("operation_parameters__outputMode", "Complete"),
                                _connector="OR",
                            ),
                        ),
                        _connector="OR",
                    ),
                ),
                fields=["-committed_at"],
                name="commit_destruction",
            ),
        ),
        migrations.AddIndex(
            model_name="commit",
            index=models.Index(
                condition=models.Q(
                    ("version__gt", 0),
                    models.Q(
                        ("removal", "lost"),
                        models.Q(
                            ("removal__in", ["", "none", "replaced"]),
                            models.Q(
                                (
                                    "operation__in",
                                    [
                                        "DELETE",
                                        "TRUNCATE",
                                        "UPDATE",
                                        "MERGE",
                                        "RESTORE",
                                        "VACUUM START",
                                        "CREATE OR REPLACE TABLE",
                                        "CREATE OR REPLACE TABLE AS SELECT",
                                        "REPLACE TABLE",
                                        "REPLACE TABLE AS SELECT",
                                    ],
                                ),
                                ("operation_parameters__mode", "Overwrite"),
                                ("operation_parameters__outputMode", "Complete"),
                                _connector="OR",
                            ),
                        ),
                        _connector="OR",
                    ),
                ),
                fields=["table", "incarnation", "-version"],
                name="commit_destruction_of",
            ),
        ),
    ]
