"""Roots: adding one, and the root of the sample lake."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q

from console.accounts.models import Person
from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem
from tables.catalog import scans, sync_interval
from tables.catalog.rights import require_everywhere
from tables.models import SYNC_SECONDS, Finding, Root, Table
from tables.rules import sample_lake
from tables.rules.locations import InvalidRoot, refuse_home, root_uri

NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def add_root(actor: Actor, name: str, text: str, sync_seconds: int | None = SYNC_SECONDS) -> Root:
    """Registers a storage prefix. Tables that lie below it and belonged to an outer root belong to it from now on.

    `sync_seconds` is the shortest pause between syncs of a table; None: by hand only. Raises Problem: 403 `forbidden`, 400
    `invalid` (name, place or pause), 409 `already_known` (name or place taken).
    """
    require_everywhere(actor, Permission.ROOT_MANAGE)
    pause = sync_interval.checked(sync_seconds)
    root = Root(name=_root_name(name), uri=_root_uri(text), sync_seconds=pause, added_by=actor.person)
    after = {"name": root.name, "uri": root.uri, "sync_seconds": pause}
    try:
        with transaction.atomic():
            record(actor, Action.ROOT_ADD, ObjectKind.ROOT, root.id, root.name, after=after)
            root.save(force_insert=True)
            _take_over(root)
    except IntegrityError:
        raise Problem(409, "already_known", f"A root named {name}, or one at {root.uri}, exists already.") from None
    return root


def _root_name(name: str) -> str:
    if not name or len(name) > 100 or not set(name) <= NAME_CHARACTERS:
        detail = "A root’s name has 1 to 100 letters, digits, dots, dashes and underscores."
        raise Problem(400, "invalid", detail, fields={"name": detail})
    return name


def _root_uri(text: str) -> str:
    try:
        uri = root_uri(text)
        if not uri.startswith("/"):
            raise InvalidRoot("Levee reads directories of this machine only; object stores aren’t supported yet.")
        refuse_home(uri, str(settings.ENV.home), sample_lake.DIRECTORY)
    except InvalidRoot as error:
        raise Problem(400, "invalid", str(error), fields={"uri": str(error)}) from None
    return uri


def _take_over(root: Root) -> None:
    """The innermost root owns a table, and what a scan has found: two statements, however many there are."""
    inside = _at_or_below(root.uri)
    for other in Root.objects.filter(uri__startswith=f"{root.uri}/"):
        inside &= ~_at_or_below(other.uri)
    Table.objects.filter(inside).update(root=root)
    Finding.objects.filter(inside).update(root=root)


def _at_or_below(place: str) -> Q:
    return Q(path=place) | Q(path__startswith=f"{place}/")


def ensure_sample(home: Path, person: Person | None = None) -> tuple[Root, bool]:
    """The root of the sample lake, written and registered at the first call. The flag says that this call did it."""
    lake = sample_lake.write_lake(home)
    known = Root.objects.filter(name=sample_lake.ROOT_NAME).first()
    if known is not None:
        return known, False
    actor = Actor.acting_for(person) if person else Actor.system("up")
    root = add_root(actor, sample_lake.ROOT_NAME, str(lake))
    scans.scan_root(root.pk)
    return root, True
