"""Runs other programs, their output kept in a file so that a person sees one line per step."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from console.setup.troubles import CommandFailed


def run(command: list[str], log: Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
    """Run to the end, appending output to `log`; `env` adds to the environment. Raises CommandFailed.

    An instance's settings aren't passed on: set-up serves every instance of the clone, and none takes its programs for its own.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LEVEE_")}
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as out:
        out.write(f"\n$ {' '.join(command)}\n".encode())
        out.flush()
        begin = out.tell()
        done = subprocess.run(
            command, cwd=cwd, env={**inherited, **(env or {})}, stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
    if done.returncode:
        raise CommandFailed(command, done.returncode, log, _since(log, begin))


def answer(command: list[str]) -> str | None:
    """What a quick question to a program prints, or None when it can't be asked."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _since(log: Path, begin: int) -> str:
    with log.open("rb") as text:
        text.seek(begin)
        return text.read().decode(errors="replace")
