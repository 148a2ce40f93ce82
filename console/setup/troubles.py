"""Set-up's messages when it can't continue: always what, why, and the command that would help."""

from __future__ import annotations

from pathlib import Path

TAIL_LINES = 15


class CannotInstall(Exception):
    """Something is missing that set-up may not or can't install itself."""

    def __init__(self, what: str, why: str, remedy: str) -> None:
        super().__init__(f"{what}: {why}. {remedy}")


class CommandFailed(Exception):
    """A program ended with an error. `said` is its whole output; the message has the end of it."""

    def __init__(self, command: list[str], code: int, log: Path, output: str) -> None:
        tail = "\n".join(f"    {line}" for line in output.splitlines()[-TAIL_LINES:])
        super().__init__(f"`{' '.join(command)}` ended with code {code}; everything it said is in {log}\n{tail}")
        self.output = output
