"""A bucket of Google Cloud Storage: from one description obstore and Google's connector for Hadoop are both set up."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlsplit

from obstore.exceptions import BaseError
from obstore.store import GCSStore

from tables.storage.description import Description, HadoopSettings, ending
from tables.storage.gcs import hadoop
from tables.storage.gcs.account import GOOGLES_TOKENS, Account
from tables.storage.objects.client import for_client, is_address
from tables.storage.objects.endpoints import is_endpoint
from tables.storage.objects.redirects import sent_on_to
from tables.storage.objects.tree import Bucket
from tables.storage.patience import PATIENT, Patience
from tables.storage.store import StorageError

MOST_SECRET = 10_000
ALL = "gs://"  # what all of its buckets have in common


@dataclass(frozen=True, slots=True)
class GcsOptions:
    """How one bucket is reached. `endpoint` is empty for Google itself; no account means that the process's own identity is used."""

    bucket: str
    endpoint: str = ""
    account: Account | None = None

    @classmethod
    def of(cls, bucket: str, given: Description) -> GcsOptions:
        """A bucket as a person has described it. Raises StorageError for a key that `faults` names."""
        try:
            return cls(bucket, given.endpoint, Account.parse(given.secret) if given.secret else None)
        except ValueError:
            raise StorageError(f"the key of the bucket {bucket} isn't a service account's; enter it again") from None

    @property
    def prefix(self) -> str:
        return f"{ALL}{self.bucket}"

    @property
    def scope(self) -> str:
        return ALL

    @property
    def fingerprint(self) -> str:
        """The same for all buckets that are reached alike: Hadoop has one description for all of them."""
        account = self.account.as_json() if self.account else ""
        return hashlib.sha256(f"{self.endpoint} {account}".encode()).hexdigest()

    @property
    def silence(self) -> str:
        return "" if self.account else "; or this machine has no identity of Google’s, and the bucket needs a key"

    def require_address(self) -> None:
        """Nothing can be wrong with it: the bucket never stands in the host."""

    def for_obstore(self, waiting: Patience = PATIENT) -> dict[str, Any]:
        """Keyword arguments of obstore's `GCSStore`."""
        config: dict[str, Any] = {}
        if self.account:
            elsewhere = {"gcs_base_url": self.endpoint} if self.endpoint else {}
            config["service_account_key"] = self.account.as_json(**elsewhere)
        # With a key obstore signs its tokens itself and asks nobody else for them.
        only = urlsplit(self.endpoint).hostname if self.endpoint else None
        return {"config": config, **for_client(waiting, plain=self.endpoint.startswith("http://"), only=only)}

    def store(self, waiting: Patience = PATIENT) -> GCSStore:
        try:
            return GCSStore(self.bucket, **self.for_obstore(waiting))
        except BaseError:
            raise StorageError(f"the bucket {self.bucket} can't be opened as it is described") from None

    def for_tasks(self) -> Bucket:
        return Bucket("GCSStore", self.bucket, self.prefix, self.for_obstore())

    def for_hadoop(self) -> HadoopSettings:
        return hadoop.connector(self.prefix, self.endpoint, self.account)

    def reach(self) -> str:
        where = self.endpoint or "Google Cloud Storage"
        if self.account is None:
            return f"{where}, with the identity of Levee’s own processes."
        return f"{where}, as {self.account.client_email}, with its key {ending(self.account.private_key_id)}."

    def sent_on_to(self) -> str | None:
        return sent_on_to(self.endpoint, f"{self.endpoint}/{quote(self.bucket)}?list-type=2&max-keys=0")


def completed(given: Description) -> Description:
    """With the ID that the key itself says, where one is given."""
    with suppress(ValueError):
        if given.secret:
            return replace(given, key_id=Account.parse(given.secret).private_key_id)
    return given


def faults(given: Description) -> Iterator[tuple[str, str]]:
    """What is wrong with a description, by the name of the field."""
    if given.endpoint and not (is_endpoint(given.endpoint) and is_address(given.endpoint)):
        yield (
            "endpoint",
            "The endpoint must be http:// or https:// and a host, with a port perhaps and without a path; empty means Google.",
        )
    if given.region:
        yield "region", "A bucket of Google’s takes no region here: leave it empty."
    if given.session_token:
        yield "session_token", "A service account’s key has no session token: leave it empty."
    if len(given.key_id) > 128 or not re.fullmatch(r"[\x21-\x7e]*", given.key_id):
        yield "key_id", "A key ID has at most 128 printable characters, without spaces."
    elif given.endpoint and not given.key_id:
        yield "secret", "An endpoint of your own takes a service account’s key: enter it."
    if given.secret:
        yield from _faults_of_key(given)


def _faults_of_key(given: Description) -> Iterator[tuple[str, str]]:
    if len(given.secret) > MOST_SECRET:
        yield "secret", f"A service account’s key has at most {MOST_SECRET:,} characters."
        return
    try:
        account = Account.parse(given.secret)
    except ValueError as error:
        yield "secret", str(error)
        return
    if not _is_googles(account, given.endpoint):
        yield "secret", "The key’s token_uri must be Google’s, or lie at the endpoint."
    elif given.endpoint.startswith("http://") and account.token_uri in GOOGLES_TOKENS:
        yield (
            "endpoint",
            "A key of Google’s own goes to no http:// endpoint: whoever listens there would have it. Use https://.",
        )
    try:
        GcsOptions("any", account=account).store()
    except StorageError:
        yield (
            "secret",
            "Levee can’t use the service account’s key: its private_key can’t be read, or GOOGLE_SERVICE_ACCOUNT is set.",
        )


def _is_googles(account: Account, endpoint: str) -> bool:
    """Hadoop's connector sends it what the key signs: never to a place that is neither Google's nor the store's own."""
    return account.token_uri in GOOGLES_TOKENS or (bool(endpoint) and account.token_uri.startswith(f"{endpoint}/"))
