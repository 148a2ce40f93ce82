"""What a run on a cluster says about its executors: that it waits for one, and that one has come."""

from __future__ import annotations

import socket
import time
from urllib.parse import urlsplit

from console.base.timeouts import timing

STAGE = "waiting for executors"
WAITING = (
    "Waiting for executors: {cluster} has given this job none for {seconds:.0f} s. It goes on by itself when a worker of the cluster "
    "has the cores and the memory free. You can also cancel it."
)
BACK = "Executors have come after {seconds:.0f} s: the run goes on."
READ = (
    "{cluster} has given Levee no executors for {seconds:.0f} s, so Spark can’t answer. Try again when a worker of the cluster has the "
    "cores and the memory free."
)
PATIENCE_S = 5.0


def named(master: str | None) -> str:
    """The cluster as a sentence names it."""
    return f"the cluster {master}" if master else "the cluster"


class Executors:
    """Whether a run has executors, as one thread sees it, and what another thread says of that. `seconds` are on the monotonic clock."""

    def __init__(self, master: str | None) -> None:
        self.cluster = named(master)
        self._missing_since: float | None = None
        self._told_since: float | None = None
        self._news_since: float | None = None
        self.waiting: str | None = None  # in words, from when it was told until executors come

    def seen(self, there: bool) -> None:
        """What the engine answered just now."""
        if there:
            self._missing_since = None
        elif self._missing_since is None:
            self._missing_since = time.monotonic()

    def news(self) -> str | None:
        """What isn't told yet; `told` says that it is."""
        since, now = self._missing_since, time.monotonic()
        self._news_since = since  # executors may come before it is told
        if since is None:
            return None if self._told_since is None else BACK.format(seconds=now - self._told_since)
        if self._told_since is None and now - since > timing().no_executors:
            return WAITING.format(cluster=self.cluster, seconds=now - since)
        return None

    def told(self, text: str) -> None:
        """The text of `news` is on record."""
        waits = self._told_since is None
        self._told_since, self.waiting = (self._news_since, text) if waits else (None, None)


def silence_of(master: str) -> str | None:
    """Why no master of a `spark://` cluster can be connected to, in one line; None if one can, and for every other kind of master."""
    if not master.startswith("spark://"):
        return None
    causes = [_refusal(address) for address in master.removeprefix("spark://").split(",")]
    return None if None in causes else f"LEVEE_SPARK_MASTER: {master} doesn't answer ({causes[0]})"


def _refusal(address: str) -> str | None:
    parts = urlsplit(f"//{address}")
    try:
        socket.create_connection((parts.hostname or "", parts.port or 0), PATIENCE_S).close()
    except (OSError, ValueError) as error:
        return (getattr(error, "strerror", None) or str(error) or type(error).__name__).strip()
    return None
