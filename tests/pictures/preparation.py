"""What is asked of the product before its pictures are taken, and the names by which the scenes' addresses mean it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.console import loading, running
from tests.console.running import Up
from tests.patience import InVain, wait_for
from tests.pictures import staleness

QUIET_S = 75.0
STREAM_S = 15.0
RUN_S = 90.0  # of a schedule that is due within 75 s
REVIEWED = {"review", "review_phone", "home"}
ON_SPARK = {"capabilities", "delete", "rehearsal"} | REVIEWED
PEOPLE = {"ana": ("operator", "auditor", "admin"), "ben": ("approver",)}
SCOPES = ("read", "request", "approve")
STREAM = "page-views-ingest"
TABLES = {"table": "sales", "small": "sensor_readings", "mapped": "contacts", "marked": "subscriptions"}
NIGHTLY = {"time_zone": "Europe/Berlin", "window_minutes": 120}


def say(text: str) -> None:
    sys.stdout.write(f"pictures: {text}\n")
    sys.stdout.flush()


def until(look: Callable[[], Any], what: str, quiet_s: float = QUIET_S, must: bool = True) -> Any:
    """The first true answer. What isn't a must is left out after its limit: its page is shown as it then is."""
    try:
        found = wait_for(look, what, quiet_s, every_s=0.5)
    except InVain as in_vain:
        if must:
            raise
        say(str(in_vain))
        return None
    say(what)
    return found


def prepare(up: Up, scenes: set[str]) -> dict[str, str]:
    """People, deletes that wait for approval, a stream and a schedule that have run; the names that addresses use."""
    tokens = {person: add(up, person, roles) for person, roles in PEOPLE.items()}
    token = tokens["ana"]
    tables = until(lambda: sample_tables(up, token), "the sample lake is read")
    names = {name: tables[directory]["id"] for name, directory in TABLES.items()}
    names |= {"version": str(tables["sales"]["version"] - 3), "home": str(up.home), "job": "", "rehearsed": ""}
    stream = start_stream(up, token) if "streams" in scenes else None
    schedule = define_schedules(up, tokens, tables) if scenes & {"schedules", "home"} else None
    if scenes & ON_SPARK:
        until(lambda: up.health()[1]["interactive"]["state"] == "ready", "Spark answers")
    if scenes & REVIEWED:
        names["job"] = request_delete(up, token, names["table"])
    if scenes & {"rehearsal", "home"}:
        names["rehearsed"] = request_rehearsed(up, token, names["marked"])
    if stream:
        batches = f"/streams/{stream}/batches"
        loaded = "the stream has loaded its first batch"
        until(lambda: loading.answer(up, token, "GET", batches)["results"], loaded, STREAM_S, must=False)
    if schedule:
        until(lambda: has_run(up, token, schedule), "a schedule has run", RUN_S, must=False)
    return names


def add(up: Up, name: str, roles: Sequence[str]) -> str:
    """A person of the machine's own making, so that one may approve for the other; their token."""
    granted = [word for role in roles for word in ("--role", role, "--on", "everything")]
    scopes = [word for scope in SCOPES for word in ("--scope", scope)]
    command = ["person", "add", name, *granted, "--password-stdin", "--token", "pictures", *scopes]
    done = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=staleness.ROOT,
        env=running.environment(up.home, up.port),
        input=loading.PASSWORD,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()[-1]


def sample_tables(up: Up, token: str) -> dict[str, dict[str, Any]] | None:
    """The tables of the pictures by their directories, once all of their logs are read."""
    found = loading.answer(up, token, "GET", "/tables?format=delta&limit=100")["results"]
    read = {table["path"].rpartition("/")[2]: table for table in found if table["version"] is not None}
    return read if set(TABLES.values()) <= set(read) else None


def request_delete(up: Up, token: str, table: str) -> str:
    """A delete that waits for its approval, counted by Spark; its id."""
    body = {
        "command": "delete",
        "table": table,
        "predicate": "country = 'FR' AND quantity >= 4",
        "reason": "Sales of the load test in France, booked by mistake",
    }
    return waiting_job(up, token, body, "the delete is measured")


def request_rehearsed(up: Up, token: str, table: str) -> str:
    """The same, run on a private clone; its id."""
    body = {
        "command": "delete",
        "table": table,
        "predicate": "plan = 'student'",
        "reason": "The student plan has ended",
        "rehearse": True,
    }
    return waiting_job(up, token, body, "a delete is rehearsed")


def waiting_job(up: Up, token: str, body: dict[str, Any], what: str) -> str:
    job = loading.answer(up, token, "POST", "/jobs", body)["id"]
    until(lambda: loading.answer(up, token, "GET", f"/jobs/{job}")["state"] == "awaiting_approval", what)
    return str(job)


def start_stream(up: Up, token: str) -> str:
    """Starts the sample lake's stream, whose worker warms up meanwhile; its id."""
    found = loading.answer(up, token, "GET", "/streams")["results"]
    stream = str(next(each for each in found if each["name"] == STREAM)["id"])
    loading.answer(up, token, "POST", f"/streams/{stream}/start", {})
    return stream


def define_schedules(up: Up, tokens: dict[str, str], tables: dict[str, dict[str, Any]]) -> str:
    """One that is soon due, one that was approved, one that waits for approval and one that is paused; the first one's id."""
    ana, soon = tokens["ana"], datetime.now(UTC) + timedelta(seconds=75)
    compact = {"command": "optimize", "table": tables["deliveries"]["id"]}
    first = define(up, ana, "Compact deliveries", compact, f"{soon.minute} * * * *", "The depots write small files")
    free = {"command": "vacuum", "table": tables["sales"]["id"]}
    weekly = define(up, ana, "Free storage of sales", free, "30 3 * * SUN", "Corrections leave old files behind")
    loading.answer(up, tokens["ben"], "POST", f"/schedules/{weekly['id']}/approve", {"digest": weekly["digest"]})
    monthly = {"command": "vacuum", "table": tables["invoices"]["id"], "lite": True}
    define(up, ana, "Free storage of invoices", monthly, "0 4 L * *", "After the month's closing")
    purge = {"command": "reorg", "table": tables["subscriptions"]["id"]}
    paused = define(up, ana, "Purge cancelled plans", purge, "15 2 * * MON-FRI", "Cancelled plans slow readers down")
    loading.answer(up, ana, "POST", f"/schedules/{paused['id']}/pause", {})
    return str(first["id"])


def define(up: Up, token: str, name: str, command: dict[str, Any], cron: str, reason: str) -> dict[str, Any]:
    """A schedule as the API answers it."""
    body = {"name": name, "command": command, "cron": cron, "reason": reason, **NIGHTLY}
    return dict(loading.answer(up, token, "POST", "/schedules", body))


def has_run(up: Up, token: str, schedule: str) -> bool:
    """Whether a run of it has ended."""
    runs = loading.answer(up, token, "GET", f"/schedules/{schedule}/runs")["results"]
    return any(run["outcome"] for run in runs)
