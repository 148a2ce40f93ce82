"""Other engines' writers of Delta tables: which there are, which tables each makes, and where set-up has put them."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from console.supervisor.tools import PROJECT
from tests.patience import limit

TOOLS = PROJECT / ".tools"
QUIET_S = 20.0


@dataclass(frozen=True, slots=True)
class Writer:
    """A version of an engine. `module` has its recipes, `folder` its packages below .tools (None: those of the tests have it).

    `lacks` are the recipes that this version can't follow.
    """

    module: str
    folder: str | None = None
    lacks: frozenset[str] = frozenset()

    @property
    def tables(self) -> list[str]:
        recipes = importlib.import_module(f"tests.jobs.foreign.{self.module}").RECIPES
        return [name for name in recipes if name not in self.lacks]


WRITERS: Mapping[str, Writer] = {
    "deltalake-0.15": Writer(
        "by_deltalake",
        "foreign-deltalake-0.15",
        frozenset(
            [
                "annotated",
                "columns_added",
                "evolved",
                "feature_added",
                "large_kinds",
                "logs_compacted",
                "null_allowed",
                "properties_set",
                "renamed",
                "transacted",
                "unconstrained",
                "vectors_added",
            ]
        ),
    ),
    "deltalake-0.25": Writer(
        "by_deltalake",
        "foreign-deltalake-0.25",
        frozenset(["logs_compacted", "null_allowed", "renamed", "vectors_added"]),
    ),
    "deltalake": Writer("by_deltalake"),
    "polars": Writer("by_polars", "foreign-polars"),
    "duckdb": Writer("by_duckdb", "foreign-duckdb"),
}
# Of the tables by each writer, what a test is asked of.
CASES = [pytest.param(name, table, id=f"{name}-{table}") for name, writer in WRITERS.items() for table in writer.tables]


def write(name: str, folder: Path) -> None:
    """Every table of a writer, below the folder. Skips the test where the writer isn't installed."""
    writer = WRITERS[name]
    if writer.folder and not (TOOLS / writer.folder).is_dir():
        pytest.skip(f"{name} isn't installed: `make test-all` installs it, `make test` doesn't need it")
    path = {"PYTHONPATH": str(TOOLS / writer.folder)} if writer.folder else {}
    command = [sys.executable, "-m", "tests.jobs.foreign.write", writer.module, str(folder)]
    done = subprocess.run(
        command, cwd=PROJECT, env={**os.environ, **path}, capture_output=True, text=True, timeout=limit(QUIET_S)
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answers = json.loads(done.stdout.splitlines()[-1])
    missing = {table: why for table, why in answers.items() if why is not None}
    assert set(missing) == writer.lacks, missing
