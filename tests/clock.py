"""One module's clock, replaced for a test: background threads of the same process go on with the real one."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest


def replace(monkeypatch: pytest.MonkeyPatch, module: str, **functions: Any) -> None:
    """Gives the `module` alone a `time` with these functions, as `sleep`; the rest of its `time` stays real.

    To set `time.sleep` itself would call the test's function from whatever other thread sleeps meanwhile.
    """
    before = importlib.import_module(module).time
    monkeypatch.setattr(f"{module}.time", SimpleNamespace(**{**vars(before), **functions}))
