"""One request makes one stream; why a source told nothing; what a stream still reads of its source’s log; rounds thinned by age."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0012_streams"),
        ("tables", "0017_sync_times"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="stream",
            name="idempotency_key",
            field=models.CharField(max_length=200, null=True),
        ),
        migrations.AddField(
            model_name="stream",
            name="lag_text",
            field=models.TextField(blank=True, db_default="", default=""),
        ),
        migrations.AddField(
            model_name="stream",
            name="reads_from",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="stream",
            name="request_sha256",
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
        migrations.AddField(
            model_name="streamround",
            name="thinned_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(condition=models.Q(("folded", True)), fields=["finished_at"], name="job_folded_ended"),
        ),
        migrations.AddIndex(
            model_name="streamround",
            index=models.Index(
                condition=models.Q(("thinned_at", None)), fields=["booked_at"], name="stream_round_unthinned"
            ),
        ),
        migrations.AddConstraint(
            model_name="stream",
            constraint=models.UniqueConstraint(
                condition=models.Q(("idempotency_key__isnull", False)),
                fields=("created_by", "idempotency_key"),
                name="stream_idempotency",
            ),
        ),
    ]
