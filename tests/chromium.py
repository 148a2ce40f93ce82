"""The browser of tests and of the pictures in docs/: where it is, and what keeps it quiet."""

import json
from pathlib import Path

from console.setup.system.chromium import find

FOUND = Path(__file__).resolve().parents[1] / ".tools" / "found.json"
QUIET_CHROMIUM = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str:
    """The browser that set-up recorded, else the one that it would find. Raises FileNotFoundError without one."""
    recorded = json.loads(FOUND.read_text()).get("chromium") if FOUND.exists() else None
    path = recorded or find()
    if not path:
        raise FileNotFoundError("no Chromium: `make setup` installs it or says why it can't")
    return str(path)
