"""The rule for an optimize: it changes no row, so nobody needs to approve it unless a team says so."""

from typing import Any, ClassVar

from django.db import migrations

RULE = {"name": "An optimize runs without approval", "command": "optimize", "required_approvals": 0}


def ship(apps: Any, schema_editor: Any) -> None:
    apps.get_model("jobs", "PolicyRule").objects.create(**RULE)


def withdraw(apps: Any, schema_editor: Any) -> None:
    """The rule stays: the database lets nobody delete one."""


class Migration(migrations.Migration):
    dependencies: ClassVar = [("jobs", "0015_stream_starts")]
    operations: ClassVar = [migrations.RunPython(ship, withdraw)]
