"""What a root's last scan found of tables in other formats: Hudi and Iceberg."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tables", "0026_removal")]

    operations = [
        migrations.AddField(model_name="root", name="scan_others", field=models.JSONField(default=dict)),
    ]
