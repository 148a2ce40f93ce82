"""The rule that ships for repairs: what takes rows away for good is seen by two."""

from typing import Any, ClassVar

from django.db import migrations

RULE = {"name": "A repair is seen by two", "command": "repair", "required_approvals": 2}


def ship(apps: Any, schema_editor: Any) -> None:
    apps.get_model("jobs", "PolicyRule").objects.using(schema_editor.connection.alias).create(**RULE)


def withdraw(apps: Any, schema_editor: Any) -> None:
    """The rule stays: the database lets nobody delete one."""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("jobs", "0024_protections")]
    operations: ClassVar = [migrations.RunPython(ship, withdraw)]
