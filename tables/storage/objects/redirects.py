"""Whether an endpoint sends its requests on to another place, asked without a key and without following."""

from __future__ import annotations

import re
import urllib.request
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urljoin, urlsplit

from tables.storage.patience import BRIEF

_PLACE = re.compile(r"https?://[A-Za-z0-9.:\[\]-]{1,100}")  # more of a store's answer is never repeated
_PORTS = {"http": 80, "https": 443}


class _Unfollowed(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Leaves a redirect as the answer that it is."""


def sent_on_to(endpoint: str, address: str) -> str | None:
    """Scheme, host and port that an endpoint of one's own redirects a listing at `address` to, if they aren't its own.

    None if it does not, or doesn't answer. The cloud's own, whose endpoint is empty, isn't asked.
    """
    if not endpoint:
        return None
    try:
        request = urllib.request.Request(address, headers={"User-Agent": "levee"})  # noqa: S310 - http(s), as it was checked
        urllib.request.build_opener(_Unfollowed).open(request, timeout=BRIEF.answer_s).close()
    except HTTPError as answer:
        with answer:
            return _elsewhere(address, answer.headers.get("Location")) if 300 <= answer.code < 400 else None
    except (OSError, ValueError):  # obstore says what is wrong
        return None
    return None


def _elsewhere(address: str, location: str | None) -> str | None:
    if not location:
        return None
    here, there = urlsplit(address), urlsplit(urljoin(address, location))
    if _origin(here.scheme, here.hostname, here.port) == _origin(there.scheme, there.hostname, there.port):
        return None
    place = f"{there.scheme}://{there.netloc.rpartition('@')[2]}"
    return place if _PLACE.fullmatch(place) else "another place"


def _origin(scheme: str, host: str | None, port: int | None) -> tuple[str, str | None, int | None]:
    return scheme, host, port or _PORTS.get(scheme)
