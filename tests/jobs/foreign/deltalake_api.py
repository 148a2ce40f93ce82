"""How a deltalake of any version is asked to write: what a version calls differently is told by its signatures."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa


class Lacks(Exception):
    """This version of the writer has no such thing."""


def rows(start: int = 0, count: int = 20, **more: Sequence[Any]) -> pa.Table:
    """Ids in a row, a text, a number with NULLs."""
    ids = range(start, start + count)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "name": pa.array([f"name {number}" for number in ids]),
            "amount": pa.array([None if number % 5 == 0 else number / 2 for number in ids], pa.float64()),
            **more,
        }
    )


def write(path: Path, data: pa.Table, mode: str = "append", **options: Any) -> None:
    import deltalake

    known = inspect.signature(deltalake.write_deltalake).parameters
    if options.get("schema_mode") == "overwrite" and "schema_mode" not in known:
        options = {name: value for name, value in options.items() if name != "schema_mode"} | {"overwrite_schema": True}
    lacking = sorted(set(options) - set(known))
    if lacking:
        raise Lacks(f"write_deltalake has no {', '.join(lacking)}")
    if options.get("schema_mode") == "merge" and "engine" in known:
        options["engine"] = "rust"
    deltalake.write_deltalake(str(path), data, mode=mode, **options)


def table(path: Path) -> Any:
    import deltalake

    return deltalake.DeltaTable(str(path))


def asked(of: Any, name: str) -> Any:
    """A method of this version."""
    found = getattr(of, name, None)
    if found is None:
        raise Lacks(f"it has no {name}")
    return found


def noted(call: Callable[..., Any], note: Mapping[str, str]) -> dict[str, Any]:
    """How this version takes a commit's own fields."""
    import deltalake

    properties = getattr(deltalake, "CommitProperties", None)
    if properties is not None and "commit_properties" in inspect.signature(call).parameters:
        return {"commit_properties": properties(custom_metadata=dict(note))}
    return {"custom_metadata": dict(note)}


def by_rust() -> dict[str, Any]:
    import deltalake

    return {"engine": "rust"} if "engine" in inspect.signature(deltalake.write_deltalake).parameters else {}


def as_schema(schema: pa.Schema) -> Any:
    import deltalake

    known = getattr(deltalake.Schema, "from_pyarrow", None) or deltalake.Schema.from_arrow
    return known(schema)
