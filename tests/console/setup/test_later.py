"""What runs beside the console ends with it, whatever it is just starting."""

import subprocess
import sys

from console.setup import stamps
from console.setup.archive import Archive
from console.setup.later import AGAIN_S, FIRST_S, TRIED, pause
from console.setup.places import HERE

# Grandchildren in sessions of their own, whose parent is gone: nothing ties them to whoever must end them but adoption.
SCRIPT = """
import os, subprocess
from console.setup.later import adopt_orphans, descendants, end_descendants
adopt_orphans()
orphaning = "setsid sleep 1000 & setsid sleep 1000 & exit 0"
subprocess.run(["sh", "-c", orphaning], check=True)
keeping = subprocess.Popen(["sh", "-c", "setsid sleep 1000; true"])
print(len(descendants(os.getpid())) >= 3)
end_descendants()
print(descendants(os.getpid()))
"""


def test_orphans_in_sessions_of_their_own_are_ended_too():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=HERE.root, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.stdout, done.stderr) == ("True\n[]\n", "")


def test_a_start_after_one_that_was_too_short_waits_less(tmp_path):
    assert [pause(tmp_path), pause(tmp_path)] == [FIRST_S, AGAIN_S]
    stamps.drop(tmp_path, TRIED)  # as after an archive that was made
    assert pause(tmp_path) == FIRST_S


def test_every_file_that_makes_the_archive_counts(monkeypatch):
    """One that isn't there counts as well, and then for nothing."""
    named: list[str] = []

    def digest(files, *words):
        named.extend(str(file.relative_to(HERE.root)) for file in files if file.is_file())
        return "x"

    monkeypatch.setattr(stamps, "digest", digest)
    Archive(HERE)._digest()
    assert {"jobs/worker/archive.py", "jobs/worker/warm.py", "jobs/engine/config.py"} < set(named)
