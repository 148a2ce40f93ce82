"""Commands: values that say what to do. A job stores one as JSON with its schema version."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, ClassVar, Protocol


class Command(Protocol):
    """A frozen dataclass of plain values. Each command's own is in its `rules`; `jobs.commands.registry` lists them."""

    kind: ClassVar[str]
    schema_version: ClassVar[int]
    __dataclass_fields__: ClassVar[dict[str, Any]]


def command_to_json(command: Command) -> dict[str, Any]:
    """The command's parameters as they are stored; `jobs.commands.registry.command_from_json` reads them back."""
    return asdict(command)
