"""`make compose-secrets`: writes `.env` with the secrets that docker-compose.yml requires, each random, for its owner's eyes alone.

In an `.env` that exists, it adds those that are missing, as a newer docker-compose.yml may ask for more, and changes none: the volumes hold
data under them.
"""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

from console.setup.places import HERE

NAMES = (
    "LEVEE_SECRET_KEY",
    "LEVEE_CREDENTIALS_KEY",
    "LEVEE_DB_OWNER_PASSWORD",
    "LEVEE_DB_MIGRATE_PASSWORD",
    "LEVEE_DB_APP_PASSWORD",
    "LEVEE_REDIS_PASSWORD",
    "LEVEE_SPARK_SECRET",
    "LEVEE_STORE_SECRET",
)
LENGTH = 32  # bytes; written in hexadecimal digits, which no address and no shell takes for anything else


def main(root: Path = HERE.root) -> int:
    """0 once the file has all of them; 1 when one stands there without a value, as only you know whether data is under another."""
    file = root / ".env"
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    there = dict(line.strip().split("=", 1) for line in before.splitlines() if "=" in line)
    if empty := [name for name in NAMES if there.get(name) == ""]:
        print(
            f"{file}: {', '.join(empty)} has no value. Give it the one that the volumes know, or remove its line.",
            file=sys.stderr,
        )
        return 1
    missing = [name for name in NAMES if name not in there]
    if not missing:
        print(f"{file} has all {len(NAMES)} secrets and was left alone: the volumes hold data under them.")
        return 0
    start = "" if not before or before.endswith("\n") else "\n"
    lines = "".join(f"{name}={secrets.token_hex(LENGTH)}\n" for name in missing)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "w", encoding="utf-8") as stream:
        stream.write(start + lines)
    print(f"{file}: {', '.join(missing)} added. Keep a copy for your eyes alone: without it the volumes are locked.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
