"""Progress goes to standard error: a bar for a terminal, a line for each change elsewhere."""

import io
from typing import Any

import pytest

from console.cli import progress
from console.cli.session import facts, printer


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def job(done: int | None, total: int | None, stage: str | None = "scanning") -> dict[str, Any]:
    return {
        "state_text": "Running on Spark.", "finished_at": None, "progress": {"stage": stage, "done": done, "total": total},
    }  # fmt: skip


STEPS = (job(None, None, None), job(3, 12), job(7, 12), job(12, 12, "committing"))


def shown_on(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("sys.stderr", stream)
    with progress.shown() as seen:
        for step in STEPS:
            seen(step)
    return stream.getvalue()


def test_a_terminal_has_a_bar_with_the_tasks_of_the_stage(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    text = shown_on(Terminal(), monkeypatch)
    assert "12/12" in text
    assert "committing" in text
    assert "\x1b[" in text


def test_a_log_has_a_line_for_each_stage(monkeypatch):
    lines = shown_on(io.StringIO(), monkeypatch).splitlines()
    assert lines == ["Running on Spark.", "Running on Spark. scanning", "Running on Spark. committing"]


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()], ids=["pipe", "terminal"])
def test_no_color_holds_in_a_terminal_and_a_pipe_never_has_any(stream, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    printer(stream).print(facts([("Name", "orders")]), style="red")
    assert "\x1b[31m" not in stream.getvalue()
    assert stream.isatty() or "\x1b" not in stream.getvalue()
