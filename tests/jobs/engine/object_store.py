"""The tests' S3 as a place that can be shut and opened again, and whose key can be changed."""

from __future__ import annotations

import threading

from werkzeug.serving import BaseWSGIServer

from tables.storage.s3.options import S3Options
from tests import s3


class ObjectStore:
    """A bucket `lake` on this machine. `options` describe it as a root does, and change with `rotate`."""

    bucket = "lake"

    def __init__(self) -> None:
        self.door = s3.Door(keys={"key-1"})
        self._server: BaseWSGIServer | None = None
        self._port = 0
        self.open()
        s3.put_raw(self.endpoint, self.bucket, self.key)
        self._store().clear("")  # moto keeps one memory for the whole process

    @property
    def key(self) -> str:
        return next(iter(self.door.keys))

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def options(self) -> S3Options:
        return S3Options(self.bucket, endpoint=self.endpoint, key_id=self.key, secret=f"secret of {self.key}")

    def _store(self) -> s3.Store:
        return s3.Store(self.endpoint, self.bucket, self.door)

    def lookup(self, prefix: str) -> S3Options | None:
        return self.options if prefix == f"s3://{self.bucket}" else None

    def rotate(self, key: str) -> None:
        """From now on this key alone is let in."""
        self.door.keys = {key}

    def open(self) -> None:
        """Answers again, at the address that it had, if it doesn't anyway."""
        if self._server is not None:
            return
        self._server = s3.server_of(self.door, self._port)
        self._port = self._server.port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def shut(self) -> None:
        """Refuses every connection; what it holds stays."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def put(self, key: str, body: bytes) -> None:
        s3.put_raw(self.endpoint, f"{self.bucket}/{key}", self.key, body)

    def remove(self, key: str) -> None:
        """Removes every key that begins so."""
        self._store().clear(key)

    def names(self, prefix: str) -> list[str]:
        """The keys below a prefix, in order."""
        return sorted(key for key in self._store().listed() if key.startswith(prefix))
