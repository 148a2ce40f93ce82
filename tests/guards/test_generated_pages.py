"""Pages of docs/ that are made from code say what the code says."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.guards import feature_table, permission_tables, settings_page


@pytest.mark.parametrize("made", [feature_table, permission_tables, settings_page], ids=lambda made: made.PAGE.name)
def test_a_page_says_what_the_code_says(made: ModuleType) -> None:
    is_made_of_it = made.PAGE.read_text() == made.render()
    assert is_made_of_it, f"{made.PAGE} is not what the code says: run `make pages`, and look at the difference"
