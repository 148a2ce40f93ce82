"""Where the set-up found or put the programs Levee runs."""

import importlib.util
import json
import shutil
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent.parent


def found(name: str) -> Path | None:
    """What the set-up recorded for a tool in `.tools/found.json`, while it still exists."""
    try:
        value = json.loads((PROJECT / ".tools" / "found.json").read_text(encoding="utf-8")).get(name)
    except (FileNotFoundError, ValueError):
        return None
    path = Path(value) if isinstance(value, str) else None
    return path if path and path.exists() else None


def package_directory(name: str) -> Path | None:
    """Where an installed package lies, without importing it."""
    spec = importlib.util.find_spec(name)
    places = spec.submodule_search_locations if spec else None
    return Path(next(iter(places))) if places else None


def java() -> Path | None:
    """The Java that the workers with a JVM will use."""
    on_path = shutil.which("java")
    return found("java") or (Path(on_path) if on_path else None)
