"""`make docs`: takes the pictures of docs/ from a product of its own, those that are out of date, or all with the argument `all`."""

from __future__ import annotations

import contextlib
import io
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from tests.chromium import QUIET_CHROMIUM, chromium
from tests.console import loading, running
from tests.console.running import Up
from tests.patience import limit_ms
from tests.pictures import small, staleness
from tests.pictures.preparation import PEOPLE, QUIET_S, prepare, say
from tests.pictures.scenes import SCENES, THEMES, Scene

COLOURS = 256
HOME = "/srv/levee"  # what a picture says instead of the place of this run
NEUTRAL = """([home, said]) => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(home, said);
  for (const field of document.querySelectorAll("input")) field.value = field.value.replaceAll(home, said);
}"""


def main(arguments: Sequence[str]) -> int:
    """0 when every picture is up to date now."""
    scenes = list(SCENES) if "all" in arguments else staleness.stale()
    if scenes:
        say(f"{len(scenes)} scenes: {', '.join(scene.name for scene in scenes)}")
        take_all(scenes)
        staleness.record(scenes)
    small.refresh()
    say("every picture is up to date")
    return 0


def take_all(scenes: Sequence[Scene]) -> None:
    """The pictures of these scenes, from a product that is started for them."""
    with product() as up:
        names = prepare(up, {scene.name for scene in scenes})
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=QUIET_CHROMIUM)
            for person in PEOPLE:
                take(browser, up, person, [scene for scene in scenes if scene.person == person], names)
            browser.close()


@contextlib.contextmanager
def product() -> Iterator[Up]:
    """A whole console with its sample lake, in a home that is removed afterwards."""
    began = time.monotonic()
    with running.new_home() as home, running.running(home, running.free_port(), LEVEE_UP_WITHOUT="") as up:
        say(f"the console is up after {time.monotonic() - began:.0f} s")
        yield up
        say("stopping")
    say(f"done in {time.monotonic() - began:.0f} s")


def take(browser: Browser, up: Up, person: str, scenes: Sequence[Scene], names: dict[str, str]) -> None:
    """All pictures that this person sees, in both themes."""
    if not scenes:
        return
    address = f"http://127.0.0.1:{up.port}"
    page = browser.new_page(viewport={"width": scenes[0].width, "height": 900}, reduced_motion="reduce")
    page.set_default_timeout(limit_ms(QUIET_S))
    page.goto(f"{address}/sign-in/")
    page.get_by_label("Name").fill(person)
    page.get_by_label("Password").fill(loading.PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{address}/**")
    for scene in scenes:
        page.set_viewport_size({"width": scene.width, "height": 900})
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
    clip = {"x": 0.0, "y": 0.0, "width": float(scene.width), "height": float(min(tall, scene.height))}
    picture = Image.open(io.BytesIO(page.screenshot(full_page=True, clip=cast(Any, clip), animations="disabled")))
    reduced = picture.convert("RGB").quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    reduced.save(file, optimize=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
