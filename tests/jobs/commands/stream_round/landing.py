"""A stream below a directory of a test: what its source holds, and what its table holds by another engine."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deltalake import DeltaTable as Witness

from jobs.commands.stream_round.rules import Definition, FileSource, TableSource

FIELDS = {"id": "long", "name": "string"}
ONE_BY_ONE = {"maxFilesPerTrigger": "1"}


class Stream:
    """A stream below a directory: its files, its table and its checkpoint."""

    def __init__(self, top: Path) -> None:
        self.source, self.target, self.checkpoint = top / "source", top / "table", top / "checkpoint"
        self.source.mkdir()
        self.target.mkdir()
        self.written = 0

    def write(self, *numbers: int, **more: object) -> None:
        """A JSON file of rows with these ids."""
        rows = [json.dumps({"id": number, "name": f"r{number}", **more}) for number in numbers]
        self.put("\n".join(rows) + "\n")

    def put(self, text: str) -> None:
        self.written += 1
        place = self.source / f"{self.written:03}"
        place.write_text(text)
        written_at = place.stat().st_mtime + self.written  # Spark takes the oldest first, and two may come in one tick
        os.utime(place, (written_at, written_at))

    def files(self, source_format: str = "json", fields: Mapping[str, str] = FIELDS, **options: str) -> FileSource:
        return FileSource(str(self.source), source_format, struct(fields), options)

    def definition(self, source: FileSource | TableSource | None = None, **given: Any) -> Definition:
        return Definition(source or self.files(), str(self.target), str(self.checkpoint), **given)

    def rows(self) -> list[dict]:
        """The table's rows as delta-rs reads them."""
        return sorted(Witness(str(self.target)).to_pyarrow_table().to_pylist(), key=str)

    def ids(self) -> list[int]:
        return sorted(row["id"] for row in self.rows())

    def query_id(self) -> str:
        return str(json.loads((self.checkpoint / "metadata").read_text())["id"])


def struct(fields: Mapping[str, str]) -> dict:
    return {
        "type": "struct",
        "fields": [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in fields.items()],
    }


def table_id(path: Path) -> str:
    return str(Witness(str(path)).metadata().id)
