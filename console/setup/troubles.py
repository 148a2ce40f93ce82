"""What set-up says when it can't go on: always what, why, and the command that would help."""

from __future__ import annotations

from pathlib import Path


class CannotInstall(Exception):
    """Something is missing that set-up may not or can't install itself."""

    def __init__(self, what: str, why: str, remedy: str) -> None:
        super().__init__(f"{what}: {why}. {remedy}")


class CommandFailed(Exception):
    """A program ended with an error; its last lines are part of the message."""

    def __init__(self, command: list[str], code: int, log: Path, tail: str) -> None:
        super().__init__(f"`{' '.join(command)}` ended with code {code}; everything it said is in {log}\n{tail}")
        self.tail = tail
