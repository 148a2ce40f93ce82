"""What tests of the audit share: heads in a file of their own, and a hand that may do what nobody may."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from console.audit.integrity import heads
from console.supervisor.servers import postgres
from tests.console.audit.making import TRIGGERS


@pytest.fixture(autouse=True)
def heads_file(tmp_path: Path, monkeypatch) -> Path:
    """Heads of one test don't meet the database of another."""
    file = tmp_path / "heads" / "heads.jsonl"
    monkeypatch.setattr(heads, "heads_file", lambda: file)
    return file


class Intruder:
    """A superuser who turns every trigger of the audit off, and on again after each act: whoever has the server, and is careful."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self.connection = connection

    def execute(self, sql: str, values: list | None = None) -> None:
        self._triggers("disable trigger")
        self.connection.execute(sql.encode(), values)
        self._triggers("enable always trigger")

    def _triggers(self, what: str) -> None:
        each = (f"alter table audit.{table} {what} {trigger};" for table, trigger in TRIGGERS)
        self.connection.execute("".join(each).encode())


@pytest.fixture
def intruder(transactional_db, levee_home) -> Iterator[Intruder]:
    with postgres.connect(levee_home) as connection:
        yield Intruder(connection)


@pytest.fixture
def head_lines(heads_file) -> Callable[[], list[dict]]:
    """The lines of the heads' file."""
    return lambda: [json.loads(line) for line in heads_file.read_text().splitlines()]
