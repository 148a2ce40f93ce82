"""`manage.py prepare`: the database ready for use; `up` runs it at every start."""

from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from console.accounts.services import FIRST_NAME, first_person
from jobs.sample import request_conversions
from tables.services import ensure_sample


class Command(BaseCommand):
    """Migrations, the first person, the sample lake. Every step does nothing when it is done already."""

    help = "Migrate the database; at the first start make the first person and the sample lake."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-sample", action="store_true", help="don't write the sample lake")

    def handle(self, *_: Any, no_sample: bool, **__: Any) -> None:
        call_command("migrate", database="admin", interactive=False, verbosity=0, skip_checks=True)
        password = first_person()
        if password is not None:
            # At once: it is stored only as a hash, and whoever ends this process now must have seen it.
            print(f"first sign-in: {FIRST_NAME} {password}", flush=True)
            if not no_sample:
                root = ensure_sample(settings.ENV.home)[0]
                request_conversions(root)
