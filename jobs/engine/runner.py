"""The interface between a command's Spark module and the worker: its preview, its run, and the reads that it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import SparkSession

from jobs.domain.commands import Command
from jobs.domain.engine import Checked, Report
from jobs.domain.measures import Measure
from jobs.domain.results import Result

Question = Mapping[str, Any]
Run = Callable[[SparkSession, Any, Mapping[str, Any], Checked, Report], Result]
Read = Callable[[SparkSession, Question, Report], dict[str, Any]]


def _own_path(command: Any) -> Sequence[str]:
    return (command.path,)


def _none_older(command: Any) -> None:
    return None


def _nothing_else(result: Result) -> Mapping[str, Any]:
    return {}


def at_path(command: Any, path: str) -> Any:
    """The same command on the table at another path."""
    return replace(command, path=path)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """How a command runs on a clone of its table: the command for the clone's path; the older version that it needs below the
    measured one, if any: the clone then has it as version 0; and what its result tells beside Delta's metrics, without versions."""

    on_clone: Callable[[Any, str], Any] = at_path
    older: Callable[[Any], int | None] = _none_older
    told: Callable[[Result], Mapping[str, Any]] = _nothing_else


@dataclass(frozen=True, slots=True)
class Runner:
    """The Spark functions of one command. `preview` is None where the log tells what the command would do. `reads` are by kind.

    `warm_up` makes its command for a small directory of parquet files partitioned by `p int`; the worker runs it once to warm up a fresh
    JVM. `paths` are the places that a command works on. `rehearsal` is there for a command that can be rehearsed.
    """

    run: Run
    preview: Callable[[SparkSession, Any, int | None, Report], Measure] | None = None
    reads: Mapping[str, Read] = field(default_factory=dict)
    warm_up: Callable[[str], Command] | None = None
    paths: Callable[[Any], Sequence[str]] = _own_path
    rehearsal: Rehearsal | None = None
