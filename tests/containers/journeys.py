"""What people do with a composition that has just been brought up, in containers or by `manage.py cluster`: by HTTP and by command."""

from __future__ import annotations

import http.cookiejar
import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.containers.podman import Failed, say
from tests.patience import limit

READY_S = 300.0
JOB_S = 150.0
ROWS, GONE = 4000, 1000
STORED = "s3://lake/sales/orders"
FILES = f"""
import io, pathlib, sys
import obstore, pyarrow as pa, pyarrow.parquet as pq
store = obstore.store.S3Store(
    "lake", endpoint=STORE, region="us-east-1", access_key_id="levee", secret_access_key=SECRET,
    client_options={{"allow_http": True}},
)
for place in ("orders", "arriving"):
    folder = pathlib.Path(FOLDER) / place
    folder.mkdir(parents=True)
    for part in range(4):
        ids = list(range(part, {ROWS}, 4))
        rows = pa.table({{"id": ids, "country": [["FR", "DE", "IT", "ES"][part]] * len(ids)}})
        pq.write_table(rows, folder / f"{{part}}.parquet")
        obstore.put(store, f"sales/{{place}}/{{part}}.parquet", (folder / f"{{part}}.parquet").read_bytes())
"""


@dataclass(frozen=True)
class Lake:
    """A directory and the bucket `lake` of an object store: of docker-compose.yml unless told. One in memory takes every secret."""

    secret: str
    folder: str = "/lake"
    store: str = "http://store:9000"
    knows_its_key: bool = True

    @property
    def files(self) -> str:
        """The program that writes parquet files into both."""
        return f"SECRET, FOLDER, STORE = {self.secret!r}, {self.folder!r}, {self.store!r}\n{FILES}"


@dataclass
class Known:
    """What has been done, and must still be there after a restart. `tables`: in the directory, and in the object store."""

    lake: Lake
    tables: list[str] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)
    streamed: str = ""


@dataclass
class Console:
    """The composition as its users see it: `manage` runs manage.py in `web`, `inside` any command in a service."""

    address: str
    manage: Callable[..., str]
    inside: Callable[..., str]
    tokens: dict[str, str] = field(default_factory=dict)

    def await_ready(self, parts: tuple[str, ...]) -> None:
        """/health/ready is 200, with every part ready."""
        until, last = time.monotonic() + limit(READY_S), "no answer"
        while time.monotonic() < until:
            try:
                status, answer = self.ask("GET", "/health/ready")
                states = {name: part["state"] for name, part in answer["parts"].items()}
                last = f"{status} {states}"
                if status == 200 and all(states.get(name) == "ready" for name in (*parts, "database", "redis")):
                    return
            except (OSError, ValueError) as error:
                last = str(error)
            time.sleep(2)
        raise Failed(f"/health/ready: {last}")

    def ask(self, method: str, path: str, body: Any = None, who: str | None = None) -> tuple[int, Any]:
        """Status and JSON of an answer."""
        headers = {"Content-Type": "application/json"}
        if who is not None:
            headers["Authorization"] = f"Bearer {self.tokens[who]}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=limit(40)) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")

    def api(self, who: str, method: str, path: str, body: Any = None, *expected: int) -> Any:
        """The JSON of an answer of the API; Failed when its status isn't among the expected ones (200, 201, 202)."""
        status, answer = self.ask(method, f"/api/v1{path}", body, who)
        if status not in (expected or (200, 201, 202)):
            raise Failed(f"{method} {path} as {who}: {status} {answer}")
        return answer

    def await_job(self, who: str, job: str, *states: str) -> Any:
        """The job once it is in one of the states; Failed when it ends in another."""
        until = time.monotonic() + limit(JOB_S)
        while time.monotonic() < until:
            answer = self.api(who, "GET", f"/jobs/{job}?wait=30&until=state")
            if answer["state"] in states:
                return answer
            if answer["finished_at"]:
                break
        raise Failed(f"the job isn't {states}: {answer}")

    def rows(self, table: str, predicate: str) -> list[Any]:
        """Rows that Spark reads live; asked again where a cold cluster took longer than a read may."""
        question = {"predicate": predicate, "limit": 1000}
        until = time.monotonic() + limit(JOB_S)
        ask: tuple[str, Any]
        place, ask = f"/tables/{table}/rows?wait=60", ("POST", question)
        while time.monotonic() < until:
            read = self.api("ola", ask[0], place, ask[1], 200, 202, 422)
            if "rows" in read:
                return list(read["rows"])
            if read.get("code") == "time_limit":
                say(f"a read took too long, and is asked again: {read['detail']}")
                place, ask = f"/tables/{table}/rows?wait=60", ("POST", question)
            elif "result_url" in read:
                place = urllib.parse.urlsplit(read["result_url"]).path.removeprefix("/api/v1") + "?wait=60"
                ask = ("GET", None)
            else:
                break
        raise Failed(f"rows of {table}: {read}")


def first_sign_in(console: Console, log: str) -> None:
    """By the password in the log of `prepare`, as a browser does it."""
    found = re.findall(r"first sign-in: admin (\S+)", log)
    if len(found) != 1:
        raise Failed(f"prepare printed {len(found)} first passwords")
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    page = browser.open(f"{console.address}/sign-in/", timeout=limit(15)).read().decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    names = re.findall(r'<input[^>]*name="(username|name|password)"', page)
    if token is None or "password" not in names:
        raise Failed(f"that is no sign-in page: {page[:500]}")
    user = next(name for name in names if name != "password")
    form = urllib.parse.urlencode({user: "admin", "password": found[0], "csrfmiddlewaretoken": token[1]}).encode()
    request = urllib.request.Request(f"{console.address}/sign-in/", form, {"Referer": f"{console.address}/sign-in/"})
    home = browser.open(request, timeout=limit(15))
    text = home.read().decode()
    if "/sign-in/" in home.url or "admin" not in text:
        raise Failed(f"signed in, and then at {home.url}")
    styles = re.search(r'href="(/static/[^"]+\.css)"', text)
    if styles is None or browser.open(console.address + styles[1], timeout=limit(15)).status != 200:
        raise Failed("the page has no styles")
    say(f"the first person signed in, and is at {urllib.parse.urlsplit(home.url).path}")


def people(console: Console) -> None:
    """Three people by command in a container, each with a token."""
    for name, role, scopes in (
        ("ada", "admin", "admin"),
        ("ola", "operator", "request"),
        ("pia", "approver", "approve"),
    ):
        words = ["person", "add", name, "--role", role, "--on", "everything", "--token", "proof"]
        output = console.manage(*words, "--scope", "read", "--scope", scopes)
        console.tokens[name] = output.strip().splitlines()[-1]


def taken_over(console: Console, lake: Lake) -> Known:
    """A root at the lake's directory and one in the object store; in each, a parquet directory converted by the API."""
    console.inside("spark", "python", "-", given=lake.files)
    storage = {
        "endpoint": lake.store,
        "region": "us-east-1",
        "path_style": True,
        "key_id": "levee",
        "secret": lake.secret,
    }
    wrong = console.api(
        "ada", "POST", "/roots/test", {"uri": "s3://lake/sales", "storage": {**storage, "secret": "x" * 64}}
    )
    tested = console.api("ada", "POST", "/roots/test", {"uri": "s3://lake/sales", "storage": storage, "writes": True})
    if wrong["passed"] is lake.knows_its_key or not tested["passed"]:
        raise Failed(f"the test of the store's root: {wrong}, {tested}")
    known = Known(lake)
    for name, uri, more in (("lake", lake.folder, {}), ("sales", "s3://lake/sales", {"storage": storage})):
        root = console.api("ada", "POST", "/roots", {"name": name, "uri": uri, **more})
        if root["uri"] != uri:
            raise Failed(f"the root is {root}")
    for path in (f"{lake.folder}/orders", STORED):
        wanted = {"command": "convert", "path": path, "source_format": "parquet", "partition_schema": None}
        job = console.api("ola", "POST", "/jobs", {**wanted, "reason": "take the lake over"})
        done = console.await_job("ola", job["id"], "succeeded")
        known.tables.append(done["table"]["id"])
        known.jobs.append(job["id"])
        say(f"converted {path}: version {done['result']['version']}, on {done['attempts'][0]['worker']}")
    return known


def delete_by_two(console: Console, known: Known, country: str) -> None:
    """In each table: one asks, another approves; Spark reads the rows before and after."""
    for table in known.tables:
        predicate = f"country = '{country}'"
        before = len(console.rows(table, predicate))
        wanted = {"command": "delete", "table": table, "predicate": predicate, "reason": "asked to be forgotten"}
        job = console.api("ola", "POST", "/jobs", wanted)["id"]
        waiting = console.await_job("ola", job, "awaiting_approval")
        console.api("ola", "POST", f"/jobs/{job}/approve", {"digest": waiting["digest"], "comment": "mine"}, 403)
        console.api("pia", "POST", f"/jobs/{job}/approve", {"digest": waiting["digest"], "comment": "seen"})
        done = console.await_job("ola", job, "succeeded")
        after = len(console.rows(table, predicate))
        if (before, done["result"]["num_affected_rows"], after) != (GONE, GONE, 0):
            raise Failed(f"{before} rows before, {done['result']}, {after} after")
        known.jobs.append(job)
        say(f"deleted by two people in {done['table']['name']}: {GONE} of {ROWS} rows, the requester's own yes refused")


def stream_of_rows(console: Console, known: Known) -> None:
    """A stream from files to a new table, run once by the worker `streams`."""
    wanted = {
        "name": "arrivals",
        "reason": "take in what arrives",
        "source": {"path": f"{known.lake.folder}/arriving", "format": "parquet", "schema": "id bigint, country string"},
        "target": {"path": f"{known.lake.folder}/arrived"},
        "output_mode": "append",
        "trigger": "available_now",
    }
    stream = console.api("ola", "POST", "/streams", wanted)["id"]
    job = console.api("ola", "POST", f"/streams/{stream}/run-once")
    job = job.get("job", job)
    done = console.await_job("ola", job["id"] if isinstance(job, dict) else job, "succeeded")
    if not done["attempts"][0]["worker"].startswith("streams@"):
        raise Failed(f"the round ran on {done['attempts']}")
    known.jobs.append(done["id"])
    known.streamed = done["table"]["id"]
    if len(console.rows(known.streamed, "country = 'DE'")) != GONE:
        raise Failed("the stream's table lacks rows")
    say(f"a stream's round took in {ROWS} rows, on {done['attempts'][0]['worker']}")


def still_there(console: Console, known: Known, country: str) -> None:
    """Jobs, rows of every table, the audit's chain; and work goes on, with a delete of what is left of one country."""
    for job in known.jobs:
        console.await_job("ola", job, "succeeded")
    for table in known.tables:
        if console.rows(table, "country = 'FR'") or len(console.rows(table, f"country = '{country}'")) != GONE:
            raise Failed(f"other rows than before in {table}")
    if known.streamed and len(console.rows(known.streamed, "country = 'DE'")) != GONE:
        raise Failed("other rows than before in the stream's table")
    verified = console.manage("audit", "verify").strip().splitlines()[-1]
    delete_by_two(console, known, country)
    say(f"jobs, rows and audit are still there ({verified}), another delete ran in each table")
