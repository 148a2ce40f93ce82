from collections.abc import Callable
from pathlib import Path

import pytest

from tables.deltalog.read.commits import LogCommit
from tables.deltalog.replay.log import DeltaLog, open_log
from tables.deltalog.state.snapshot import Snapshot
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


@pytest.fixture
def commits(log: DeltaLog, target: Path) -> Callable[[], list[LogCommit]]:
    """Reads the whole history."""
    return lambda: list(log.sync(target).commits())


def paths(snapshot: Snapshot) -> list[str]:
    """The live files' paths, sorted."""
    return sorted(snapshot.files().column("path").to_pylist())
