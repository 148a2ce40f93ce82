"""What a table's log looked like when it was read, so that an unchanged one is told by a look at it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tables", "0018_roots")]

    operations = [
        migrations.AddField(
            model_name="synctimes", name="fingerprint", field=models.TextField(db_default="", default="")
        ),
    ]
