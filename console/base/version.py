"""Levee's version, which `pyproject.toml` states for all of it."""

from __future__ import annotations

import tomllib

from console.base.known_settings import BASE_DIR


def _stated() -> str:
    with open(BASE_DIR / "pyproject.toml", "rb") as file:
        return str(tomllib.load(file)["project"]["version"])


VERSION = _stated()  # as the process started: the files beneath it may be a newer version's by now
