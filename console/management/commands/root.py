"""`manage.py root add NAME URI [--sync SECONDS]`: registers a directory or prefix from the host's command line."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from console.audit.actor import Actor
from console.management.troubles import in_one_line
from tables.catalog.roots import changes as root_changes
from tables.catalog.roots.entries import add_root
from tables.catalog.roots.object_stores import description_of
from tables.models import Root
from tables.rules.locations import InvalidRoot, root_uri
from tables.storage.description import Description
from tables.storage.stores import KINDS


class Command(BaseCommand):
    help = "Registers a root: nothing outside the roots is listed, read or changed."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_subparsers(dest="act", required=True).add_parser("add", help=self.help)
        add.add_argument("name", metavar="NAME")
        add.add_argument("uri", metavar="URI", help=f"such as {', '.join(kind.example for kind in KINDS)}")
        pause = "shortest pause between syncs of a table, in seconds (300 unless told); never: by hand only"
        add.add_argument("--sync", metavar="SECONDS", help=pause)
        add.add_argument(
            "--endpoint", metavar="URL", help="of the object store; the cloud itself (AWS, Google) unless told"
        )
        add.add_argument("--region", help="of the bucket")
        add.add_argument(
            "--key-id",
            metavar="ID",
            help="of the bucket's key (Google's is read from its JSON); without a key, Levee's own identity",
        )
        add.add_argument(
            "--secret-file",
            metavar="FILE",
            help="holds the key's secret: one line, or Google's JSON; - for standard input",
        )
        add.add_argument(
            "--virtual-hosted", action="store_true", help="the bucket is named in the host, not in the path"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        name, uri, actor = options["name"], options["uri"], Actor.system("command line")
        with in_one_line():
            pause: dict[str, Any] = {} if options["sync"] is None else {"sync_seconds": _seconds(options["sync"])}
            known = _known(name, uri)
            if known is not None and pause:
                root_changes.change(actor, known, pause)
            root = known or add_root(actor, name, uri, **pause, storage=_storage(options))
        self.stdout.write(f"root {name} already exists" if known else f"root {root.name} at {root.uri} added")


def _storage(options: dict[str, Any]) -> Description | None:
    if not any(options[name] for name in ("endpoint", "region", "key_id", "secret_file", "virtual_hosted")):
        return None
    given = {name: options[name] for name in ("endpoint", "region", "key_id")}
    secret = _line(options["secret_file"]) if options["secret_file"] else ""
    return description_of({**given, "secret": secret, "path_style": not options["virtual_hosted"]})


def _line(file: str) -> str:
    """A secret is never an argument: every user of the machine sees those."""
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"--secret-file: {file} can't be read: {error}") from None
    return text.strip()


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
