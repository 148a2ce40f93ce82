"""Somebody's hands on a page: what they do is counted, and how long they wait is measured."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import Locator, Page


@dataclass
class Tally:
    """Every click and key of all people, in order, and the seconds in which they only wait."""

    acts: list[str] = field(default_factory=list)
    waited: float = 0.0

    def add(self, act: str) -> None:
        self.acts.append(act)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """What happens inside is waited for."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.waited += time.monotonic() - began


@dataclass
class Hands:
    """One person's. A field counts once, with all that is typed or pasted into it; so does an address that is opened."""

    page: Page
    tally: Tally

    def click(self, target: Locator) -> None:
        self.tally.add(f"click {target}")
        target.click()

    def fill(self, target: Locator, text: str) -> None:
        self.tally.add(f"fill in {target}")
        target.fill(text)

    def press(self, key: str) -> None:
        self.tally.add(f"press {key}")
        self.page.keyboard.press(key)

    def open(self, address: str) -> None:
        self.tally.add("open an address")
        self.page.goto(address)

    def home(self) -> None:
        self.click(self.page.get_by_role("link", name="Home").first)
