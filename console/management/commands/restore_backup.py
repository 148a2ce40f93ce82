"""`manage.py restore_backup FILE`: a backup into a home without a database; `up` starts it then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from console.base.text.counted import counted
from console.management.backup.aftermath import Aftermath, Moved
from console.management.backup.archive import ArchiveError, Manifest
from console.management.backup.proof import NotRestored
from console.management.backup.restoring import restore
from console.management.backup.snapshot import NotDumped
from console.management.troubles import in_one_line
from console.supervisor.errors import StartRefused

SHOWN = 20
OWN = "LEVEE_DATABASE_URL: restore a database of your own with your server's tools; docs/operating.md says what else"


class Command(BaseCommand):
    help = "Restores a backup into LEVEE_HOME, which must have no database yet."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="what `manage.py backup` wrote")
        parser.add_argument(
            "--despite-differences",
            action="store_true",
            help="restore it even if its audit differs from what was recorded or exported; verification goes on finding that",
        )

    def handle(self, *_: Any, file: str, despite_differences: bool, **__: Any) -> None:
        if settings.ENV.database_url is not None:
            raise CommandError(OWN)
        try:
            with in_one_line():
                manifest, aftermath = restore(Path(file).absolute(), despite_differences)
        except ArchiveError as error:
            raise CommandError(f"{file} wasn't restored: {error}") from None
        except (NotRestored, NotDumped, StartRefused) as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"nothing was restored: {error.filename or file}: {error.strerror or error}") from None
        self._say(manifest, aftermath)

    def _say(self, manifest: Manifest, aftermath: Aftermath) -> None:
        write = self.stdout.write
        write(f"Restored into {settings.ENV.home}: a backup of {manifest.made_at}, made by Levee {manifest.levee}.")
        write("Levee can't know what it did after that time. What it did about that, on record in its audit:")
        jobs = counted(aftermath.jobs, "open job was", "open jobs were")
        write(f"  {jobs} cancelled: each may have run since. Request them again where needed.")
        streams = counted(aftermath.stopped, "running stream was", "running streams were")
        write(f"  {streams} stopped. Start each again after a look at its table.")
        if aftermath.paused:
            write(
                f"  {counted(aftermath.paused, 'schedule was', 'schedules were')} paused. Resume each after a look at its table."
            )
        write(
            "  Jobs that ran end as cancelled if their commit is found, else as stale after some minutes: their workers are beyond reach."
        )
        write("  Everyone is signed out. People, roles, API tokens, passwords and rules are those of the backup again:")
        write("  revoke anew what was revoked, and deactivate anew who was deactivated, after the backup was made.")
        for each in aftermath.findings:
            write(f"  the audit differs: {each}")
        for name in aftermath.older:
            why = "table can’t be read to compare it with" if name in aftermath.uncompared else "table is ahead of"
            write(f"  stream {name}: its {why} its checkpoint; it needs a reset before it can start.")
        for table in aftermath.tables[:SHOWN]:
            write(f"  {_moved(table)}")
        if len(aftermath.tables) > SHOWN:
            write(
                f"  and {counted(len(aftermath.tables) - SHOWN, 'table')} more; the event instance.restore has the first of them."
            )
        write("Start it (make run), then run `manage.py audit verify`.")


def _moved(table: Moved) -> str:
    if table.head is None:
        return f"table {table.name}: the backup knows version {table.known:,}; its log can't be read now."
    if table.head < table.known:
        return f"table {table.name}: the backup knows version {table.known:,}, its log ends at {table.head:,}: it is another one."
    more = table.head - table.known
    verb = "isn't" if more == 1 else "aren't"
    return f"table {table.name}: {counted(more, 'commit')} after version {table.known:,} {verb} in the record that was restored."
