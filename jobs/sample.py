"""The sample lake's first tables: ordinary jobs of the first person, requested once."""

from __future__ import annotations

from console.accounts.models import Person
from console.accounts.services import FIRST_NAME
from console.audit.actor import Actor
from jobs.domain.commands import Convert
from jobs.services import request_convert
from tables.models import Root
from tables.sample import CONVERSIONS


def request_conversions(root: Root) -> None:
    """Asks for the conversions of the sample lake; a key for each keeps a second start from asking again."""
    person = Person.objects.get(name=FIRST_NAME)
    for wanted in CONVERSIONS:
        command = Convert(f"{root.uri}/{wanted.directory}", None, "parquet", wanted.partition_schema)
        request_convert(Actor.acting_for(person), command, wanted.reason, f"sample-{wanted.directory}")
