"""The borders between the rooms, as pyproject.toml states them, and what the web process loads."""

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
        "sys.exit(str(sorted({m.split('.')[0] for m in sys.modules} & {'pyspark', 'delta', 'py4j'}) or ''))"
    )
    found = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert found.stderr.strip() in ("", "\n"), found.stderr
    assert found.returncode in (0, 1)
    assert "pyspark" not in found.stderr
