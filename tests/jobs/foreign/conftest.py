"""The tables of each writer, written once in a run. Whoever changes one takes a copy."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.jobs.foreign import writers

Written = Callable[[str, str], Path]


@pytest.fixture(scope="session")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a writer's tables."""
    folders: dict[str, Path] = {}

    def folder(writer: str) -> Path:
        if writer not in folders:
            made = tmp_path_factory.mktemp(writer)
            writers.write(writer, made)
            folders[writer] = made
        return folders[writer]

    return folder


@pytest.fixture
def written(originals: Callable[[str], Path], tmp_path: Path) -> Written:
    """A copy of one table of a writer: `written(writer, table)`."""

    def copied(writer: str, table: str) -> Path:
        return Path(shutil.copytree(originals(writer) / table, tmp_path / "lake" / table))

    return copied
