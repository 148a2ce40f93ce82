"""Who follows a part that `serve` became: it ends what hangs, nothing else, and itself with the part."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from console.supervisor import serve, watchdog
from console.supervisor.tools import PROJECT
from tests.patience import limit, wait_for

PART = """
import os, sys
from console.supervisor.serve import start_watchdog
start_watchdog("web", int(sys.argv[1]))
os.execv(sys.executable, [sys.executable, "-c", sys.argv[2], sys.argv[1]])
"""
SERVES = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Live(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        print("asked", flush=True)
    def log_message(self, *_): pass
HTTPServer(("127.0.0.1", int(sys.argv[1])), Live).serve_forever()
"""


@pytest.fixture
def part() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def test_what_has_worked_and_falls_silent_is_ended(part: subprocess.Popen[bytes]) -> None:
    signs = iter([False, True, True])
    silent = watchdog.watch(part.pid, lambda _: next(signs, False), 0.3)
    assert silent is not None
    assert silent > 0.3
    assert part.wait(limit(10)) == -signal.SIGKILL


@pytest.mark.parametrize("sign", [False, None])
def test_what_has_never_worked_is_left_alone_and_followed_to_its_end(
    part: subprocess.Popen[bytes], sign: bool | None
) -> None:
    asked = threading.Event()

    def look(_pid: int) -> bool | None:
        if asked.is_set() and part.stdin is not None and not part.stdin.closed:
            part.stdin.close()  # asked twice, which is past the limit: now it ends by itself
        asked.set()
        return sign

    assert watchdog.watch(part.pid, look, 0.05) is None
    assert part.wait(limit(10)) == 1


def test_no_answer_about_it_is_no_silence(part: subprocess.Popen[bytes]) -> None:
    """A database that is away."""
    signs: Iterator[bool | None] = iter([True])
    timer = threading.Timer(1.0, part.kill)
    timer.start()
    assert watchdog.watch(part.pid, lambda _: next(signs, None), 0.2) is None
    timer.join()


def test_a_process_that_is_gone_is_followed_by_nobody(part: subprocess.Popen[bytes]) -> None:
    part.kill()
    part.wait()
    assert watchdog.watch(part.pid, lambda _: True, 1) is None


def test_a_part_that_is_frozen_is_ended_and_its_watchdog_with_it() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])
    environment = {**os.environ, "LEVEE_TIMING": '{"hung": 1.5}'}
    command = [sys.executable, "-c", PART, port, SERVES]
    with subprocess.Popen(command, cwd=PROJECT, env=environment, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert [process.stdout.readline() for _ in range(2)] == [b"asked\n"] * 2, "its sign has been heard"
            os.kill(process.pid, signal.SIGSTOP)
            assert process.wait(limit(30)) == -signal.SIGKILL
        finally:
            process.kill()
    wait_for(lambda: not followers(process.pid), "the watchdog is gone")


def followers(pid: int) -> bool:
    found = subprocess.run(["pgrep", "-f", f"console.supervisor.watchdog web {pid} "], capture_output=True)
    return found.returncode == 0


def test_the_part_has_no_child_that_it_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(subprocess, "run", lambda command, **_: asked.append(command))
    serve.start_watchdog("spark", name="spark-2")
    assert asked == [
        [sys.executable, "-m", "console.supervisor.watchdog", "spark", str(os.getpid()), "--name", "spark-2"]
    ]
