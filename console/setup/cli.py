"""The command line of set-up: the parts for each purpose, one set-up at a time, and its messages."""

from __future__ import annotations

import argparse
import fcntl
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from console.setup import found
from console.setup.archive import Archive
from console.setup.frontend import Build, HelpPages, NodeModules, StaticFiles
from console.setup.jars import HadoopJars, Jars
from console.setup.launchers import Launchers
from console.setup.parts import SetupPart, bring_up_to_date
from console.setup.places import HERE, Places
from console.setup.postgres import Postgres
from console.setup.redis import Redis
from console.setup.system.chromium import Chromium
from console.setup.system.java import Java
from console.setup.system.node import Node
from console.setup.venv import Environment, ForeignWriters, Packages

PURPOSES = {
    "run": "the console itself",
    "test": "the console, the tests and the checks",
    "test-all": "all tests: other writers of Delta tables too",
    "check": "the checks alone: no Java, no Node, no servers",
    "cli": "the command line alone, for a machine that speaks to a console elsewhere",
    "bench": "the benches and soaks: the tests without a browser",
    "web-packages": "the Python packages of the web image",
    "pages": "the styles and scripts of the web image",
    "spark-packages": "the Python packages and the jars of the Spark image",
}
RUNNING = ("web", "spark")
TESTING = ("web", "cli", "spark", "dev")


def parts_for(purpose: str, places: Places) -> list[SetupPart]:
    """The parts in an order in which each stands after what it needs."""
    locks = {
        "run": ("web", "cli", "spark"),
        "cli": ("cli",),
        "spark-packages": RUNNING,
        "web-packages": ("web",),
        "pages": ("web",),
    }
    python: list[SetupPart] = [Environment(places), Packages(places, locks.get(purpose, TESTING))]
    if purpose == "web-packages":
        return python
    if purpose in ("check", "cli"):
        return [*python, Launchers(places)]
    if purpose == "pages":
        return [*python, Node(places), NodeModules(places), Build(places), HelpPages(places), StaticFiles(places)]
    if purpose == "spark-packages":
        return [Java(places), *python, Jars(places)]
    testing = purpose in ("test", "test-all")
    browser: list[SetupPart] = [Chromium(places)] if testing else []
    programs: list[SetupPart] = [
        Java(places),
        *browser,
        *python,
        Launchers(places),
        Node(places),
        Redis(places),
        Postgres(places),
    ]
    made: list[SetupPart] = [Jars(places), NodeModules(places), Build(places), HelpPages(places), StaticFiles(places)]
    if testing:
        made.append(HadoopJars(places))
    if purpose == "test-all":
        made.append(ForeignWriters(places))
    # Figures are taken with the archive; `make run` makes it beside the console, the tests do without.
    return [*programs, *made, *([Archive(places)] if purpose == "bench" else [])]


def main(argv: Sequence[str] | None = None) -> int:
    """Bring this clone up to date; 0 when everything is there, 1 with one line per thing that is not."""
    parser = argparse.ArgumentParser(prog="python3 -m console.setup", description="Makes this clone ready to run.")
    parser.add_argument("--for", dest="purpose", choices=PURPOSES, default="test", help="what will be started next")
    options = parser.parse_args(argv)
    begin = time.monotonic()
    with _alone(HERE):
        missing = _set_up(HERE, options.purpose)
    if missing:
        return _incomplete(missing)
    if time.monotonic() - begin > 3:
        say(f"ready in {time.monotonic() - begin:.0f} s")
    return 0


def say(sentence: str) -> None:
    """One line of progress."""
    print(f"set-up: {sentence}", flush=True)


def _set_up(places: Places, purpose: str) -> list[str]:
    missing = bring_up_to_date(parts_for(purpose, places), say)
    found.write(places)
    return missing


def _incomplete(missing: list[str]) -> int:
    """The lines above said why; after much progress the last line names them once more."""
    names = ", ".join(missing)
    print(f"set-up is incomplete: {names}. Follow the lines above and run it again; the rest is kept.", file=sys.stderr)
    return 1


@contextmanager
def _alone(places: Places) -> Iterator[None]:
    """Two `make` at once would write over each other: the second waits for the first."""
    places.tools.mkdir(exist_ok=True)
    with (places.tools / "setup.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another set-up of this clone is running; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
