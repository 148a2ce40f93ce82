"""Secrets in what a table, a catalog or a log line says: one rule, whoever shows it."""

import time

import pytest

from console.base.text.masking import (
    MASK,
    is_secret_name,
    masked,
    masked_json,
    masked_line,
    masked_properties,
    masked_text,
)

SECRET_NAMES = [
    "fs.s3a.secret.key", "fs.azure.account.key.x", "option.fs.s3a.endpoint", "spark.hadoop.fs.s3a.endpoint",
    "javax.jdo.option.ConnectionPassword", "myToken", "aws_access_key", "api-key", "db.pwd", "http.authorization",
    "x.signature", "azure.sas", "gcp.credentials.file", "private_key",
]  # fmt: skip
ORDINARY_NAMES = ["delta.minReaderVersion", "location", "author", "offset", "keyspace", "passage", "offs.x", "note"]
SECRETS_IN_TEXTS = [
    '{"password":"hunter2"}', ' {"a": {"api.token": "hunter2"}}', '[{"pwd": "hunter2", "n": 1}]',
    '{"password": 731934}', "https://a/b?sig=hunter2", "https://a/b?x=1&X-Amz-Signature=hunter2",
    "jdbc:postgresql://u:hunter2@host/db", "jdbc:sqlserver://h;user=u;password=hunter2;a=b", "s3a://hunter2@bucket/x",
    "wasbs://c@host/x?sas=hunter2",
]  # fmt: skip
LINES = [
    ("fs.s3a.secret.key=hunter2", f"fs.s3a.secret.key={MASK}"),
    ("fs.s3a.access.key = AKIA", f"fs.s3a.access.key = {MASK}"),
    ("fs.azure.account.key.store.blob.core.windows.net: abc==", f"fs.azure.account.key.store.blob.core.windows.net: {MASK}"),
    ("(spark.password -> x) more", f"(spark.password -> {MASK} more"),
    ("jdbc:postgresql://joe:pw@host/db", f"jdbc:postgresql://{MASK}@host/db"),
    ("TOKEN=a PASSWD: b", f"TOKEN={MASK} PASSWD: {MASK}"),
    ("http.authorization: Bearer abc", f"http.authorization: {MASK}"),
    ("db.pwd=hunter2", f"db.pwd={MASK}"),
    ("spark.sql.shuffle.partitions = 2", "spark.sql.shuffle.partitions = 2"),
    ("writing 3 files to s3://bucket/path", "writing 3 files to s3://bucket/path"),
]  # fmt: skip


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_value_under_a_secret_name_is_masked_wherever_it_stands(name):
    """Properties of the catalog and of the live object, settings in a line, members of JSON, arguments of an address."""
    assert is_secret_name(name)
    assert (
        masked({name: "hunter2"})
        == masked_properties({name: "hunter2"})
        == masked_json({name: "hunter2"})
        == {name: MASK}
    )
    for shown in (
        masked_line(f"more {name} = hunter2"),
        masked_text(f'{{"{name}": "hunter2"}}'),
        masked_text(f"https://host/x?a=1&{name}=hunter2"),
    ):
        assert "hunter2" not in shown
        assert MASK in shown


@pytest.mark.parametrize("name", ORDINARY_NAMES)
def test_a_value_under_an_ordinary_name_stays(name):
    assert (
        masked({name: "value"}) == masked_properties({name: "value"}) == masked_json({name: "value"}) == {name: "value"}
    )
    assert masked_line(f"{name} = value") == f"{name} = value"


@pytest.mark.parametrize("text", SECRETS_IN_TEXTS)
def test_a_secret_inside_a_text_is_masked_whoever_shows_it(text):
    for shown in (
        masked_text(text),
        masked_line(text),
        masked({"note": text})["note"],
        masked_properties({"note": text})["note"],
        masked_json({"deep": [{"location": text}]})["deep"][0]["location"],
    ):
        assert shown is not None
        assert MASK in shown
        assert masked_line(shown) == shown
        assert "hunter2" not in shown
        assert "731934" not in shown


@pytest.mark.parametrize(("text", "shown"), LINES)
def test_values_of_secret_settings_in_a_line_are_masked(text, shown):
    assert masked_line(text) == shown
    assert masked_properties({"note": text}) == {"note": shown}


@pytest.mark.parametrize("predicate", ["token = 'abc'", '["(pwd = 5)"]', "password <> ''"])
def test_a_condition_on_a_column_of_that_name_stays(predicate):
    """What a commit deleted, and what a constraint demands, must be told."""
    assert masked_text(predicate) == predicate
    assert masked({"predicate": predicate}) == {"predicate": predicate}
    assert masked_properties({"delta.constraints.c": predicate}) == {"delta.constraints.c": predicate}


def test_nothing_and_numbers_stay():
    assert (masked_text(None), masked_text("")) == (None, "")
    assert masked({"password": None, "token": ""}) == {"password": None, "token": ""}
    assert masked_json({"token": 5, "version": [1, None, 1.5, True]}) == {"token": 5, "version": [1, None, 1.5, True]}


@pytest.mark.parametrize(
    "text",
    [
        "x" * 200_000,
        "secret" * 30_000,
        "a://" * 40_000,
        "= " * 100_000,
        "a." * 100_000,
        '{"a":' * 40_000,
        '{"' + "a" * 200_000,
    ],
)
def test_hostile_texts_take_no_longer_than_their_length(text):
    """Ten times the length is about ten times the work, whatever the machine."""

    def cost(line: str) -> float:
        began = time.thread_time()
        masked_line(line)
        masked_text(line)
        return time.thread_time() - began

    short = max(min(cost(text[: len(text) // 10]) for _ in range(3)), 0.001)
    assert any(cost(text) < 60 * short for _ in range(3))


@pytest.mark.parametrize("name", ["passphrase", "ssl.key.passphrase", "PassPhrase", "pass_phrase", "sftp.pass-phrase"])
def test_a_passphrase_is_a_secret(name):
    assert is_secret_name(name)
    assert "open sesame" not in str(masked({name: "open sesame"}))
