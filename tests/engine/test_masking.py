"""Secrets in properties."""

import pytest

from jobs.engine.masking import MASK, masked


@pytest.mark.parametrize(
    "key",
    [
        "fs.s3a.secret.key",
        "fs.azure.account.key.x",
        "option.fs.s3a.endpoint",
        "javax.jdo.option.ConnectionPassword",
        "myToken",
        "aws_access_key",
        "api-key",
    ],
)
def test_secret_keys_lose_their_value(key):
    assert masked({key: "hunter2"}) == {key: MASK}


@pytest.mark.parametrize("key", ["delta.minReaderVersion", "location", "author", "offset", "keyspace"])
def test_ordinary_keys_keep_it(key):
    assert masked({key: "value"}) == {key: "value"}


def test_a_password_in_a_url_is_masked_wherever_it_stands():
    assert masked({"url": "jdbc:postgresql://u:p@host/db"}) == {"url": f"jdbc:postgresql://{MASK}@host/db"}
