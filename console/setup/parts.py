"""What a part of set-up is, and how parts are brought up to date side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from console.setup.troubles import CannotInstall, CommandFailed

Say = Callable[[str], None]


class SetupPart(Protocol):
    """One thing that must be there. `needs` names the parts that must be there first."""

    @property
    def name(self) -> str: ...

    @property
    def needs(self) -> tuple[str, ...]: ...

    def ready(self) -> bool:
        """True when nothing is to be done; takes milliseconds."""
        ...

    def install(self) -> None:
        """Do it, from whatever an earlier run left. Raises CannotInstall or CommandFailed."""
        ...


def bring_up_to_date(parts: Sequence[SetupPart], say: Say) -> list[str]:
    """Install what isn't ready, each part as soon as its needs are met; the names of the parts that failed.

    A trouble is said when it is met, not after minutes of other parts' work. What waited for a failed part is left out.
    """
    failed: list[str] = []
    with ThreadPoolExecutor(max_workers=max(len(parts), 1)) as pool:
        done: dict[str, Future[bool]] = {}
        for part in parts:  # in order: a need stands before whoever needs it, so no thread waits for a later one
            waits = [done[name] for name in part.needs if name in done]
            done[part.name] = pool.submit(_bring, part, waits, say, failed)
        for future in done.values():
            future.result()
    return failed


def _bring(part: SetupPart, waits: list[Future[bool]], say: Say, failed: list[str]) -> bool:
    """True when the part is there; False when it failed or when something it needs did."""
    if part.ready():  # what is there need not wait for what would have installed it
        return True
    if not all(wait.result() for wait in waits):
        return False
    return part.ready() or _install(part, say, failed)


def _install(part: SetupPart, say: Say, failed: list[str]) -> bool:
    say(f"{part.name} …")
    begin = time.monotonic()
    try:
        part.install()
    except (CannotInstall, CommandFailed) as trouble:
        say(str(trouble))
        failed.append(part.name)
        return False
    say(f"{part.name}: done in {time.monotonic() - begin:.0f} s")
    return True
