"""A bucket in the words of Hadoop's s3a, by which Spark reaches it."""

from __future__ import annotations

from collections.abc import Mapping

from tables.storage.description import HadoopSettings
from tables.storage.patience import PATIENT

S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"
GIVEN_KEY = "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"
GIVEN_TOKEN = "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider"
# Levee writes `s3://` alone; a log or a stream's metadata that another program wrote may say `s3a://`.
SCHEMES: Mapping[str, str] = {"fs.s3.impl": S3A, "fs.s3a.impl": S3A}
# A store that is gone fails an attempt after a minute, not after the quarter of an hour of the defaults.
PATIENCE: Mapping[str, str] = {
    "attempts.maximum": "3",
    "retry.limit": "3",
    "retry.interval": "500ms",
    # For a store that answers 503. Each pause is twice the one before: five make half a minute. The twenty of the defaults make days.
    "retry.throttle.limit": "5",
    "retry.throttle.interval": "500ms",
    "connection.establish.timeout": "15s",  # the least that s3a takes
    "connection.timeout": f"{PATIENT.answer_s:g}s",
}
_OWN = ("endpoint", "endpoint.region", "access.key", "secret.key", "session.token", "aws.credentials.provider")


def provider(key_id: str, token: str) -> str:
    """The class that hands s3a a key. Without one s3a looks for the process's own identity."""
    if not key_id:
        return ""
    return GIVEN_TOKEN if token else GIVEN_KEY


def s3a(bucket: str, described: Mapping[str, str]) -> HadoopSettings:
    """One bucket's settings; of those that are described, empty ones are left to Hadoop."""
    before = f"fs.s3a.bucket.{bucket}."
    values = {f"{before}{name}": value for name, value in {**described, **PATIENCE}.items() if value}
    return HadoopSettings(
        {**SCHEMES, **values},
        [f"{before}{name}" for name in _OWN],
        [f"s3://{bucket}/", f"s3a://{bucket}/"],
        (f"{before}access.key", described["access.key"]),
    )
