"""What set-up's programs find in their environment."""

import sys

from console.setup.commands import run

PRINT = "import os; print(sorted(name for name in os.environ if name == 'JAVA_HOME' or name.startswith('LEVEE_')))"


def test_the_settings_of_an_instance_are_not_passed_on(tmp_path, monkeypatch):
    """An `up` of the same home would take the class archive's Java for one of its own that was left over."""
    monkeypatch.setenv("LEVEE_HOME", "/an/instance")
    monkeypatch.setenv("LEVEE_PROCESS", "spark")
    run([sys.executable, "-c", PRINT], tmp_path / "log", env={"JAVA_HOME": "/jdk"})
    assert (tmp_path / "log").read_text().splitlines()[-1] == "['JAVA_HOME']"
