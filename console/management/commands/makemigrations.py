"""`manage.py makemigrations`: works from the code alone, whether or not an instance runs."""

import warnings
from typing import Any

from django.core.management.commands import makemigrations


class Command(makemigrations.Command):
    """As Django's, without its warning that the database doesn't answer: that one only adds a check of the history."""

    def handle(self, *args: Any, **options: Any) -> None:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Got an error checking a consistent migration history", RuntimeWarning)
            super().handle(*args, **options)
