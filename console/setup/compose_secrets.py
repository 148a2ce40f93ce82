"""`make compose-secrets`: writes `.env` with the secrets that docker-compose.yml requires, each random, for its owner's eyes alone."""

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
)
LENGTH = 32  # bytes; written in hexadecimal digits, which no address and no shell takes for anything else


def main(root: Path = HERE.root) -> int:
    """0 once the file is written; 1 when there is one, which the volumes' data may belong to."""
    file = root / ".env"
    lines = "".join(f"{name}={secrets.token_hex(LENGTH)}\n" for name in NAMES)
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        print(f"{file} exists and was left alone: the volumes hold data under its passwords.", file=sys.stderr)
        return 1
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(lines)
    print(f"{file} holds {len(NAMES)} secrets, readable by you alone. Keep a copy: without it the volumes are locked.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
