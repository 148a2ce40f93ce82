"""`manage.py metastore …`: whether the metastore of LEVEE_METASTORE answers, and its tables on PostgreSQL."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from console.management.metastore import MetastoreRefused, create, state_of
from console.supervisor.errors import StartRefused
from jobs.engine.metastore.connection import SETTING, Metastore

ACTS = {"check": state_of, "create": create}


class Command(BaseCommand):
    help = "Says what answers at LEVEE_METASTORE, or makes a metastore's tables in an empty database of PostgreSQL."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True)
        acts.add_parser("check", help="Says in one line what is there.")
        acts.add_parser("create", help="Makes Hive's tables in the empty database that LEVEE_METASTORE names.")

    def handle(self, *_: Any, **options: Any) -> None:
        env = settings.ENV
        if env.metastore is None:
            raise CommandError(f"{SETTING}: isn't set; without it, tables have names in Levee's own catalog alone")
        try:
            self.stdout.write(ACTS[options["act"]](Metastore(env.metastore, env.metastore_password)))
        except (MetastoreRefused, StartRefused) as refused:
            raise CommandError(str(refused)) from None
