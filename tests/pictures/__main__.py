"""`make docs`: takes the pictures of docs/ from a product of its own, those that are out of date, or all with the argument `all`."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from tests.chromium import QUIET_CHROMIUM, chromium
from tests.console import loading, running
from tests.console.running import Up
from tests.pictures import staleness
from tests.pictures.scenes import SCENES, THEMES, Scene

WIDTH = 1280
COLOURS = 256
LIMIT_S = 300.0  # on a machine that does much else; alone it takes a fifth
STREAM_S = 45.0
ON_SPARK = {"home", "overview", "delete", "review"}
PEOPLE = {"ana": ("operator", "auditor", "admin"), "ben": ("approver",)}
STREAM = "page-views-ingest"
HOME = "/srv/levee"  # what a picture says instead of the place of this run
NEUTRAL = """([home, said]) => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(home, said);
}"""


def main(arguments: Sequence[str]) -> int:
    """0 when every picture is up to date now."""
    scenes = list(SCENES) if "all" in arguments else staleness.stale()
    if not scenes:
        say("every picture is up to date")
        return 0
    say(f"{len(scenes)} scenes: {', '.join(scene.name for scene in scenes)}")
    with product() as up:
        names = prepare(up, {scene.name for scene in scenes})
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=QUIET_CHROMIUM)
            for person in PEOPLE:
                take(browser, up, person, [scene for scene in scenes if scene.person == person], names)
            browser.close()
    staleness.record(scenes)
    return 0


def say(text: str) -> None:
    sys.stdout.write(f"pictures: {text}\n")
    sys.stdout.flush()


@contextlib.contextmanager
def product() -> Iterator[Up]:
    """A whole console with its sample lake, in a home that is removed afterwards."""
    began = time.monotonic()
    with running.new_home() as home, running.running(home, running.free_port(), LEVEE_UP_WITHOUT="") as up:
        say(f"the console is up after {time.monotonic() - began:.0f} s")
        yield up
        say("stopping")
    say(f"done in {time.monotonic() - began:.0f} s")


def prepare(up: Up, scenes: set[str]) -> dict[str, str]:
    """People, a delete that waits for its approval, a stream that has run; the names that addresses use."""
    token = {person: add(up, person, roles) for person, roles in PEOPLE.items()}["ana"]
    table = until(lambda: sample_table(up, token), "the sample lake is read")
    names = {"table": table["id"], "version": str(table["version"] - 3), "job": ""}
    stream = start_stream(up, token) if "streams" in scenes else None
    if scenes & ON_SPARK:
        until(lambda: up.health()[1]["interactive"]["state"] == "ready", "Spark answers")
    if scenes & {"review", "home"}:
        names["job"] = request_delete(up, token, table["id"])
    if stream:
        batches = f"/streams/{stream}/batches"
        loaded = "the stream has loaded its first batch"
        until(lambda: loading.answer(up, token, "GET", batches)["results"], loaded, STREAM_S, must=False)
    return names


def add(up: Up, name: str, roles: Sequence[str]) -> str:
    """A person of the machine's own making, so that one may approve for the other; their token."""
    granted = [word for role in roles for word in ("--role", role, "--on", "everything")]
    command = ["person", "add", name, *granted, "--password-stdin", "--token", "pictures"]
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


def until(look: Callable[[], Any], what: str, limit_s: float = LIMIT_S, must: bool = True) -> Any:
    """The first true answer. What isn't a must is left out after its limit: its page is shown as it then is."""
    limit = time.monotonic() + limit_s
    while not (found := look()):
        if time.monotonic() > limit:
            if must:
                raise TimeoutError(f"not in {limit_s:.0f} s: {what}")
            say(f"not in {limit_s:.0f} s: {what}")
            return None
        time.sleep(0.5)
    say(what)
    return found


def sample_table(up: Up, token: str) -> dict[str, Any] | None:
    """The table with the longest past, once its log is read."""
    found = loading.answer(up, token, "GET", "/tables?q=sales")["results"]
    read = [table for table in found if table["path"].endswith("/sales") and table["version"] is not None]
    return read[0] if read else None


def request_delete(up: Up, token: str, table: str) -> str:
    """A delete that waits for its approval, counted by Spark; its id."""
    body = {
        "command": "delete",
        "table": table,
        "predicate": "country = 'FR' AND quantity >= 4",
        "reason": "Sales of the load test in France, booked by mistake",
    }
    job = loading.answer(up, token, "POST", "/jobs", body)["id"]
    until(
        lambda: loading.answer(up, token, "GET", f"/jobs/{job}")["state"] == "awaiting_approval",
        "the delete is measured",
    )
    return str(job)


def start_stream(up: Up, token: str) -> str:
    """Starts the sample lake's stream, whose worker warms up meanwhile; its id."""
    found = loading.answer(up, token, "GET", "/streams")["results"]
    stream = str(next(each for each in found if each["name"] == STREAM)["id"])
    loading.answer(up, token, "POST", f"/streams/{stream}/start", {})
    return stream


def take(browser: Browser, up: Up, person: str, scenes: Sequence[Scene], names: dict[str, str]) -> None:
    """All pictures that this person sees, in both themes."""
    if not scenes:
        return
    address = f"http://127.0.0.1:{up.port}"
    page = browser.new_page(viewport={"width": WIDTH, "height": 900}, reduced_motion="reduce")
    page.set_default_timeout(LIMIT_S * 1000)
    page.goto(f"{address}/sign-in/")
    page.get_by_label("Name").fill(person)
    page.get_by_label("Password").fill(loading.PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{address}/**")
    for scene in scenes:
        page.goto(address + scene.address.format(**names))
        show(page, scene)
        for theme in THEMES:
            page.emulate_media(color_scheme=cast(Literal["light", "dark"], theme))
            page.evaluate(NEUTRAL, [str(up.home), HOME])
            keep(page, scene, staleness.PICTURES / f"{scene.name}-{theme}.png")
        say(scene.name)


def show(page: Page, scene: Scene) -> None:
    """Wait until everything that belongs to the page is there."""
    page.wait_for_selector(scene.ready)
    if scene.keys:
        page.keyboard.press(scene.keys)
        page.keyboard.type(scene.typed)
        page.wait_for_selector(scene.then)
    page.wait_for_load_state("networkidle")
    page.evaluate("document.fonts.ready.then(() => 1)")


def keep(page: Page, scene: Scene, file: Path) -> None:
    """The upper part of the page, in as many colours as make a small file."""
    tall = int(page.evaluate("document.documentElement.scrollHeight"))
    clip = {"x": 0.0, "y": 0.0, "width": float(WIDTH), "height": float(min(tall, scene.height))}
    picture = Image.open(io.BytesIO(page.screenshot(full_page=True, clip=cast(Any, clip), animations="disabled")))
    reduced = picture.convert("RGB").quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    reduced.save(file, optimize=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
