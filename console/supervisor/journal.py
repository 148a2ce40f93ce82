"""What the supervisor did: one JSON line per event in `<home>/logs/up.log`."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path


class Journal:
    """Appends events to a file, and says the ones a person should know of on stderr."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, event: str, **fields: object) -> None:
        """One line: the event's name, the time, the fields."""
        line = {"event": event, **fields, "timestamp": datetime.now(UTC).isoformat()}
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def warn(self, event: str, text: str, **fields: object) -> None:
        """The same, and the text for whoever looks at the terminal."""
        self.write(event, text=text, **fields)
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
