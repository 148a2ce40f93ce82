"""A job's progress on standard error: a bar in a terminal, else a line for each change."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from console.cli.session import printer
from console.cli.words import plain

Seen = Callable[[dict[str, Any]], None]


@contextmanager
def shown() -> Iterator[Seen]:
    """What takes the job after each answer, and shows it."""
    if sys.stderr.isatty():
        with _bar() as bar:
            yield _on(bar)
    else:
        yield _lines()


def stage_of(job: dict[str, Any]) -> str:
    """State and stage in words."""
    stage = job["progress"]["stage"]
    text = job["state_text"]
    return plain(f"{text} {stage}" if stage and job["finished_at"] is None else text)


def _bar() -> Progress:
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeElapsedColumn(), console=printer(sys.stderr), transient=True)


def _on(bar: Progress) -> Seen:
    task = bar.add_task("", total=None)

    def seen(job: dict[str, Any]) -> None:
        progress = job["progress"]
        bar.update(task, description=stage_of(job), completed=progress["done"] or 0, total=progress["total"])

    return seen


def _lines() -> Seen:
    last = ""

    def seen(job: dict[str, Any]) -> None:
        nonlocal last
        if (line := stage_of(job)) != last:
            last = line
            click.echo(line, err=True)

    return seen
