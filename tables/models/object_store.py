"""How the buckets of object stores are reached: one row for each, whatever number of roots lie in it."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from tables.storage.objects.endpoints import ENDPOINT

BUCKET = r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$"  # one that speaks S3, by its name
# One of another kind, by what canonical paths in it begin with; or all of a kind that has one credential for them.
ELSEWHERE = r"^[a-z][a-z0-9]*://([a-z0-9][a-z0-9.@_-]*[a-z0-9])?$"
REGION = r"^[A-Za-z0-9-]{1,50}$"


class ObjectStore(models.Model):
    """One bucket, or all of a kind, and its credential. Without a key, the identity of Levee's own processes is used.

    `secret` and `session_token` are encrypted for the bucket (console.base.encryption): a row's cannot be moved to another one.
    """

    bucket = models.CharField(max_length=300, primary_key=True)
    endpoint = models.CharField(max_length=300, blank=True, default="")  # empty: the cloud itself
    region = models.CharField(max_length=50, blank=True)  # empty: of a kind that asks for none
    path_style = models.BooleanField()
    key_id = models.CharField(max_length=128, blank=True, default="")
    secret = models.BinaryField(null=True)
    session_token = models.BinaryField(null=True)
    changed_at = models.DateTimeField(db_default=Now())
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="object_store_bucket",
                condition=models.Q(bucket__regex=BUCKET) | models.Q(bucket__regex=ELSEWHERE),
            ),
            models.CheckConstraint(
                name="object_store_endpoint", condition=models.Q(endpoint="") | models.Q(endpoint__regex=ENDPOINT)
            ),
            models.CheckConstraint(
                name="object_store_region",
                condition=models.Q(region__regex=REGION) | models.Q(region="", bucket__regex=ELSEWHERE),
            ),
            models.CheckConstraint(
                name="object_store_credential",
                condition=models.Q(key_id="", secret=None, session_token=None)
                | ~models.Q(key_id="") & models.Q(secret__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.bucket
