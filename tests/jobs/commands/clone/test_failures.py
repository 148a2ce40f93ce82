"""What becomes of the copies when a run can't know whether it has committed: they may be a table's by now, and stay."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from jobs.commands.clone.cleanup import CloneClaim
from jobs.commands.clone.rules import Clone
from jobs.commands.clone.spark import run
from jobs.domain.engine import UNCHECKED
from jobs.domain.errors import CommandRefused, Refusal
from jobs.engine.commits.history import commits_after
from tables.storage.trees import Unreachable
from tests.jobs import small_delta
from tests.jobs.engine.lake import Recorder

JOB = "0b8c0c2e-0000-4000-8000-000000000001"
CLAIM = CloneClaim(JOB, 7)


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: Any) -> Callable[[Callable[[Path], Any]], Any]:
    """Runs a deep clone whose copying and committing is `made`, given the target with one copy in it."""
    source, target = tmp_path / "sales", tmp_path / "copy"
    small_delta.create(source, [{"id": 1, "p": "FR"}])
    target.mkdir()
    monkeypatch.setattr(run, "_claim", lambda session: CLAIM)
    monkeypatch.setattr(run, "is_own", lambda session, commit: JOB in (commit.userMetadata or ""))
    for name in ("_source", "_refuse_missing", "_wait_for_tasks"):
        monkeypatch.setattr(run, name, lambda *given: None)

    def do(made: Callable[[Path], Any]) -> Any:
        def copied_first(*given: Any) -> dict[str, Any]:
            (target / f"part-0{CLAIM.file_mark}.parquet").write_text("x")
            made(target)
            return {}

        monkeypatch.setattr(run, "_made", copied_first)
        command = Clone("t", str(target), "deep", 0, str(source), str(target), "sales")
        session: Any = SimpleNamespace()
        return run.run_clone(session, command, {}, UNCHECKED, Recorder())

    return do


def commit(target: Path) -> None:
    (target / "_delta_log").mkdir()
    small_delta.commit(target, "CLONE", [], version=0, userMetadata=f'{{"job": "{JOB}"}}')


def copies(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "copy").glob("*.parquet"))


def test_a_failure_that_the_jvm_has_told_leaves_nothing(clone, tmp_path):
    def fails(target: Path) -> None:
        raise CommandRefused(Refusal("copy_failed", "a disk went away"))

    with pytest.raises(CommandRefused, match="went away"):
        clone(fails)
    assert not copies(tmp_path)


@pytest.mark.parametrize("error", [Py4JNetworkError("no answer"), Py4JError("o1.commitLarge"), ConnectionResetError()])
def test_a_jvm_that_does_not_answer_may_still_commit_on_its_copies(clone, tmp_path, error):
    def lost(target: Path) -> None:
        raise error

    with pytest.raises(type(error)):
        clone(lost)
    assert copies(tmp_path)


def test_a_log_that_can_not_be_read_after_the_commit_costs_no_copies_and_no_wrong_word(clone, tmp_path, monkeypatch):
    def unreadable(path: str, version: int) -> Any:
        raise Unreachable(f"{path} can't be read")

    monkeypatch.setattr(run, "commits_after", unreadable)
    with pytest.raises(Unreachable):
        clone(commit)
    assert copies(tmp_path)


def test_a_log_that_can_be_read_again_at_once_tells_the_commit(clone, tmp_path, monkeypatch):
    answers = [OSError(5, "Input/output error")]

    def at_the_second_try(path: str, version: int) -> Any:
        if answers:
            raise answers.pop()
        return commits_after(path, version)

    monkeypatch.setattr(run, "commits_after", at_the_second_try)
    assert clone(commit).version == 0
    assert copies(tmp_path)


def test_an_error_before_the_commit_is_told_though_the_log_can_not_be_read(clone, tmp_path, monkeypatch):
    def unreadable(path: str, version: int) -> Any:
        raise OSError(5, "Input/output error")

    def fails(target: Path) -> None:
        raise CommandRefused(Refusal("copy_failed", "a disk went away"))

    monkeypatch.setattr(run, "commits_after", unreadable)
    with pytest.raises(CommandRefused, match="went away"):
        clone(fails)
    assert copies(tmp_path)
