"""Tables as the deltalake writes them that is on this interpreter's path, which may be years older than that of the tests.

Runs in a process of its own (`write`). Each recipe is a table's name and how it comes to be; one that raises needs what that version
lacks.
"""

from __future__ import annotations

from tests.jobs.foreign import deltalake_changes, deltalake_kinds
from tests.jobs.foreign.write import Recipe

RECIPES: dict[str, Recipe] = {**deltalake_kinds.RECIPES, **deltalake_changes.RECIPES}
