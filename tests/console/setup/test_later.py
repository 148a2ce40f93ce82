"""What runs beside the console ends with it, whatever it is just starting."""

import subprocess
import sys

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
        [sys.executable, "-c", SCRIPT], cwd=HERE.root, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("True\n[]\n", "")
