"""`manage.py up`: the whole console on one machine."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from console.base.env import Env, SettingError
from console.supervisor.errors import StartRefused
from console.supervisor.instance import Instance


class Command(BaseCommand):
    """Servers, web, workers and dispatcher of one home, until Ctrl-C or SIGTERM."""

    help = "Start the whole console on this machine; Ctrl-C stops all of it."
    requires_system_checks = ()  # they would load every page before anything has started

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-sample", action="store_true", help="don't write the sample lake at the first start")

    def handle(self, *_: Any, no_sample: bool, **__: Any) -> None:
        try:
            Instance(Env.read(), sample=not no_sample).run()
        except (StartRefused, SettingError) as error:
            sys.exit(f"Levee can't start. {error}")
