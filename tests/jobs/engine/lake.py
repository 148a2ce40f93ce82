"""What lies in a table's directory, read without Spark, and a report that remembers."""

import json
from pathlib import Path


class Recorder:
    """A Report that keeps what it is told; `at` maps a point or stage to what is done when it is reached."""

    def __init__(self) -> None:
        self.stages: list[str] = []
        self.lines: list[str] = []
        self.points: list[str] = []
        self.at: dict = {}

    def stage(self, name: str) -> None:
        self.stages.append(name)
        self._act(name)

    def log(self, text: str) -> None:
        self.lines.append(text)

    def point(self, name: str) -> None:
        self.points.append(name)
        self._act(name)

    def _act(self, name: str) -> None:
        action = self.at.pop(name, None)
        if action is not None:
            action()


def commits(path: Path) -> list[Path]:
    """The commit files of a table, read without Spark. A checkpoint may be a JSON file too."""
    return sorted((path / "_delta_log").glob(f"{'[0-9]' * 20}.json"))


def actions(path: Path, kind: str) -> list[dict]:
    """Every action of one kind in all commits."""
    lines = [json.loads(line) for commit in commits(path) for line in commit.read_text().splitlines()]
    return [line[kind] for line in lines if kind in line]


def names(path: Path) -> set[str]:
    """Everything below a directory, hidden names included, but for the checksums that Hadoop leaves beside files."""
    return {str(found.relative_to(path)) for found in path.rglob("*") if not found.name.endswith(".crc")}
