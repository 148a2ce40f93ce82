"""The key of one of Google's service accounts, as Google hands it out: a JSON file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Self

GOOGLES_TOKENS = ("https://oauth2.googleapis.com/token", "https://accounts.google.com/o/oauth2/token")
_NEEDED = ("client_email", "private_key_id", "private_key")


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
        return cls(**{name: given[name].strip() for name in _NEEDED}, token_uri=token_uri)

    def as_json(self, **more: str) -> str:
        """For obstore."""
        return json.dumps({**asdict(self), **more}, sort_keys=True)
