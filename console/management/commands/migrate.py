"""`manage.py migrate`: as the migrations' role, since the application's may change no table."""

from django.core.management.base import CommandParser
from django.core.management.commands import migrate


class Command(migrate.Command):
    """As Django's, on the alias `admin` unless told otherwise."""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(database="admin")
