"""The classes of maintenance, and the rules that ship for it: who needs whom before files, properties or columns go."""

from typing import Any, ClassVar

from django.db import migrations, models

SHIPPED = (
    {"name": "A vacuum is seen by a second person", "command": "vacuum", "required_approvals": 1},
    {
        "name": "Less than 7 days of retention is seen by two",
        "command": "vacuum",
        "required_approvals": 2,
        "table_class": "short_retention",
    },
    {"name": "A reorg runs without approval", "command": "reorg", "required_approvals": 0},
    {"name": "A clone runs without approval", "command": "clone", "required_approvals": 0},
    {
        "name": "Properties that can be taken back need no approval",
        "command": "set_properties",
        "required_approvals": 0,
    },
    {
        "name": "Properties that can’t be taken back are seen by a second person",
        "command": "set_properties",
        "required_approvals": 1,
        "table_class": "irreversible",
    },
    {"name": "A dropped feature is seen by a second person", "command": "drop_feature", "required_approvals": 1},
    {
        "name": "A schema change that can be taken back needs no approval",
        "command": "alter_schema",
        "required_approvals": 0,
    },
    {
        "name": "A schema change that can’t be taken back is seen by a second person",
        "command": "alter_schema",
        "required_approvals": 1,
        "table_class": "irreversible",
    },
)


def ship(apps: Any, schema_editor: Any) -> None:
    rules = apps.get_model("jobs", "PolicyRule").objects.using(schema_editor.connection.alias)
    rules.bulk_create(rules.model(**rule) for rule in SHIPPED)


def withdraw(apps: Any, schema_editor: Any) -> None:
    """The rules stay: the database lets nobody delete one."""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("jobs", "0016_optimize")]
    operations: ClassVar = [
        migrations.AlterField(
            model_name="policyrule",
            name="table_class",
            field=models.CharField(
                blank=True,
                choices=[
                    ("whole_table", "Whole Table"),
                    ("short_retention", "Short Retention"),
                    ("irreversible", "Irreversible"),
                    ("ordinary", "Ordinary"),
                ],
                default="",
                max_length=15,
            ),
        ),
        migrations.RunPython(ship, withdraw),
    ]
