"""What stands for and against a directory of this machine as a root."""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from console.base.text.counted import counted
from tables.storage.local import mounted, mounts
from tables.storage.paths import BadPlace
from tables.storage.probe import NAME, Probe

LOOKED_AT = 1_000  # names that the check of listing reads at most


def probe(real: str, _options: object) -> Probe:
    """The questions about a directory, its links resolved."""
    return Probe(
        looks=[
            ("Exists", partial(there, real)),
            ("Directory", partial(directory, real)),
            ("Readable", partial(listable, real)),
        ],
        writes=[("Writable", partial(writable, real))],
        required=[],
        beside=partial(refuse_second_name, real),
    )


def there(real: str) -> str:
    """Raises BadPlace."""
    try:
        Path(real).stat()
    except FileNotFoundError:
        raise BadPlace(f"There is nothing at {real}.") from None
    except OSError as error:
        raise BadPlace(f"Levee can’t look at {real}: {error.strerror}.") from None
    return "Something is there."


def directory(real: str) -> str:
    """Raises BadPlace."""
    if not os.path.isdir(real):  # noqa: PTH112 - real paths are texts here, as the catalog keeps them
        raise BadPlace(f"{real} is a file, not a directory.")
    return "It is a directory."


def listable(real: str) -> str:
    """Raises BadPlace."""
    try:
        with os.scandir(real) as entries:
            number = sum(1 for _ in islice(entries, LOOKED_AT))
    except OSError as error:
        raise BadPlace(f"Levee’s user may not list {real}: {error.strerror}.") from None
    if not os.access(real, os.R_OK | os.X_OK):
        raise BadPlace(f"Levee’s user can list {real} but can’t enter it.")
    more = "more than " if number == LOOKED_AT else ""
    return f"Levee can read it; it holds {more}{counted(number, 'name')}."


def writable(real: str) -> str:
    """Writes one empty file, and deletes it. Raises BadPlace, which names a file that stays."""
    file = Path(real, f"{NAME}{uuid.uuid4().hex}")
    try:
        file.open("x").close()
    except OSError as error:
        raise BadPlace(f"Levee’s user may not write in {real}: {error.strerror}.") from None
    try:
        file.unlink()
    except OSError as error:
        raise BadPlace(
            f"Levee can write in {real} and not delete there: {error.strerror}; {file.name} was left behind."
        ) from None
    return "Levee can write and delete there."


def refuse_second_name(real: str, others: Sequence[str]) -> None:
    """By a second name, a directory would be two places for rules, leases and grants. Raises BadPlace."""
    if other := mounts.second_name(real, others, mounts.listed(mounted.mount_table())):
        raise BadPlace(
            f"{real} and {other}, which is a root, are mounts of the same directory, or of one in the other: name it as it lies there."
        )
