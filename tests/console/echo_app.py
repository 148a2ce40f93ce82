"""A small program behind the web process's connections: says how much it was sent, and answers as long as it is asked to."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs


def application(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    """`?answer=N` answers N bytes; `?until=FILE` answers once there is such a file.

    A body of more than a MiB is refused unread; else the body's length is answered.
    """
    length = int(environ.get("CONTENT_LENGTH") or 0)
    query = parse_qs(environ["QUERY_STRING"])
    asked = query.get("answer")
    while "until" in query and not Path(query["until"][0]).exists():
        time.sleep(0.02)
    if length > 1024 * 1024:
        status, body = "413 Content Too Large", b"too large"
    else:
        status, body = "200 OK", b"x" * int(asked[0]) if asked else str(len(environ["wsgi.input"].read())).encode()
    start_response(status, [("Content-Length", str(len(body))), ("Content-Type", "text/plain")])
    return [body]
