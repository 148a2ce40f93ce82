"""A commit that says it changes data is destructive under the words of maintenance too: two indexes hold it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tables", "0035_buckets_of_other_kinds"),
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
        migrations.AddIndex(
            model_name="commit",
            index=models.Index(
                condition=models.Q(
                    ("version__gt", 0),
                    models.Q(
                        ("removal", "lost"),
                        ("removal", "replaced"),
                        models.Q(
                            ("removal", "unsaid"),
                            models.Q(
                                ("operation__in", ["OPTIMIZE", "REORG", "VACUUM END", "COMPUTE STATS", "FSCK"]),
                                _negated=True,
                            ),
                        ),
                        models.Q(
                            ("removal", "none"),
                            (
                                "operation__in",
                                [
                                    "RESTORE",
                                    "VACUUM START",
                                    "CREATE OR REPLACE TABLE",
                                    "CREATE OR REPLACE TABLE AS SELECT",
                                    "REPLACE TABLE",
                                    "REPLACE TABLE AS SELECT",
                                ],
                            ),
                        ),
                        models.Q(
                            ("removal", ""),
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
                        ("removal", "replaced"),
                        models.Q(
                            ("removal", "unsaid"),
                            models.Q(
                                ("operation__in", ["OPTIMIZE", "REORG", "VACUUM END", "COMPUTE STATS", "FSCK"]),
                                _negated=True,
                            ),
                        ),
                        models.Q(
                            ("removal", "none"),
                            (
                                "operation__in",
                                [
                                    "RESTORE",
                                    "VACUUM START",
                                    "CREATE OR REPLACE TABLE",
                                    "CREATE OR REPLACE TABLE AS SELECT",
                                    "REPLACE TABLE",
                                    "REPLACE TABLE AS SELECT",
                                ],
                            ),
                        ),
                        models.Q(
                            ("removal", ""),
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
