"""`manage.py prepare`: the database ready for use; `up` runs it at every start."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from console.accounts.models import Person
from console.accounts.services import FIRST_NAME, first_person
from console.audit.actor import Actor
from console.base import schema_version
from console.base.errors import Problem
from console.base.logs import log
from jobs.commands.convert.rules import Convert
from jobs.models import Job, Stream
from jobs.requests.asking import request
from jobs.streams.acts import create
from tables.catalog.adding.additions import add_table
from tables.catalog.roots.entries import ensure_sample
from tables.models import Root, Table
from tables.rules.sample_lake import CONVERSIONS, DELTA_TABLES, ROOT_NAME, SAMPLE_STREAM, Conversion


class Command(BaseCommand):
    """Migrations, the first person, the sample lake. Every step does nothing when it is done already."""

    help = "Migrate the database; at the first start make the first person and the sample lake."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-sample", action="store_true", help="don't write the sample lake")

    def handle(self, *_: Any, no_sample: bool, **__: Any) -> None:
        call_command("migrate", database="admin", interactive=False, verbosity=0, skip_checks=True)
        for text in schema_version.report("prepare").texts.values():
            print(text, flush=True)  # older code than the database's: the terminal of `up` shows it
        password = first_person()
        if password is not None:
            # At once: it is stored only as a hash, and whoever ends this process now must have seen it.
            print(f"first sign-in: {FIRST_NAME} {password}", flush=True)
        if not no_sample:
            _sample()


def _sample() -> None:
    """The sample lake, its tables, its two conversions and its stream, for an instance that has no root of its own yet."""
    if Root.objects.exclude(name=ROOT_NAME).exists():
        return
    person = Person.objects.earliest("created_at")
    root, _ = ensure_sample(settings.ENV.home, person)
    if root.removed_at is not None:
        return
    _add_tables(person, Path(root.uri))
    for conversion in CONVERSIONS:
        key = f"sample {conversion.directory}"
        if not Job.objects.filter(requested_by=person, idempotency_key=key).exists():
            _request(person, Path(root.uri), conversion, key)
    if not Stream.objects.exists():
        _sample_stream(person, Path(root.uri))


def _add_tables(person: Person, lake: Path) -> None:
    """The Delta tables that are there with a past, each with its log read: the first page shows a history. What was hidden stays so."""
    for name in DELTA_TABLES:
        path = lake / name
        if (path / "_delta_log").is_dir() and not Table.objects.filter(path=str(path)).exists():
            try:
                add_table(Actor.acting_for(person), str(path))
            except Problem as problem:
                log.warning(
                    "sample_table_not_added", path=str(path), error=problem.detail
                )  # the next start tries again


def _sample_stream(person: Person, lake: Path) -> None:
    """A stream that waits to be started: one click shows what a stream is."""
    target = lake / SAMPLE_STREAM.target
    if not (lake / SAMPLE_STREAM.source).is_dir() or target.exists():
        return  # a lake that somebody has changed
    asked = {
        "source": {"path": str(lake / SAMPLE_STREAM.source), "format": "parquet", "schema": SAMPLE_STREAM.schema},
        "target": {"path": str(target)},
        "output_mode": "append",
        "options": {"maxFilesPerTrigger": SAMPLE_STREAM.files_per_batch},
        "trigger": {"interval": SAMPLE_STREAM.interval},
    }
    create(Actor.acting_for(person), SAMPLE_STREAM.name, SAMPLE_STREAM.reason, asked)


def _request(person: Person, lake: Path, conversion: Conversion, key: str) -> None:
    """An ordinary job of the first person; the key makes it one, however often a first start is cut short."""
    command = Convert(
        path=str(lake / conversion.directory),
        name=None,
        source_format="parquet",
        partition_schema=conversion.partition_schema,
    )
    request(Actor.acting_for(person), command, conversion.reason, idempotency_key=key)
