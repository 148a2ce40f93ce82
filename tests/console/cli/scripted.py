"""A server that answers as it is told, and keeps what it was asked: for what a real one does only on a bad day."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """One answer. With `lost`, the connection ends after the request was read."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    lost: bool = False
    raw: str | None = None  # instead of JSON


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    key: str | None
    body: Any


@contextmanager
def answering(*answers: Answer) -> Iterator[tuple[str, list[Asked]]]:
    """Its address, and what it was asked so far; the answers come in order."""
    asked: list[Asked] = []
    left = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            asked.append(Asked(self.command, self.path, self.headers.get("Idempotency-Key"), body))
            answer = left.pop(0)
            if answer.lost:
                self.close_connection = True
                return
            text = (json.dumps(answer.body) if answer.raw is None else answer.raw).encode()
            self.send_response(answer.status)
            for name, value in {"Content-Length": str(len(text)), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        do_POST = do_GET

        def log_message(self, format: str, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
