"""`manage.py cluster`: the composition's processes on this machine, a Spark cluster among them, without containers."""

import os
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from console.base.env import BASE_DIR, Env, SettingError
from console.supervisor.cluster import ClusterInstance, check
from console.supervisor.errors import StartRefused

HOME = BASE_DIR / ".cluster"


class Command(BaseCommand):
    """PostgreSQL, Redis, Spark's master and two workers, an object store, and every part of Levee, until Ctrl-C or SIGTERM."""

    help = "Start the composition's processes on this machine without containers; Ctrl-C stops all of them."
    requires_system_checks = ()  # as `up`

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-sample", action="store_true", help="don't write the sample lake at the first start")

    def handle(self, *_: Any, no_sample: bool, **__: Any) -> None:
        os.environ.setdefault("LEVEE_HOME", str(HOME))  # never the home of `up`, whose servers are others
        try:
            env = Env.read()
            check(env)
            ClusterInstance(env, sample=not no_sample).run()
        except (StartRefused, SettingError) as error:
            sys.exit(f"Levee can't start. {error}")
