"""`manage.py root add NAME URI`: registers a storage prefix from the host's command line."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from console.audit.actor import Actor
from console.management.troubles import in_one_line
from tables.locations import InvalidRoot, root_uri
from tables.models import Root
from tables.services import add_root


class Command(BaseCommand):
    help = "Registers a root: nothing outside the roots is listed, read or changed."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_subparsers(dest="act", required=True).add_parser("add", help=self.help)
        add.add_argument("name", metavar="NAME")
        add.add_argument("uri", metavar="URI", help="an absolute path, or scheme://bucket/prefix")

    def handle(self, *_: Any, **options: Any) -> None:
        name, uri = options["name"], options["uri"]
        with in_one_line():
            if _is_known(name, uri):
                self.stdout.write(f"root {name} is there already")
                return
            root = add_root(Actor.system("command line"), name, uri)
        self.stdout.write(f"root {root.name} at {root.uri} added")


def _is_known(name: str, uri: str) -> bool:
    try:
        return Root.objects.filter(name=name, uri=root_uri(uri)).exists()
    except InvalidRoot:
        return False  # add_root says what is wrong with it
