"""The version of this program: of the clone that it lies in, or else of the wheel that brought it."""

from __future__ import annotations

import tomllib
from importlib import metadata
from pathlib import Path

WHEEL = "levee-cli"


def version() -> str:
    """As `pyproject.toml` states it, which a clone has and a wheel has told the environment."""
    project = Path(__file__).parents[2] / "pyproject.toml"
    if not project.is_file():
        return metadata.version(WHEEL)
    return str(tomllib.loads(project.read_text())["project"]["version"])
