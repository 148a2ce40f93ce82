"""Whether the database and this code are of the same version: by the migrations, since nothing else of a version is stored."""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass
from importlib import import_module

from django.apps import apps
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from console.base.logs import log

BEHIND = "the database lacks migrations of this version, {names}; the part prepare, or `manage.py migrate`, makes them"
AHEAD = (
    "a newer version of Levee has migrated the database, {names}; this process works on: restart it with the newer code"
)
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class MigrationDifference:
    """Migrations by `app.name`: those of the code that the database lacks, and the database's that the code doesn't know."""

    missing: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def texts(self) -> dict[str, str]:
        """A line for each way in which they differ, by the name of its event."""
        pairs = {"database_behind": (BEHIND, self.missing), "database_ahead": (AHEAD, self.unknown)}
        return {event: text.format(names=_named(names)) for event, (text, names) in pairs.items() if names}


def difference() -> MigrationDifference:
    """Asks the database. Raises DatabaseError if it doesn't answer."""
    known = _of_code()
    ours = {app for app, _ in known}
    applied = {key for key in MigrationRecorder(connection).applied_migrations() if key[0] in ours}
    return MigrationDifference(_sorted(known - applied), _sorted(applied - known))


def report(process: str) -> MigrationDifference:
    """Logs how they differ, once when a process starts. An unreachable database is others' to report."""
    try:
        found = difference()
    except (DatabaseError, InterfaceError):
        return MigrationDifference()
    for event, text in found.texts.items():
        log.warning(event, process=process, text=text)
    return found


def report_and_close(process: str) -> None:
    """The same in a thread of its own, whose connection nobody else would close."""
    try:
        report(process)
    finally:
        connection.close()


def _of_code() -> set[tuple[str, str]]:
    """By the names of the files: the modules themselves are loaded by nothing but a migration."""
    found = set()
    for app in apps.get_app_configs():
        name, _ = MigrationLoader.migrations_module(app.label)
        try:
            package = import_module(name) if name else None
        except ModuleNotFoundError:
            continue  # an app without tables
        paths = getattr(package, "__path__", ())
        found |= {(app.label, each.name) for each in pkgutil.iter_modules(paths) if each.name[0] not in "_~"}
    return found


def _sorted(keys: set[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(f"{app}.{name}" for app, name in sorted(keys))


def _named(names: tuple[str, ...]) -> str:
    rest = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")
