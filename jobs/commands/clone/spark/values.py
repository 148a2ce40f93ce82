"""What the parts of a clone's run hand on: its target, and the copies of a deep one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from jobs.commands.clone.cleanup import CloneClaim
from jobs.engine.directory import Directory
from tables.storage.stores import is_remote


@dataclass(frozen=True, slots=True)
class CloneTarget:
    """Where the clone is made, and for which job's claim."""

    session: SparkSession
    directory: Directory
    claim: CloneClaim

    @property
    def path(self) -> Any:
        """Hadoop's path; it takes the text literally."""
        jvm: Any = self.session._jvm
        return jvm.org.apache.hadoop.fs.Path(self.directory.path)

    @property
    def uri(self) -> str:
        """The place as a log names it."""
        path = self.directory.path
        return str(self.path.toUri().toString()) if is_remote(path) else f"file:{self.path.toUri().toString()}"


@dataclass(frozen=True, slots=True)
class Copies:
    """The copied files as Delta's actions (a frame of AddFile's columns), and what was copied."""

    actions: DataFrame
    files: int
    bytes: int
    details: dict[str, Any]
