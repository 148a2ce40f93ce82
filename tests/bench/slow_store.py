"""An S3 that reads and answers late: what it costs to be far from the data.

It serves one directory as one bucket: lists (version 2, with prefix, delimiter, start-after, continuation-token and max-keys), HEAD and
GET with ranges. Everything else is refused. `python -m tests.bench.slow_store DIRECTORY MILLISECONDS` prints its address.
"""

from __future__ import annotations

import asyncio
import bisect
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from console.supervisor.tools import PROJECT

BUCKET = "lake"
MOST_KEYS = 1_000


class Store:
    """The files of a directory, listed once."""

    def __init__(self, directory: Path, delay_s: float) -> None:
        self.directory, self.delay_s = directory, delay_s
        self.keys = sorted(str(file.relative_to(directory)) for file in directory.rglob("*") if file.is_file())

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: request after request."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode("latin-1").split("\r\n")
                method, target, _ = lines[0].split(" ")
                headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
                await asyncio.sleep(self.delay_s)
                writer.write(self.answer(method, target, headers))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def answer(self, method: str, target: str, headers: dict[str, str]) -> bytes:
        parts = urlsplit(target)
        bucket, _, key = unquote(parts.path).removeprefix("/").partition("/")
        if bucket != BUCKET or method not in ("GET", "HEAD"):
            return _response("403 Forbidden", b"", {})
        if not key:
            options = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
            return _response("200 OK", self.listing(options).encode(), {"Content-Type": "application/xml"})
        return self.file(method, key, headers.get("range", ""))

    def file(self, method: str, key: str, range_: str) -> bytes:
        path = self.directory / key
        if not path.is_file():
            return _response("404 Not Found", b"<Error><Code>NoSuchKey</Code></Error>", {})
        content = path.read_bytes()
        told = {"Last-Modified": _http_date(path), "ETag": f'"{len(content)}"', "Accept-Ranges": "bytes"}
        if method == "HEAD":
            return _response("200 OK", b"", told, length=len(content))
        if not range_:
            return _response("200 OK", content, told)
        first, last = _bounds(range_, len(content))
        told["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        return _response("206 Partial Content", content[first : last + 1], told)

    def listing(self, options: dict[str, str]) -> str:
        prefix, delimiter = options.get("prefix", ""), options.get("delimiter", "")
        after = options.get("continuation-token") or options.get("start-after", "")
        most = int(options.get("max-keys", MOST_KEYS))
        files: list[str] = []
        folders: dict[str, None] = {}
        last = ""
        first = max(bisect.bisect_left(self.keys, prefix), bisect.bisect_right(self.keys, after))
        for key in (self.keys[at] for at in range(first, len(self.keys))):
            if not key.startswith(prefix) or len(files) + len(folders) == most:
                break
            last, cut = key, key.find(delimiter, len(prefix)) if delimiter else -1
            if cut < 0:
                files.append(key)
            else:
                folders[key[: cut + 1]] = None
        else:
            last = ""
        more = bool(last) and len(files) + len(folders) == most
        return (
            '<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>{BUCKET}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(files)}</KeyCount><IsTruncated>{str(more).lower()}</IsTruncated>"
            + (f"<NextContinuationToken>{escape(last)}</NextContinuationToken>" if more else "")
            + "".join(self._contents(key) for key in files)
            + "".join(f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>" for folder in folders)
            + "</ListBucketResult>"
        )

    def _contents(self, key: str) -> str:
        status = (self.directory / key).stat()
        changed = datetime.fromtimestamp(status.st_mtime, UTC)
        return (
            f"<Contents><Key>{escape(key)}</Key><LastModified>{changed:%Y-%m-%dT%H:%M:%S}.000Z</LastModified>"
            f"<ETag>&quot;{status.st_size}&quot;</ETag><Size>{status.st_size}</Size></Contents>"
        )


def _bounds(range_: str, size: int) -> tuple[int, int]:
    first, _, last = range_.removeprefix("bytes=").partition("-")
    if not first:
        return max(0, size - int(last)), size - 1
    return int(first), min(int(last), size - 1) if last else size - 1


def _http_date(path: Path) -> str:
    return format_datetime(datetime.fromtimestamp(path.stat().st_mtime, UTC), usegmt=True)


def _response(status: str, body: bytes, headers: dict[str, str], length: int | None = None) -> bytes:
    told = {"Content-Length": str(len(body) if length is None else length), **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode("latin-1") + body


@contextmanager
def serving(directory: Path, milliseconds: int) -> Iterator[str]:
    """The address of a store of the directory, in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.slow_store", str(directory), str(milliseconds)]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


async def _main(directory: Path, milliseconds: int) -> None:
    server = await asyncio.start_server(Store(directory, milliseconds / 1000).serve, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1]), int(sys.argv[2])))
