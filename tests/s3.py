"""An object store of the tests' own: moto's S3 behind a door that knows key IDs, as real stores do."""

from __future__ import annotations

import json
import re
import threading
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import obstore
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from obstore.store import S3Store
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

KEY_ID, SECRET = "AKIATESTSFIRSTKEY123", "first-secret-of-the-tests"  # no real credential looks so
_CREDENTIAL = re.compile(r"Credential=([^/]+)/[^/]+/([^/]+)/")


class Silent(WSGIRequestHandler):
    def log(self, *_: Any) -> None:
        pass


@dataclass
class Door:
    """Lets requests in by their key; `refuses` answers each of them with a status and a code of S3's instead."""

    keys: set[str] = field(default_factory=lambda: {KEY_ID})
    region: str = "us-east-1"
    refuses: tuple[int, str] | None = None
    requests: list[str] = field(default_factory=list)
    keys_seen: set[str] = field(default_factory=set)
    inside: Any = field(default_factory=lambda: DomainDispatcherApplication(create_backend_app))

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        self.requests.append(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}?{environ.get('QUERY_STRING', '')}")
        match = _CREDENTIAL.search(environ.get("HTTP_AUTHORIZATION", ""))
        key, region = (match[1], match[2]) if match else ("", "")
        self.keys_seen.add(key)
        refusal = self.refuses or (None if key in self.keys else (403, "InvalidAccessKeyId"))
        if refusal is None and region != self.region:
            refusal = (400, "AuthorizationHeaderMalformed")
        if refusal is None:
            return self.inside(environ, start_response)
        status, code = refusal
        body = f"<Error><Code>{code}</Code><Region>{self.region}</Region><AWSAccessKeyId>{key}</AWSAccessKeyId></Error>"
        start_response(f"{status} no", [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
        return [body.encode()]


@dataclass(frozen=True)
class Store:
    """One bucket of the server, new and empty."""

    endpoint: str
    bucket: str
    door: Door

    @property
    def uri(self) -> str:
        return f"s3://{self.bucket}"

    def storage(self, **other: Any) -> dict[str, Any]:
        """How the bucket is reached, as the API takes it."""
        return {"endpoint": self.endpoint, "region": "us-east-1", "key_id": KEY_ID, "secret": SECRET} | other

    def opened(self) -> S3Store:
        config: dict[str, Any] = {
            "endpoint": self.endpoint,
            "region": self.door.region,
            "access_key_id": next(iter(self.door.keys)),
            "secret_access_key": SECRET,
        }
        return S3Store(self.bucket, config=config, client_options={"allow_http": True})

    def put(self, key: str, body: bytes = b"x") -> None:
        obstore.put(self.opened(), key, body)

    def clear(self, prefix: str) -> None:
        obstore.delete(self.opened(), [key for key in self.listed() if key.startswith(prefix)])

    def listed(self) -> list[str]:
        return [str(meta["path"]) for page in obstore.list(self.opened()) for meta in page]

    def sizes(self, below: str) -> list[int]:
        """Bytes of each parquet file below a prefix, without checkpoints."""
        found = [meta for page in obstore.list(self.opened(), below) for meta in page]
        return [
            meta["size"] for meta in found if "_delta_log" not in meta["path"] and meta["path"].endswith(".parquet")
        ]

    def delta(self, key: str, rows: int = 3, first: int = 0, **options: Any) -> str:
        """Writes a Delta table there, or a file of one, by another engine than Levee's; answers its place."""
        ids = list(range(first, first + rows))
        table = pa.table({"id": ids, "country": [("DE", "FR")[i % 2] for i in ids]})
        write_deltalake(f"{self.uri}/{key}", table, storage_options=self._for_deltalake(), **options)
        return f"{self.uri}/{key}"

    def read(self, place: str) -> DeltaTable:
        """The Delta table at a place, read by that other engine."""
        return DeltaTable(place, storage_options=self._for_deltalake())

    def marks(self, place: str) -> dict[str, list[int]]:
        """The versions of a table's log that name each job, by the commits' own bytes."""
        found: dict[str, list[int]] = {}
        log = f"{place.removeprefix(self.uri).strip('/')}/_delta_log/"
        for key in sorted(key for key in self.listed() if key.startswith(log) and key.endswith(".json")):
            body = bytes(obstore.get(self.opened(), key).bytes())
            for line in body.splitlines():
                text = json.loads(line).get("commitInfo", {}).get("userMetadata") or "{}"
                if job := json.loads(text).get("job"):
                    found.setdefault(job, []).append(int(key.removeprefix(log).removesuffix(".json")))
        return found

    def _for_deltalake(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": self.door.region,
            "AWS_ACCESS_KEY_ID": next(iter(self.door.keys)),
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_S3_ALLOW_UNSAFE_RENAME": "true",
        }


def server_of(door: Door, port: int = 0) -> BaseWSGIServer:
    """A server on this machine that answers through the door once it is told to serve."""
    return make_server("127.0.0.1", port, door, threaded=True, request_handler=Silent)


def put_raw(address: str, path: str, key_id: str, body: bytes = b"") -> None:
    """Makes a bucket or an object there, whatever its name holds: obstore takes the stroke off the end of a directory's mark."""
    signed = f"AWS4-HMAC-SHA256 Credential={key_id}/20260101/us-east-1/s3/aws4_request"  # moto checks no more
    url = f"{address}/{urllib.parse.quote(path)}"
    headers = {"Authorization": signed, "Content-Type": "application/octet-stream"}
    urllib.request.urlopen(urllib.request.Request(url, body, headers, method="PUT")).close()


@contextmanager
def serving() -> Iterator[tuple[str, Door]]:
    """The server's address and its door, until the end of the block."""
    door = Door()
    server = server_of(door)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", door
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def a_bucket(address: str, door: Door) -> Iterator[Store]:
    """A bucket of its own, with the door as it is at first."""
    door.keys, door.refuses, door.region = {KEY_ID}, None, "us-east-1"
    bucket = f"lake-{uuid.uuid4().hex[:12]}"
    put_raw(address, bucket, KEY_ID)
    door.requests.clear()
    yield Store(address, bucket, door)
