"""Each setting stands in the one table; test_generated_pages.py says that docs/settings.md is that table."""

import re
from pathlib import Path

from console.base.known_settings import NAMES, OF_TESTS, OF_THE_COMMAND_LINE, SETTINGS

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "console" / "base" / "known_settings.py"
READ = re.compile(r"""(?:given\[|values\.get\(|environ(?:\.get\(|\[)|= )"(LEVEE_\w+)\"""")


def read_by_code():
    files = [ROOT / "manage.py", *(f for app in ("console", "tables", "jobs") for f in (ROOT / app).rglob("*.py"))]
    return {name for file in files if file != TABLE for name in READ.findall(file.read_text())}


def test_the_code_reads_every_setting_of_the_table_and_no_other():
    assert read_by_code() == {*NAMES, *OF_THE_COMMAND_LINE}


def test_a_setting_has_one_row_and_none_is_a_tests_own():
    assert len(set(NAMES)) == len(SETTINGS)
    assert not [name for name in NAMES if name.startswith(OF_TESTS)]
    assert all(name.startswith("LEVEE_") for name in NAMES)
