"""The supervisor's journal: one JSON line per event in `<home>/logs/up.log`."""

import contextlib
import json
import sys
from collections import deque
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

KEPT = 1_000  # lines that wait for space on the disk: days of a program that dies once a minute


class Journal:
    """Appends events to a file, and says the ones a person should know of on stderr. A full disk delays it and stops nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._owed: deque[str] = deque(maxlen=KEPT)

    def write(self, event: str, **fields: object) -> None:
        """One line: the event's name, the time, the fields. What the disk doesn't take is written with a later line."""
        line = {"event": event, **fields, "timestamp": datetime.now(UTC).isoformat()}
        self._owed.append(json.dumps(line) + "\n")
        if self._append("".join(self._owed).encode()):
            self._owed.clear()

    def warn(self, event: str, text: str, **fields: object) -> None:
        """The same, and the text on the terminal."""
        self.write(event, text=text, **fields)
        say(text, sys.stderr)

    def _append(self, text: bytes) -> bool:
        """All of the text or nothing of it: half a line would be read as a line."""
        try:
            with open(self._path, "ab", buffering=0) as file:
                before = file.tell()
                if file.write(text) == len(text):
                    return True
                file.truncate(before)
        except OSError:
            pass
        return False


def say(line: str, stream: TextIO) -> None:
    """A line for the terminal; where it goes may be a file on a full disk, or closed, and Levee runs on."""
    with contextlib.suppress(OSError):
        stream.write(line + "\n")
        stream.flush()
