"""The borders between the rooms, as pyproject.toml states them, and what the web process loads."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_import_crosses_a_border():
    found = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"], cwd=ROOT, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stdout[-4000:] + found.stderr[-2000:]


def test_the_web_process_loads_no_spark():
    program = (
        "import django, sys; django.setup(); import console.wsgi; from django.urls import get_resolver;"
        "get_resolver().url_patterns;"
        "sys.exit(', '.join(sorted({m.split('.')[0] for m in sys.modules} & {'pyspark', 'delta', 'py4j'})) or 0)"
    )
    found = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert (found.returncode, found.stderr.strip()) == (0, "")


def test_only_the_two_borders_of_processes_catch_everything():
    files = [file for app in ("console", "tables", "jobs") for file in (ROOT / app).rglob("*.py")]
    catching = re.compile(r"^\s*except( (Base)?Exception\b.*)?:", re.MULTILINE)
    found = {str(file.relative_to(ROOT)): len(catching.findall(file.read_text())) for file in files}
    assert {name: count for name, count in found.items() if count} == {
        "jobs/dispatcher/rounds.py": 1,
        "jobs/worker/border.py": 1,
    }
