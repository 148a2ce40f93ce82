"""The key of one of Google's service accounts, as Google hands it out: a JSON file."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from typing import Self

GOOGLES_TOKENS = ("https://oauth2.googleapis.com/token", "https://accounts.google.com/o/oauth2/token")
_NEEDED = ("client_email", "private_key_id", "private_key")
# Printable and no $: Hadoop would put other settings, and the environment, in the place of ${…}.
_PLAIN = re.compile(r"[!-#%-~]+")
# PKCS#8, as Google writes it.
_PEM = re.compile(r"-----BEGIN PRIVATE KEY-----[A-Za-z0-9+/=\s]+-----END PRIVATE KEY-----")


@dataclass(frozen=True, slots=True)
class Account:
    """Who asks, and by which of its keys. `token_uri` gives out tokens for it."""

    client_email: str
    private_key_id: str
    private_key: str = field(repr=False)
    token_uri: str = GOOGLES_TOKENS[0]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError, with what is wrong, for a text that is no such key."""
        try:
            given = json.loads(text)
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict):
            raise ValueError("Enter the whole JSON file of the service account’s key.")
        if given.get("type") != "service_account":
            raise ValueError("The JSON isn’t the key of a service account: its type must be service_account.")
        names = [name for name in _NEEDED if not isinstance(given.get(name), str) or not given[name].strip()]
        if names:
            raise ValueError(f"The service account’s key lacks {' and '.join(names)}.")
        token_uri = str(given.get("token_uri") or GOOGLES_TOKENS[0])
        if odd := [name for name in _NEEDED[:2] if not _PLAIN.fullmatch(given[name].strip())]:
            raise ValueError(
                f"The service account’s key has characters in {' and '.join(odd)} that none of Google’s has."
            )
        if not _PLAIN.fullmatch(token_uri):
            raise ValueError("The token_uri of the service account’s key is no address.")
        if not _PEM.fullmatch(given["private_key"].strip()):
            raise ValueError(
                "The private_key of the service account’s key isn’t one of Google’s: -----BEGIN PRIVATE KEY-----."
            )
        return cls(**{name: given[name].strip() for name in _NEEDED}, token_uri=token_uri)

    def as_json(self, **more: str) -> str:
        """For obstore."""
        return json.dumps({**asdict(self), **more}, sort_keys=True)
