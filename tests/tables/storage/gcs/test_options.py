"""A bucket of Google's by its description: what is refused, and what obstore and Hadoop's connector are told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tables.storage.description import Description
from tables.storage.gcs.account import GOOGLES_TOKENS
from tables.storage.gcs.options import GcsOptions, completed, faults
from tests.gcs import ACCOUNT, KEY_ID, private_key

HERE = "http://127.0.0.1:9000"


def key(**other: Any) -> str:
    given = {"private_key_id": KEY_ID, "private_key": private_key(), "client_email": ACCOUNT}
    return json.dumps({"type": "service_account", **given, "token_uri": GOOGLES_TOKENS[0], **other})


def wrong(**given: Any) -> dict[str, str]:
    return dict(faults(completed(Description(**given))))


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"secret": key()},
        {"secret": key(token_uri=GOOGLES_TOKENS[1]), "endpoint": "https://storage.example"},
        {"secret": key(token_uri=f"{HERE}/token"), "endpoint": HERE},
        {"secret": key(token_uri=None)},
        {"secret": key(), "key_id": "the-id-of-the-key-before"},
        {"key_id": KEY_ID},
    ],
)
def test_a_sound_description_has_no_faults(given: dict[str, str]) -> None:
    assert wrong(**given) == {}


@pytest.mark.parametrize(
    ("given", "field", "part"),
    [
        ({"region": "europe-west1"}, "region", "no region"),
        ({"session_token": "t", "secret": key()}, "session_token", "no session token"),
        ({"endpoint": "ftp://x"}, "endpoint", "empty means Google"),
        ({"endpoint": HERE}, "secret", "takes a service account’s key"),
        ({"key_id": "a b"}, "key_id", "printable"),
        ({"secret": "a-secret"}, "secret", "the whole JSON file"),
        ({"secret": "[1]"}, "secret", "the whole JSON file"),
        ({"secret": "[" * 5_000}, "secret", "the whole JSON file"),
        ({"secret": "{}"}, "secret", "service_account"),
        ({"secret": key(type="authorized_user")}, "secret", "service_account"),
        ({"secret": key(client_email="", private_key=7)}, "secret", "lacks client_email and private_key"),
        ({"secret": key(private_key="nothing")}, "secret", "private_key"),
        ({"secret": key(token_uri="https://elsewhere.example/token")}, "secret", "token_uri"),
        ({"secret": key(token_uri=f"{HERE}/token")}, "secret", "token_uri"),
        ({"secret": key(token_uri=f"{HERE}0/token"), "endpoint": HERE}, "secret", "token_uri"),
        ({"secret": key(), "endpoint": HERE}, "endpoint", "https://"),
        ({"secret": key(client_email="${env.LEVEE_SECRET_KEY}@x")}, "secret", "client_email"),
        ({"secret": key(client_email="a\n@x")}, "secret", "client_email"),
        ({"secret": key(private_key_id="\ud800")}, "secret", "private_key_id"),
        ({"secret": key(token_uri=f"{HERE}/\ud800"), "endpoint": HERE}, "secret", "token_uri"),
        ({"secret": key(private_key=private_key().replace("PRIVATE", "RSA PRIVATE"))}, "secret", "private_key"),
        ({"secret": key(filler="x" * 10_000)}, "secret", "10,000"),
    ],
)
def test_what_is_wrong_is_said_of_its_field(given: dict[str, str], field: str, part: str) -> None:
    assert part in wrong(**given)[field]
    assert private_key() not in str(wrong(**given))


def described(**given: Any) -> GcsOptions:
    return GcsOptions.of("lake", completed(Description(**given)))


def test_hadoop_is_told_of_the_account_and_of_nothing_else() -> None:
    told = described(secret=key()).for_hadoop()
    account = "fs.gs.auth.service.account"
    assert told.values == {
        "fs.gs.token.server.url": GOOGLES_TOKENS[0],
        f"{account}.email": ACCOUNT,
        f"{account}.private.key.id": KEY_ID,
        f"{account}.private.key": private_key().strip(),
    }
    assert (told.uris, told.mark) == (["gs://lake/"], (f"{account}.private.key.id", KEY_ID))
    nobody = described().for_hadoop()
    assert (nobody.values, set(told.values) - set(nobody.own)) == ({}, set())


def test_an_endpoint_of_one_s_own_is_told_to_both() -> None:
    options = described(secret=key(token_uri=f"{HERE}/token"), endpoint=HERE)
    assert options.for_hadoop().values["fs.gs.storage.root.url"] == f"{HERE}/"
    asked = options.for_obstore()
    assert json.loads(asked["config"]["service_account_key"])["gcs_base_url"] == HERE
    assert asked["client_options"]["proxy_excludes"] == "127.0.0.1", "a redirect leads nowhere else"


def test_secrets_are_never_shown() -> None:
    options = described(secret=key())
    assert "PRIVATE KEY" not in repr((options, options.for_tasks(), options.for_hadoop(), options.reach()))
    assert KEY_ID not in options.reach()


def test_buckets_that_are_reached_alike_have_one_description() -> None:
    here, other = described(secret=key()), GcsOptions.of("other", completed(Description(secret=key())))
    assert (here.fingerprint, here.scope) == (other.fingerprint, other.scope)
    assert here.fingerprint not in (described().fingerprint, described(secret=key(private_key_id="2")).fingerprint)
