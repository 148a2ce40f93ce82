"""What a person may enter as a store's endpoint."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from tables.storage.objects.client import is_address

ENDPOINT = r"^https?://[A-Za-z0-9.:\[\]-]+$"


def is_endpoint(text: str) -> bool:
    """Whether it is http:// or https:// and a host, with a port perhaps and without a path."""
    if len(text) > 300 or not re.fullmatch(ENDPOINT, text):
        return False
    try:
        parts = urlsplit(text)
        has_port = parts.port is None or parts.port > 0
        return has_port and _is_host(parts.hostname or "") and is_address(text)
    except ValueError:
        return False


def _is_host(name: str) -> bool:
    """Not `1.2.3`, which URLs take for 1.2.0.3. Raises ValueError for what ends as an IP address does and is none."""
    if re.fullmatch(r"\d+|0x[0-9a-f]*", name.rstrip(".").rsplit(".", 1)[-1]):
        ipaddress.ip_address(name)
    return bool(name)
