"""Links put in the place of directories at any step of a read, a preview or a run, and what came of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jobs.commands.convert.rules import Convert
from jobs.domain.engine import UNCHECKED, Checked, Marks
from jobs.domain.errors import CommandRefused, DirectorySwapped
from jobs.domain.results import Inspection
from jobs.engine.directory import Directory
from jobs.worker.spark_engine import SparkEngine
from tests.jobs.engine.deltas import deletion, restoration
from tests.jobs.engine.lake import Recorder
from tests.jobs.engine.watching import Watch

TARGETS = ("t", "sub", "_delta_log")
SAID = frozenset({"outside_roots", "not_found"})


@dataclass
class Lake:
    """`root/sub/t` is ours, `outside/sub/t` nobody's: the same table with a row of its own."""

    top: Path

    @property
    def table(self) -> Path:
        return self.top / "root" / "sub" / "t"

    def place(self, target: str) -> Path:
        return {"t": self.table, "sub": self.table.parent}.get(target, self.table / target)

    def swap(self, target: str) -> None:
        place = self.place(target)
        place.rename(self.top / "kept")
        place.symlink_to(self.top / "outside" / place.relative_to(self.top / "root"))

    def undo(self, target: str) -> None:
        if self.place(target).is_symlink():
            self.place(target).unlink()
            (self.top / "kept").rename(self.place(target))


class Steps(Recorder):
    """Does something at the n-th step that is reported; `count` tells how many there were."""

    asked: Steps | None = None

    def __init__(self, number: int | None, act: Callable[[], None]) -> None:
        super().__init__()
        self.number, self.act, self.count = number, act, 0
        Steps.asked = self

    def _act(self, name: str) -> None:
        if self.count == self.number:
            self.act()
        self.count += 1


@contextmanager
def checks_are_steps() -> Iterator[None]:
    """Each walk to the directory is a step too, just before it is made."""
    with pytest.MonkeyPatch.context() as patch:
        walk = Directory._check_path

        def announced(directory: Directory) -> None:
            if Steps.asked is not None:
                Steps.asked._act("walk")
            walk(directory)

        patch.setattr(Directory, "_check_path", announced)
        yield
    Steps.asked = None


Ask = Callable[[SparkEngine, Path, Marks, Steps], Any]


def _preview(command: Callable[[Path], Any]) -> Ask:
    return lambda engine, path, marks, report: engine.preview(command(path), None, marks, report)


def _run(command: Callable[[Path], Any], version: int | None) -> Ask:
    checked = UNCHECKED if version is None else Checked(version, strict=True)
    return lambda engine, path, marks, report: engine.run(command(path), {}, checked, marks, report)


def _rehearsal(command: Callable[[Path], Any]) -> Ask:
    return lambda engine, path, marks, report: engine.rehearse(command(path), {}, 1, marks, report)


def _read(kind: str, **question: Any) -> Ask:
    return lambda engine, path, marks, report: engine.read(kind, {"path": str(path), **question}, marks, report)


def _convert(path: Path) -> Convert:
    return Convert(str(path), None, "parquet", "p int")


def _run_convert(engine: SparkEngine, path: Path, marks: Marks, report: Steps) -> Any:
    seen = engine.preview(_convert(path), None, marks, Recorder())
    assert isinstance(seen, Inspection)
    return engine.run(_convert(path), seen.as_json(), UNCHECKED, marks, report)


DELTA: dict[str, Ask] = {
    "rows": _read("rows", limit=100),
    "changes": _read("changes", from_version=1, limit=100),
    "row diff": _read("row_diff", from_version=0, to_version=1, limit=100),
    "profile": _read("profile"),
    "live table": _read("deltatable"),
    "delete, preview": _preview(lambda path: deletion(path, "id < 5")),
    "delete": _run(lambda path: deletion(path, "id < 5"), 1),
    "restore, preview": _preview(lambda path: restoration(path, 0)),
    "restore": _run(lambda path: restoration(path, 0), 1),
    "delete, rehearsal": _rehearsal(lambda path: deletion(path, "id < 5")),
    "restore, rehearsal": _rehearsal(lambda path: restoration(path, 0)),
}
PARQUET: dict[str, Ask] = {
    "inspection": _read("inspect"),
    "convert, preview": _preview(_convert),
    "convert": _run_convert,
}


def swapped_everywhere(
    engine: SparkEngine,
    ask: Ask,
    template: Path,
    top: Path,
    targets: tuple[str, ...],
    numbers: Iterator[int],
    stride: int = 1,
) -> Iterator[str]:
    """Asks with a swap of each target at each step, or at each `stride`th; what went wrong, in words."""
    steps = _steps(engine, ask, template, top / "whole", numbers)
    for target in targets:
        for step in range(-1, steps, stride):
            lake = laid(template, top / f"{target}-{step}")
            if lake.place(target).exists():
                yield from (
                    f"{target} at step {step}: {what}" for what in _tried(engine, ask, lake, target, step, numbers)
                )
            shutil.rmtree(lake.top)


def _steps(engine: SparkEngine, ask: Ask, template: Path, top: Path, numbers: Iterator[int]) -> int:
    report = Steps(None, lambda: None)
    ask(engine, laid(template, top).table, _marks(numbers), report)
    return report.count


def laid(template: Path, top: Path) -> Lake:
    """The lake with this table in both places."""
    lake = Lake(top)
    shutil.copytree(template, lake.table)
    shutil.copytree(template, top / "outside" / "sub" / "t")
    return lake


def _marks(numbers: Iterator[int]) -> Marks:
    return Marks(job=f"swap-{next(numbers)}", attempt=1, digest="d" * 64)


def _tried(engine: SparkEngine, ask: Ask, lake: Lake, target: str, step: int, numbers: Iterator[int]) -> Iterator[str]:
    report = Steps(step, lambda: lake.swap(target))
    watch = Watch(lake.top / "outside")
    if step < 0:
        report.act = lambda: None
        prepared = _prepared(ask, lake, target)
    else:
        prepared = ask
    answer: Any = None
    try:
        answer = prepared(engine, lake.table, _marks(numbers), report)
    except CommandRefused as refused:
        if refused.refusals[0].code not in SAID:
            yield f"refused as {refused.refusals[0].code}: {refused}"
    except DirectorySwapped:
        pass
    if watch.touched():
        yield "something outside was opened, listed or changed"
    watch.close()
    lake.undo(target)
    if answer is not None and not _is_of(lake, answer):
        yield f"answered as if nothing were: {answer}"


def _is_of(lake: Lake, answer: Any) -> bool:
    """A run's commit that lies in our own table: it was swapped once that was known."""
    version = getattr(answer, "version", None)
    return version is not None and (lake.table / "_delta_log" / f"{version:020d}.json").exists()


def _prepared(ask: Ask, lake: Lake, target: str) -> Ask:
    """A swap between the request and the engine's first look."""

    def asked(engine: SparkEngine, path: Path, marks: Marks, report: Steps) -> Any:
        class Early:
            def __getattr__(self, name: str) -> Any:
                def call(*given: Any) -> Any:
                    if not lake.place(target).is_symlink():
                        lake.swap(target)
                    return getattr(engine, name)(*given)

                return call

        return ask(Early(), path, marks, report)  # type: ignore[arg-type]

    return asked
