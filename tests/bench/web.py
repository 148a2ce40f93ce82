"""The web process and the start: `python -m tests.bench.web` (`--tiny` for a run that only proves that it runs).

A whole `manage.py up` in a home of its own: when a page answers, when the workers are warm, what a gunicorn worker holds after
100 pages, how long the server takes for a table's page; then a second start.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

from console.base.processes import group_members
from console.supervisor.tools import PROJECT
from tests.bench.document import DOCUMENT, put_into
from tests.console import running
from tests.patience import limit

TITLE = "## Start and web process"
WARM_S = 150.0
WARM = ("interactive", "spark")


def api(up: running.Up, token: str, path: str, body: object = None) -> tuple[dict, float]:
    """An answer of the API, and the server's milliseconds."""
    data = json.dumps(body).encode() if body is not None else None
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{up.port}/api/v1{path}", data=data, headers=headers)
    with urllib.request.urlopen(request, timeout=limit(30)) as response:
        return json.loads(response.read()), server_ms(response.headers["Server-Timing"])


def found(pattern: str, text: str) -> str:
    """The one group of a pattern that must be there."""
    match = re.search(pattern, text)
    assert match, f"{pattern} is not in {text[:200]}"
    return match[1]


def server_ms(header: str) -> float:
    return float(found(r"dur=([\d.]+)", header))


class Browser:
    """Pages as a signed-in person gets them: cookies and forms, no browser."""

    def __init__(self, up: running.Up, name: str, password: str) -> None:
        self.up = up
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        self.post("/sign-in/", {"username": name, "password": password})

    def get(self, path: str) -> tuple[str, float]:
        with self.opener.open(f"http://127.0.0.1:{self.up.port}{path}", timeout=limit(15)) as response:
            timing = response.headers["Server-Timing"]  # none where passwords are checked
            return response.read().decode(), server_ms(timing) if timing else 0.0

    def post(self, path: str, fields: dict[str, str]) -> None:
        page, _ = self.get(path)
        token = found(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        data = urllib.parse.urlencode({**fields, "csrfmiddlewaretoken": token}).encode()
        self.opener.open(f"http://127.0.0.1:{self.up.port}{path}", data=data, timeout=limit(15)).close()


def add_person(up: running.Up) -> tuple[str, str]:
    """A person with a password and a token: (password, token)."""
    password = "a bench is not a person"
    arguments = [
        "person",
        "add",
        "bench",
        "--role",
        "operator",
        "--on",
        "everything",
        "--password-stdin",
        "--token",
        "b",
    ]
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=PROJECT,
        env=running.environment(up.home, up.port),
        input=password,
        capture_output=True,
        text=True,
        check=True,
    )
    return password, done.stdout.split()[-1]


def private_mb(pid: int) -> float:
    """Proportional set size of a process without mapped files, MB."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(found(r"Pss_Anon:\s+(\d+) kB", rollup)) / 1000


def wait_warm(up: running.Up, parts: tuple[str, ...], since: float) -> dict[str, float]:
    """Seconds until each part was ready."""
    found: dict[str, float] = {}
    until = since + limit(WARM_S)
    while len(found) < len(parts) and time.monotonic() < until:
        _, states = up.health()
        found |= {p: time.monotonic() - since for p in parts if p not in found and states[p]["state"] == "ready"}
        time.sleep(0.2)
    return found


def measure(tiny: bool) -> dict[str, float]:
    """The figures, by their line in the document."""
    figures: dict[str, float] = {}
    without = ",".join(WARM) if tiny else ""
    with running.new_home() as home:
        port = running.free_port()
        began = time.monotonic()
        with running.running(home, port, LEVEE_UP_WITHOUT=without) as up:
            figures["first start: a page, s"] = time.monotonic() - began
            for part, seconds in wait_warm(up, () if tiny else WARM, began).items():
                figures[f"first start: {part} warm, s"] = seconds
            figures |= pages(up, 5 if tiny else 100)
        began = time.monotonic()
        with running.running(home, port, LEVEE_UP_WITHOUT=without):
            figures["second start: a page, s"] = time.monotonic() - began
    return figures


def pages(up: running.Up, count: int) -> dict[str, float]:
    """Server time of a table's page, and the memory of a gunicorn worker after that."""
    password, token = add_person(up)
    browser = Browser(up, "bench", password)
    table = api(up, token, "/tables?limit=1")[0]["results"][0]["id"]
    took = [browser.get(f"/tables/{table}/")[1] for _ in range(count)]
    for path in ("/", "/tables/", "/jobs/", "/tables/add/"):
        browser.get(path)
    members = group_members(up.pids()["web"])
    workers = [pid for pid in members if pid != up.pids()["web"]]
    return {
        "table page, server time p95, ms": statistics.quantiles(took, n=20, method="inclusive")[-1],
        f"gunicorn worker after {count} pages, MB": max(private_mb(pid) for pid in workers),
        "gunicorn workers that map pyspark's files": sum(
            b"pyspark" in Path(f"/proc/{p}/maps").read_bytes() for p in workers
        ),
    }


BARS = {
    "first start: a page, s": "",
    "first start: interactive warm, s": "≤ 45",
    "first start: spark warm, s": "≤ 80",
    "second start: a page, s": "≤ 10",
    "table page, server time p95, ms": "≤ 60",
    "gunicorn worker after 100 pages, MB": "≤ 150",
    "gunicorn workers that map pyspark's files": "0",
}


def report(figures: dict[str, float]) -> str:
    """The section of the document."""
    rows = "\n".join(f"| {name} | {value:.1f} | {BARS.get(name, '')} |" for name, value in figures.items())
    return f"{TITLE}\n\n`python -m tests.bench.web`, one run on 2 processors.\n\n| what | measured | bar |\n|---|---|---|\n{rows}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true")
    tiny = parser.parse_args().tiny
    section = report(measure(tiny))
    print(section)
    if not tiny:
        put_into(DOCUMENT, section)


if __name__ == "__main__":
    main()
