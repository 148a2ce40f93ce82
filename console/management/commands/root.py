"""`manage.py root add NAME URI [--sync SECONDS]`: registers a storage prefix from the host's command line."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from console.audit.actor import Actor
from console.management.troubles import in_one_line
from tables.catalog import sync_interval
from tables.catalog.roots import add_root
from tables.models import Root
from tables.rules.locations import InvalidRoot, root_uri


class Command(BaseCommand):
    help = "Registers a root: nothing outside the roots is listed, read or changed."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_subparsers(dest="act", required=True).add_parser("add", help=self.help)
        add.add_argument("name", metavar="NAME")
        add.add_argument("uri", metavar="URI", help="an absolute path")
        pause = "shortest pause between syncs of a table, in seconds (300 unless told); never: by hand only"
        add.add_argument("--sync", metavar="SECONDS", help=pause)

    def handle(self, *_: Any, **options: Any) -> None:
        name, uri, actor = options["name"], options["uri"], Actor.system("command line")
        with in_one_line():
            pause = {} if options["sync"] is None else {"sync_seconds": _seconds(options["sync"])}
            known = _known(name, uri)
            if known is not None and pause:
                sync_interval.change(actor, known, pause["sync_seconds"])
            root = known or add_root(actor, name, uri, **pause)
        self.stdout.write(f"root {name} already exists" if known else f"root {root.name} at {root.uri} added")


def _seconds(text: str) -> int | None:
    if text == "never":
        return None
    if not (text.isascii() and text.isdigit()):
        raise CommandError(f"--sync takes a number of seconds, or never; {text} is neither.")
    return int(text)


def _known(name: str, uri: str) -> Root | None:
    try:
        return Root.objects.filter(name=name, uri=root_uri(uri)).first()
    except InvalidRoot:
        return None  # add_root says what is wrong with it
