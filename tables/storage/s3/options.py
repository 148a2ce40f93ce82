"""A bucket of a store that speaks S3: from one description obstore and Spark's s3a are both set up."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

from obstore.exceptions import BaseError
from obstore.store import S3Store

from tables.storage.description import Description, HadoopSettings, ending
from tables.storage.objects.client import for_client, is_address
from tables.storage.objects.endpoints import is_endpoint
from tables.storage.objects.redirects import sent_on_to
from tables.storage.objects.tree import Bucket
from tables.storage.patience import PATIENT, Patience
from tables.storage.s3 import hadoop
from tables.storage.store import StorageError

REGION_OF_NONE = "us-east-1"  # what stores other than AWS go by unless told otherwise
_REGION = re.compile(r"[A-Za-z0-9-]{1,50}")
_NO_ADDRESS = "its endpoint, or the bucket's name in front of it, is no host. Change the endpoint, or set path style"


@dataclass(frozen=True, slots=True)
class S3Options:
    """How one bucket is reached. `endpoint` is empty for AWS itself; no key means that the process's own identity is used."""

    bucket: str
    endpoint: str = ""
    region: str = REGION_OF_NONE
    key_id: str = ""
    secret: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    path_style: bool = True

    @classmethod
    def of(cls, bucket: str, given: Description) -> S3Options:
        """A bucket as a person has described it."""
        own = (given.endpoint, given.region, given.key_id, given.secret, given.session_token)
        return cls(bucket, *own, path_style=given.path_style)

    @property
    def prefix(self) -> str:
        return f"s3://{self.bucket}"

    @property
    def scope(self) -> str:
        return self.prefix

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    @property
    def silence(self) -> str:
        return (
            "" if self.path_style else "; or the store wants path style"
        )  # the bucket's own host name is then what isn't there

    def for_obstore(self, waiting: Patience = PATIENT) -> dict[str, Any]:
        """Keyword arguments of obstore's `S3Store`."""
        config: dict[str, Any] = {"region": self.region, "virtual_hosted_style_request": not self.path_style}
        for name, value in (
            ("endpoint", self.address),
            ("access_key_id", self.key_id),
            ("secret_access_key", self.secret),
            ("session_token", self.token),
        ):
            if value:
                config[name] = value
        # Without an endpoint or a key any host may be asked: for the process's own identity.
        only = urlsplit(self.address).hostname if self.endpoint and self.key_id else None
        return {"config": config, **for_client(waiting, plain=self.endpoint.startswith("http://"), only=only)}

    @property
    def address(self) -> str:
        """The endpoint; obstore wants the bucket in its host where the store does, and Spark's s3a puts it there itself."""
        scheme, separator, host = self.endpoint.partition("://")
        return self.endpoint if self.path_style or not separator else f"{scheme}://{self.bucket}.{host}"

    def require_address(self) -> None:
        """Raises StorageError where requests would go to what is no address, as `bucket.127.0.0.1`."""
        own = f"https://{self.bucket}.s3.amazonaws.com"
        if not is_address(self.address or own):
            raise StorageError(f"the bucket {self.bucket} can't be asked as it is described: {_NO_ADDRESS}")

    def store(self, waiting: Patience = PATIENT) -> S3Store:
        self.require_address()
        try:
            return S3Store(self.bucket, **self.for_obstore(waiting))
        except BaseError:
            raise StorageError(f"the bucket {self.bucket} can't be opened as it is described") from None

    def for_tasks(self) -> Bucket:
        return Bucket("S3Store", self.bucket, self.prefix, self.for_obstore())

    def for_hadoop(self) -> HadoopSettings:
        described = {
            "endpoint": self.endpoint,
            "endpoint.region": self.region,
            "path.style.access": str(self.path_style).lower(),
            "connection.ssl.enabled": str(not self.endpoint.startswith("http://")).lower(),
            "access.key": self.key_id,
            "secret.key": self.secret,
            "session.token": self.token,
            "aws.credentials.provider": hadoop.provider(self.key_id, self.token),
        }
        return hadoop.s3a(self.bucket, described)

    def reach(self) -> str:
        where = self.endpoint or "AWS"
        key = f"the key {ending(self.key_id)}" if self.key_id else "the identity of Levee’s own processes"
        style = "in the path" if self.path_style else "in the host name"
        return f"{where}, region {self.region}, with {key}; the bucket is named {style}."

    def sent_on_to(self) -> str | None:
        listing = f"{self.address}/{quote(self.bucket) if self.path_style else ''}?list-type=2&max-keys=0"
        return sent_on_to(self.endpoint, listing)


def faults(given: Description) -> Iterator[tuple[str, str]]:
    """What is wrong with a description, by the name of the field."""
    if given.endpoint and not is_endpoint(given.endpoint):
        yield (
            "endpoint",
            "The endpoint must be http:// or https:// and a host, with a port perhaps and without a path; empty means AWS.",
        )
    elif given.endpoint and not given.path_style and not is_address(given.endpoint.replace("://", "://x.")):
        yield "path_style", "A store named by an IP address takes path style."
    if not _REGION.fullmatch(given.region):
        yield "region", "A region has letters, digits and dashes."
    if len(given.key_id) > 128 or "${" in given.key_id or not re.fullmatch(r"[\x21-\x7e]*", given.key_id):
        yield "key_id", "A key ID has at most 128 printable characters, without spaces."
    for name, most in (("secret", 1_000), ("session_token", 10_000)):
        value = getattr(given, name)
        if "${" in value:
            yield (
                name,
                f"A {name.replace('_', ' ')} can’t hold ${{: Hadoop would put a setting of its own in its place.",
            )
        elif len(value) > most or not re.fullmatch(r"[\x21-\x7e]*", value):
            yield name, f"A {name.replace('_', ' ')} has at most {most:,} printable characters, without spaces."
        elif value and not given.key_id:
            yield "key_id", "A secret or session token needs the key ID that it belongs to."
