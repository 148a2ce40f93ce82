"""Chromium for the browser tests: the system's, else Debian's package.

The shell without windows comes first: the same pages take it half the computing.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from console.setup import apt
from console.setup.places import Places

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> Path | None:
    """The browser's program."""
    return next((Path(program) for name in NAMES if (program := shutil.which(name))), None)


@dataclass(frozen=True)
class Chromium:
    places: Places
    name: str = "Chromium (for the browser tests)"
    needs: tuple[str, ...] = ()

    def ready(self) -> bool:
        return find() is not None

    def install(self) -> None:
        apt.install(self.places, self.name, ["chromium-headless-shell", "chromium"])
