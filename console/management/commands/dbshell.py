"""`manage.py dbshell`: psql in the database of this instance."""

import os
from typing import Any

from django.conf import settings
from django.core.management.commands import dbshell
from django.db import connections

from console.management.troubles import in_one_line


class Command(dbshell.Command):
    """As Django's; the embedded server brings its own psql, which is of the server's version."""

    def handle(self, **options: Any) -> None:
        with in_one_line():
            connections[options["database"]].ensure_connection()
        own = settings.ENV.embedded.get("pg_bin")
        if settings.ENV.database_url is None and own:
            os.environ["PATH"] = os.pathsep.join([own, os.environ.get("PATH", os.defpath)])
        super().handle(**options)
