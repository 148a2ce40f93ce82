"""`make ready`: the gate for HEAD as it will be judged: in a clean clone elsewhere, beside two busy processes."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from console.supervisor.tools import PROJECT
from tests.gate import folder, verdict

BUSY = 2
SPIN = "while True: pass"


def main() -> int:
    """The exit code of `.ci/run` in the clone; 2 when the working tree isn't HEAD."""
    if verdict.tree() is None:
        print("make ready judges HEAD, and the working tree differs from it: commit or stash first", file=sys.stderr)
        return 2
    place = Path(tempfile.mkdtemp(prefix="lvr-"))
    place.chmod(0o711)
    try:
        return _judge(place)
    finally:
        folder.remove(place)


def _judge(place: Path) -> int:
    clone, temporary = place / "clone", place / "t"
    temporary.mkdir(mode=0o711)
    subprocess.run(["git", "clone", "-q", str(PROJECT), str(clone)], check=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LEVEE_", "VIRTUAL_ENV"))}
    with _busy():
        done = subprocess.run(
            [str(clone / ".ci" / "run")], cwd=clone, env={**environment, "TMPDIR": str(temporary), "CI": "true"}
        )
    _keep(clone / "test-results")
    return done.returncode


@contextlib.contextmanager
def _busy() -> Iterator[None]:
    """So many processes that want a core each."""
    busy = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(BUSY)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def _keep(results: Path) -> None:
    """The clone's verdict, where the working tree's own lies; its second tries with those of before."""
    folder.RESULTS.mkdir(exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        shutil.copy(results / "gate.json", folder.RESULTS)
        with open(folder.RESULTS / "second-tries.jsonl", "a") as kept:
            kept.write((results / "second-tries.jsonl").read_text())


if __name__ == "__main__":
    sys.exit(main())
