"""A reverse proxy as small as one can be: it hands on what lies below a path, and is otherwise another application of the same host."""

from __future__ import annotations

import contextlib
import http.client
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.patience import limit

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "server", "date"}


@dataclass
class Proxy:
    """Where it listens, and what it does with the path that it serves."""

    port: int
    prefix: str
    to: int = 0
    strips: bool = False  # as nginx's `proxy_pass http://…/;`; without it as `proxy_pass http://…;`
    elsewhere: list[tuple[str, str]] = field(
        default_factory=list
    )  # path and cookies of what went to the other application

    def passed_on(self, path: str) -> str | None:
        """The path for Levee; None for the other application's."""
        if not path.startswith(f"{self.prefix}/"):
            return None
        return path.removeprefix(self.prefix) if self.strips else path


@contextlib.contextmanager
def proxying(proxy: Proxy) -> Iterator[Proxy]:
    """Serves until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            path = proxy.passed_on(self.path)
            if path is None:
                proxy.elsewhere.append((self.path, self.headers.get("Cookie", "")))
                self._answer(404, [], b"another application's")
                return
            connection = http.client.HTTPConnection("127.0.0.1", proxy.to, timeout=limit(30))
            with contextlib.closing(connection):
                connection.request(self.command, path, body, dict(self.headers))
                response = connection.getresponse()
                self._answer(response.status, response.getheaders(), response.read())

        def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
            self.send_response_only(status)
            for name, value in headers:
                if name.lower() not in HOP_BY_HOP:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_DELETE = do_PATCH = do_PUT = _serve

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", proxy.port), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
