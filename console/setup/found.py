"""Writes where the programs are, for the supervisor and the tests; they search themselves when it is missing."""

from __future__ import annotations

import json
from pathlib import Path

from console.setup import postgres, redis
from console.setup.places import Places
from console.setup.system import chromium, java, node


def write(places: Places) -> dict[str, str | None]:
    """Write .tools/found.json, whole or not at all: absolute paths, null for what this machine lacks."""
    programs: dict[str, Path | None] = {
        "java": java.find(),
        "node": node.find(places),
        "redis_server": redis.find(places),
        "postgres_bin": postgres.find(places),
        "chromium": chromium.find(),
    }
    paths = {name: str(path) if path else None for name, path in programs.items()}
    text = json.dumps(paths, indent=2) + "\n"
    if not places.found.is_file() or places.found.read_text() != text:
        part = places.tools / "found.json.part"
        part.write_text(text)
        part.rename(places.found)
    return paths
