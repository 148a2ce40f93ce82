"""Roots: adding one, and the root of the sample lake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now

from console.accounts.models import Person
from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem
from tables import ports
from tables.catalog.rights import person_of, require_everywhere
from tables.catalog.roots import object_stores, scans, sync_interval
from tables.catalog.roots import places as root_places
from tables.models import MOST_SCAN_HOURS, SYNC_SECONDS, Finding, Root, Table
from tables.rules import sample_lake
from tables.rules.locations import InvalidRoot
from tables.storage.description import Description

NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def add_root(
    actor: Actor,
    name: str,
    text: str,
    sync_seconds: int | None = SYNC_SECONDS,
    scan_hours: int | None = None,
    adds_found: bool = False,
    storage: Description | None = None,
) -> Root:
    """Registers a storage prefix. Tables that lie below it and belonged to an outer root belong to it from now on.

    The place of a root that was removed gets that root again: roles and rules on it count again. `sync_seconds` and the others are
    as in `root_changes.change`; `storage` says how a bucket is reached that no root lies in yet. Raises Problem: 403 `forbidden`,
    400 `invalid` (name, place, option or storage), 409 `already_known` (name or place taken), 409 `storage_known` (a bucket has one
    credential) or `storage_gone`, 503 `no_key`, 409 `in_use` while approval rules are on the root
    around it: they would count for its tables no more.
    """
    require_everywhere(actor, Permission.ROOT_MANAGE)
    wanted = {
        "name": checked_name(name),
        "sync_seconds": sync_interval.checked(sync_seconds),
        "scan_hours": checked_hours(scan_hours),
        "adds_found_by": adder(actor, wanted=adds_found),
        "added_by": actor.person,
    }
    uri = _root_uri(text, storage)
    after: dict[str, Any] = {"name": name, "uri": uri, "sync_seconds": sync_seconds}
    after |= {"scan_hours": scan_hours} if scan_hours else {}
    after |= {"adds_found": True} if adds_found else {}
    bucket = object_stores.bucket_of(uri)
    try:
        with transaction.atomic():
            object_stores.hold(bucket)
            _refuse_ruled(root_places.locked_outer(uri))
            root = Root.ever.select_for_update().filter(uri=uri).exclude(removed_at=None).first() or Root(uri=uri)
            is_back = root.removed_at is not None
            if bucket is not None and (given := storage or object_stores.first_of(bucket)) is not None:
                store = object_stores.enter(actor, bucket, given)
                after |= {"storage": {"bucket": object_stores.name_of(bucket), **object_stores.shown(store)}}
            elif bucket is not None:
                object_stores.require_known(bucket)
            record(
                actor,
                Action.ROOT_ADD,
                ObjectKind.ROOT,
                root.id,
                name,
                after=after | ({"again": True} if is_back else {}),
            )
            for field, value in (wanted | {"removed_at": None, "paused_at": None}).items():
                setattr(root, field, value)
            if is_back:
                root.added_at = Now()
            root.save(force_insert=not is_back)
            _take_over(root)
            sync_interval.set_due(root)
    except IntegrityError:
        raise Problem(409, "already_known", _why_taken(name, uri)) from None
    return root


def _refuse_ruled(outer: Root | None) -> None:
    if outer is not None and (rules := ports.uses_of(outer).rules):
        raise Problem(409, "in_use", f"{root_places.ruled(outer, rules)} Nothing was changed.", rules=rules)


def _why_taken(name: str, uri: str) -> str:
    return why_name_taken(name) or f"A root at {uri} exists already."


def why_name_taken(name: str) -> str:
    """Why no further root can have the name; empty if one can."""
    known = Root.ever.filter(name=name).first()
    if known is None:
        return ""
    if known.removed_at is not None:
        return f"The name {name} stays that of a root at {known.uri}, which was removed: roles and rules may name it. Take another name."
    return f"A root named {name} exists already, at {known.uri}."


def checked_name(name: str) -> str:
    """The name, as it may be. Raises Problem 400 `invalid`."""
    if not name or len(name) > 100 or not set(name) <= NAME_CHARACTERS:
        detail = "A root’s name has 1 to 100 letters, digits, dots, dashes and underscores."
        raise Problem(400, "invalid", detail, fields={"name": detail})
    return name


def checked_hours(hours: int | None) -> int | None:
    """The pause between scans, as it may be. Raises Problem 400 `invalid`."""
    if hours is not None and not 1 <= hours <= MOST_SCAN_HOURS:
        detail = f"Scans can begin every 1 to {MOST_SCAN_HOURS} hours; leave it empty to scan on request only."
        raise Problem(400, "invalid", detail, fields={"scan_hours": detail})
    return hours


def adder(actor: Actor, *, wanted: bool) -> Person | None:
    """The person for whom tables are added. Raises Problem 403 `forbidden` where nobody stands behind the wish."""
    return person_of(actor) if wanted else None


def _root_uri(text: str, storage: Description | None) -> str:
    try:
        return root_places.checked_uri(text, storage)
    except InvalidRoot as error:
        raise Problem(400, "invalid", str(error), fields={"uri": str(error)}) from None


def _take_over(root: Root) -> None:
    """The innermost root owns a table, and what a scan has found: two statements, however many there are.

    What waited for an addition of the outer root waits no more: its person may have no say in here.
    """
    inside = _at_or_below(root.uri)
    for other in Root.objects.filter(uri__startswith=f"{root.uri}/"):
        inside &= ~_at_or_below(other.uri)
    Table.objects.filter(inside).update(root=root)
    Finding.objects.filter(inside).update(root=root, addition=None)


def _at_or_below(place: str) -> Q:
    return Q(path=place) | Q(path__startswith=f"{place}/")


def ensure_sample(home: Path, person: Person | None = None) -> tuple[Root, bool]:
    """The root of the sample lake, written and registered at the first call. The flag says that this call did it.

    It is known by its place, whatever its name is by now, and else by its name.
    """
    place = str((home / sample_lake.DIRECTORY).resolve())
    known = Root.ever.filter(uri=place).first() or Root.ever.filter(name=sample_lake.ROOT_NAME).first()
    if known is not None and known.removed_at is not None:  # it stays so, and its files aren't written again
        return known, False
    lake = sample_lake.write_lake(home)
    if known is not None:
        return known, False
    actor = Actor.acting_for(person) if person else Actor.system("up")
    root = add_root(actor, sample_lake.ROOT_NAME, str(lake))
    scans.scan_root(root.pk)
    return root, True
