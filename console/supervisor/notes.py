"""What the supervisor notes for others: which processes run (for the next start), and how they are (for the health page).

Nothing that the supervisor does depends on these notes. A disk that takes nothing leaves them old, and what is owed is
written as soon as there is space.
"""

from pathlib import Path
from typing import Any

from console.supervisor.home import write_json

PIDS = "pids.json"
STATUSES = "processes.json"


class Notes:
    """The files of `<home>/state` that the supervisor keeps, each by its newest value."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._owed: dict[str, Any] = {}

    def write(self, name: str, value: Any) -> None:
        """Replaces a file, now or at a later `write_owed`. Never raises."""
        self._owed[name] = value
        self.write_owed()

    def write_owed(self) -> None:
        """Writes what could not be written before, as far as the disk takes it now."""
        for name in list(self._owed):
            try:
                write_json(self._directory / name, self._owed[name])
            except OSError:
                return
            del self._owed[name]
