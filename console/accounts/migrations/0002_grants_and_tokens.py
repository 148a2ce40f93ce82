import django.db.models.deletion
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
        ("tables", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="grant",
            name="root",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tables.root"
            ),
        ),
        migrations.AddField(
            model_name="grant",
            name="table",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tables.table"
            ),
        ),
        migrations.AddField(
            model_name="token",
            name="person",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="tokens", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddConstraint(
            model_name="person",
            constraint=models.UniqueConstraint(
                django.db.models.functions.text.Lower("name"), name="person_name_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="person",
            constraint=models.CheckConstraint(
                condition=models.Q(("name__regex", "^[a-zA-Z0-9][a-zA-Z0-9._@+-]*$")), name="person_name_plain"
            ),
        ),
        migrations.AddConstraint(
            model_name="grant",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("root", None), ("scope", "everything"), ("table", None)),
                    models.Q(("root__isnull", False), ("scope", "root"), ("table", None)),
                    models.Q(("root", None), ("scope", "table"), ("table__isnull", False)),
                    _connector="OR",
                ),
                name="grant_scope_matches",
            ),
        ),
        migrations.AddConstraint(
            model_name="grant",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ["viewer", "operator", "approver", "auditor", "admin"])),
                name="grant_role_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="grant",
            constraint=models.UniqueConstraint(
                fields=("person", "role", "scope", "root", "table"), name="grant_once", nulls_distinct=False
            ),
        ),
    ]
