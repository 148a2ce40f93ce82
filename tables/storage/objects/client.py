"""What obstore's client of any store is told, and what it can ask."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.request import getproxies_environment

import obstore

from tables.storage.patience import Patience

NO_PROXY_THERE = "http://127.0.0.1:1"


def for_client(waiting: Patience, *, plain: bool, only: str | None) -> dict[str, Any]:
    """What obstore's client of any store is told: how long it waits, whether `http://` is meant, and the one host that it may ask.

    obstore follows redirects and can't be told not to: all other hosts lie behind a proxy that isn't there. A proxy of the environment's
    stays: it decides what can be reached.
    """
    client: dict[str, Any] = {"connect_timeout": f"{waiting.connect_s:g}s", "timeout": f"{waiting.answer_s:g}s"}
    if plain:
        client["allow_http"] = True
    if only is not None and not getproxies_environment().keys() & {"http", "https", "all"}:
        client |= {"proxy_url": NO_PROXY_THERE, "proxy_excludes": only}
    retries = {"max_retries": waiting.retries, "retry_timeout": timedelta(seconds=waiting.answer_s)}
    return {"client_options": client, "retry_config": retries}


def is_address(url: str) -> bool:
    """Whether obstore can read a URL. A request to one that it can't read doesn't fail but panics."""
    try:
        obstore.parse_scheme(url)
    except ValueError:
        return False
    return True
