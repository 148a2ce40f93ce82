"""What set-up says when it can't go on: always what, why, and the command that would help."""

from __future__ import annotations

from pathlib import Path

TAIL_LINES = 15


class CannotInstall(Exception):
    """Something is missing that set-up may not or can't install itself."""

    def __init__(self, what: str, why: str, remedy: str) -> None:
        super().__init__(f"{what}: {why}. {remedy}")


class CommandFailed(Exception):
    """A program ended with an error. `said` is all it printed; the message holds the end of that."""

    def __init__(self, command: list[str], code: int, log: Path, said: str) -> None:
        tail = "\n".join(f"    {line}" for line in said.splitlines()[-TAIL_LINES:])
        super().__init__(f"`{' '.join(command)}` ended with code {code}; everything it said is in {log}\n{tail}")
        self.said = said
