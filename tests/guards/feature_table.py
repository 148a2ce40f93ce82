"""docs/features.md, from the rows that each command has in the table of features: `make pages` writes it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from console.supervisor.tools import PROJECT

if TYPE_CHECKING:
    from jobs.domain.delta.feature_support import Refused

PAGE = PROJECT / "docs" / "features.md"
HEAD = """# Table features and commands

What each command can do on a table with a feature of Delta 4.4: **yes**; **partly**, where it depends on the request or on the table, as
the list below says; **no**, whatever is asked. What a command can’t do is refused at its request, with Delta’s condition, before
anybody reviews it. The column `drop_feature` is about dropping the very feature. A table that asks for a feature that Delta 4.4 doesn’t
know is refused by all of them (`unsupported_protocol`).

This page is generated from the code (`jobs/domain/delta/feature_support.py` and each command’s `rules.py`). Tests hold that each refusal is
one, that the features are those that Delta itself names, and that Delta on Spark does or refuses what the page says.
"""


def render() -> str:
    """The page as it must be."""
    return "\n".join([HEAD, _table(), "## What is refused\n", "\n".join(_refusals()) + "\n"])


def _rows() -> dict[str, dict[str, tuple[Refused, ...]]]:
    from jobs.commands.registry import ROWS
    from jobs.domain.delta.feature_support import refusals_of

    known = {
        kind: row for kind, row in ROWS.items() if row.value.__module__.startswith("jobs.") and row.refuses is not None
    }
    return {kind: dict(refusals_of(known[kind].refuses or {})) for kind in sorted(known)}


def _table() -> str:
    from jobs.domain.delta.protocols import FEATURES

    rows = _rows()
    lines = [["feature", *(f"`{kind}`" for kind in rows)], ["---"] * (len(rows) + 1)]
    lines += [[f"`{name}`", *(_word(cells[name]) for cells in rows.values())] for name in FEATURES]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _word(cells: tuple[Refused, ...]) -> str:
    if not cells:
        return "yes"
    return "no" if any(cell.always for cell in cells) else "partly"


def _refusals() -> Iterator[str]:
    from jobs.domain.delta.feature_support import EVERYWHERE

    for name, cells in EVERYWHERE.items():
        yield from (f"- every command, `{name}`: refused {_said(cell)}" for cell in cells)
    for kind, row in _rows().items():
        for name, found in row.items():
            own = found[len(EVERYWHERE.get(name, ())) :]
            yield from (f"- `{kind}`, `{name}`: refused {_said(cell)}" for cell in own)


def _said(cell: Refused) -> str:
    condition = f" (`{cell.condition}`)" if cell.condition else ""
    return f"{cell.when}{condition}."


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    django.setup()
    PAGE.write_text(render())
