"""`manage.py backup FILE`: all that the running instance must not lose, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.text.counted import counted
from console.management.backup import snapshot
from console.management.backup.archive import ArchiveError
from console.management.backup.snapshot import NotDumped
from console.management.troubles import down, in_one_line

OWN = (
    "LEVEE_DATABASE_URL: back up a database of your own with your server's tools, and this home's files with it;"
    " docs/operating.md says which"
)


class Command(BaseCommand):
    help = "Writes a backup of the running instance: database, audit key and heads, secrets, streams' checkpoints."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="where to write it; must not exist")

    def handle(self, *_: Any, file: str, **__: Any) -> None:
        if settings.ENV.database_url is not None:
            raise CommandError(OWN)
        target = Path(file).absolute()
        if target.exists():
            raise CommandError(f"{target} exists already; a backup never replaces a file")
        if not target.parent.is_dir():
            raise CommandError(f"{target.parent} is no directory")
        with in_one_line():
            connection.ensure_connection()  # else the audit would be what can't be written
            record(
                Actor.system("command line"),
                Action.INSTANCE_BACKUP,
                ObjectKind.INSTANCE,
                str(settings.ENV.home),
                str(target),
            )
        try:
            manifest = snapshot.make(target)
        except psycopg.OperationalError as error:
            raise CommandError(down(settings.ENV, error)) from None
        except (NotDumped, ArchiveError) as error:
            raise CommandError(f"nothing was written: {error}") from None
        except OSError as error:
            raise CommandError(f"nothing was written: {error.filename or target}: {error.strerror or error}") from None
        size = target.stat().st_size / (1 << 20)
        files = counted(len(manifest.files), "file")
        self.stdout.write(
            f"{target}: {size:,.1f} MiB, as of {manifest.made_at}, {files}, audit up to #{manifest.sequence:,}"
        )
        self.stdout.write("It holds this instance's secrets. The tables themselves aren't in it.")
