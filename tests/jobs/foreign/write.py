"""`python -m tests.jobs.foreign.write MODULE FOLDER`: writes every table of that module below the folder.

Its last line is JSON: each table's name with null, or with why this version of the writer doesn't make it.
"""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

Recipe = Callable[[Path], None]


def main(module: str, folder: Path) -> dict[str, str | None]:
    recipes: dict[str, Recipe] = importlib.import_module(f"tests.jobs.foreign.{module}").RECIPES
    return {name: _made(made, folder / name) for name, made in recipes.items()}


def _made(made: Recipe, path: Path) -> str | None:
    """Whatever a version raises is why it doesn't: a test knows which tables each has to make."""
    try:
        made(path)
    except Exception as error:  # noqa: BLE001 - every engine has its own
        shutil.rmtree(path, ignore_errors=True)
        return f"{type(error).__name__}: {error}"
    return None


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]))))
