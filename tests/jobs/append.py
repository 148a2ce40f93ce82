"""The append command: exists in tests only, proves the machinery with a command that could take effect twice."""

from dataclasses import dataclass
from typing import Any, ClassVar, cast

from jobs.domain.results import Inspection


@dataclass(frozen=True, slots=True)
class Append:
    """Appends `rows` rows to the table at `path`; `seconds` is the time the work takes, `commit_seconds` the commit alone."""

    kind: ClassVar[str] = "append"
    schema_version: ClassVar[int] = 1

    path: str
    rows: int
    seconds: float = 0.0
    commit_seconds: float = 0.0


NOTHING_FOUND = {
    "num_files": 1,
    "size_bytes": 1,
    "num_records": 1,
    "partition_columns": (),
    "conflicts": (),
    "stray_files": (),
    "nested_tables": (),
    "hidden_files": 0,
    "schema": None,
    "refusals": (),
}


def inspection(path: str) -> Inspection:
    """What a preview finds when there is nothing to find."""
    return Inspection(path=path, **cast(dict[str, Any], NOTHING_FOUND))


def register() -> None:
    """Makes the command known to this process."""
    from jobs.commands.convert import wording  # these need Django, which engines of tests do without
    from jobs.commands.convert.handling import ConvertHandling
    from jobs.commands.registry import ROWS, Row
    from jobs.domain.fences import Fence

    class Handling(ConvertHandling):
        fence = Fence.NONE  # nothing of the fake engine refuses a second append

    ROWS[Append.kind] = Row(
        Append,
        wording,
        Handling(),
        web="",
        is_always_reviewed=False,
    )
