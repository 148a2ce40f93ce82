"""The interface between a command's Spark module and the worker: its preview, its run, and the reads that it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from jobs.domain.commands import Command
from jobs.domain.engine import Checked, Report
from jobs.domain.measures import Measure
from jobs.domain.results import Result

Question = Mapping[str, Any]
Read = Callable[[SparkSession, Question, Report], dict[str, Any]]


def _own_path(command: Any) -> Sequence[str]:
    return (command.path,)


@dataclass(frozen=True, slots=True)
class Runner:
    """The Spark functions of one command. `reads` are by kind. `warm_up` makes its command for a small directory of parquet files
    partitioned by `p int`; the worker runs it once to warm up a fresh JVM. `paths` are the places that a command works on."""

    preview: Callable[[SparkSession, Any, int | None, Report], Measure]
    run: Callable[[SparkSession, Any, Mapping[str, Any], Checked, Report], Result]
    reads: Mapping[str, Read] = field(default_factory=dict)
    warm_up: Callable[[str], Command] | None = None
    paths: Callable[[Any], Sequence[str]] = _own_path
