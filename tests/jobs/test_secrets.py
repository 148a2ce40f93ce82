"""Secrets never reach a log."""

import time

import pytest

from jobs.secrets import masked


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("fs.s3a.secret.key=hunter2", "fs.s3a.secret.key=***"),
        ("fs.s3a.access.key = AKIA", "fs.s3a.access.key = ***"),
        (
            "fs.azure.account.key.store.blob.core.windows.net: abc==",
            "fs.azure.account.key.store.blob.core.windows.net: ***",
        ),
        ("(spark.password -> x) more", "(spark.password -> *** more"),
        ("jdbc:postgresql://joe:pw@host/db", "jdbc:postgresql://joe:***@host/db"),
        ("TOKEN=a PASSWD: b", "TOKEN=*** PASSWD: ***"),
        ("spark.sql.shuffle.partitions = 2", "spark.sql.shuffle.partitions = 2"),
        ("writing 3 files to s3://bucket/path", "writing 3 files to s3://bucket/path"),
    ],
)
def test_values_of_secret_settings_become_stars(text, shown):
    assert masked(text) == shown


@pytest.mark.parametrize("text", ["x" * 200_000, "secret" * 30_000, "a://" * 40_000, "= " * 100_000])
def test_hostile_lines_take_no_longer_than_their_length(text):
    """Ten times the length is about ten times the work, whatever the machine."""

    def cost(line: str) -> float:
        began = time.process_time()
        masked(line)
        return time.process_time() - began

    short = max(min(cost(text[: len(text) // 10]) for _ in range(3)), 0.001)
    assert cost(text) < 60 * short
