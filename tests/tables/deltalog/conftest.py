from pathlib import Path

import pytest

from tables.deltalog import DeltaLog, Snapshot, open_log
from tests.tables.deltalog.writing import LogWriter


@pytest.fixture
def writer(tmp_path: Path) -> LogWriter:
    return LogWriter(tmp_path / "table")


@pytest.fixture
def log(writer: LogWriter) -> DeltaLog:
    return open_log(str(writer.table))


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "files.arrow"


def paths(snapshot: Snapshot) -> list[str]:
    """The live files' paths, sorted."""
    return sorted(snapshot.files().column("path").to_pylist())
