"""Adding all that the scans of a root have found new: requested once, worked off by the light worker in batches.

A batch is one transaction: after a crash the findings that still wait are all that is left to do. What lies there is looked at before
the transaction, so that a slow disk or a store that hangs keeps neither a row nor a written event waiting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Now

from console.accounts.models import Person
from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record, record_each
from console.base.errors import Problem
from tables.catalog.adding.additions import enter, kind_at, name_of, refuse_inside_table
from tables.catalog.rights import locked, person_of, refuse_paused, require_below
from tables.models import Addition, Finding, Root, SyncTimes, Table
from tables.record import table_fields
from tables.rules.discovery import DirectoryKind
from tables.rules.locations import Location, LocationError, resolve
from tables.storage import stores

BATCH = 100


def new_findings(root: Root) -> QuerySet[Finding]:
    """What scans found in the root that is there and not in the catalog."""
    shown = Table.objects.filter(path=OuterRef("path"), hidden_at=None)
    return Finding.objects.filter(~Exists(shown), root=root, gone_at=None)


def request(actor: Actor, root: Root) -> Addition:
    """Has the light worker add all that is new in the root; answers the addition under way where there is one.

    Raises Problem: 403 `forbidden`, 404 `not_found`, 409 `root_paused`, or `nothing_new`.
    """
    person = person_of(actor)
    require_below(person, root)
    with locked(root) as fresh:
        refuse_paused(fresh)
        under_way = Addition.objects.filter(root=fresh, ended_at=None).first()
        if under_way is not None:
            return under_way
        wanted = new_findings(fresh)
        if not wanted.exists():
            raise Problem(
                409, "nothing_new", f"Scans of {root.name} have found nothing that isn’t in the catalog. Scan it again."
            )
        return _open(actor, person, fresh, wanted)


def open_automatic(root: Root) -> Addition | None:
    """The addition of what a scan has found, in a root with that option; None where there is none to open, or in a removed root.

    What people have hidden, and what an addition could not take, waits for a person.
    """
    with transaction.atomic():
        fresh = Root.objects.select_for_update(no_key=True).filter(pk=root.pk).first()
        person = None if fresh is None else fresh.adds_found_by
        if fresh is None or person is None or fresh.paused_at or _may_not_manage(person, fresh):
            return None
        if Addition.objects.filter(root=fresh, ended_at=None).exists():
            return None
        known = Table.objects.filter(path=OuterRef("path"))
        wanted = Finding.objects.filter(~Exists(known), root=fresh, gone_at=None, refusal="")
        return _open(Actor.system("light worker"), person, fresh, wanted) if wanted.exists() else None


def _open(actor: Actor, person: Person, root: Root, wanted: QuerySet[Finding]) -> Addition:
    addition = Addition(root=root, requested_by=person, is_automatic=actor.person is None, total=wanted.count())
    after: dict[str, object] = {"tables": addition.total, "addition": str(addition.pk)}
    after |= {"switched_on_by": person.name} if addition.is_automatic else {}
    record(actor, Action.ROOT_ADD_FOUND, ObjectKind.ROOT, root.id, root.name, after=after)
    addition.save(force_insert=True)
    taken = Finding.objects.filter(pk__in=wanted.values("pk")).update(addition=addition, refusal="")
    Addition.objects.filter(pk=addition.pk).update(total=taken)
    addition.refresh_from_db()
    return addition


def of_root(root: Root) -> QuerySet[Addition]:
    """The root's additions, each with `left`: how many of its findings are still to be worked off."""
    rows = Finding.objects.filter(addition=OuterRef("pk")).order_by().values("addition")
    left = Coalesce(Subquery(rows.annotate(number=Count("pk")).values("number")), 0)
    return Addition.objects.filter(root=root).select_related("requested_by").annotate(left=left)


def done_of(addition: Addition) -> int:
    """How many of its total are worked off, for one of `of_root`: one that ended early leaves the others."""
    if addition.stopped:
        return addition.added + addition.refused
    left: int = getattr(addition, "left", 0)
    return max(addition.total - left, 0)


def work_next() -> bool:
    """One batch of the addition that was requested first; False when none can be worked on now.

    What lies there is looked at without a lock, as long as its store takes. Then its root is held as well as itself, and neither is
    waited for: a removal of the root, which ends its additions, can't cross it.
    """
    stalled: list[Addition] = []
    while True:
        waiting = _waiting().exclude(pk__in=[each.pk for each in stalled]).order_by("requested_at")
        addition = waiting.first()
        if addition is None:
            return False
        looked = _look_at_batch(addition)
        with transaction.atomic():
            free = _waiting().select_for_update(of=("self", "root"), skip_locked=True, no_key=True)
            fresh = free.filter(pk=addition.pk).first()
            done = fresh is not None and _work(fresh, looked)
            if fresh is not None and fresh.ended_at is not None:
                open_automatic(fresh.root)  # what was found meanwhile
        if done:
            return True
        stalled.append(addition)  # its store is away, or another worker has it: it keeps no other root waiting


def _waiting() -> QuerySet[Addition]:
    return Addition.objects.select_related("root", "requested_by").filter(ended_at=None, root__paused_at=None)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A finding as it lies there now."""

    location: Location[Root]
    kind: DirectoryKind


@dataclass(frozen=True, slots=True)
class _Looked:
    """What was looked at of a batch: the findings that can be added, and why the others can't, by their ids."""

    seen: Mapping[int, _Seen]
    refused: Mapping[int, str]


def _look_at_batch(addition: Addition) -> _Looked:
    """Looks at the next findings, as far as their store answers. Holds no lock, whatever that takes."""
    seen, refused = dict[int, _Seen](), dict[int, str]()
    roots = list(Root.objects.all())
    for finding in Finding.objects.filter(addition=addition).order_by("path")[:BATCH]:
        try:
            seen[finding.pk] = _look(finding.path, addition.root, roots)
        except (LocationError, Problem) as error:
            if _is_away(finding.path, error):  # that says nothing of this finding, nor of those after it
                break
            refused[finding.pk] = str(error)
    return _Looked(seen, refused)


def _work(addition: Addition, looked: _Looked) -> bool:
    """One batch; False where an object store that is away let nothing of it be looked at, and it waits."""
    actor = Actor.system("light worker") if addition.is_automatic else Actor.acting_for(addition.requested_by)
    if why := _why_stopped(addition):
        Finding.objects.filter(addition=addition).update(addition=None)
        _end(addition, why)
        return True
    wanted = Finding.objects.filter(addition=addition, pk__in=[*looked.seen, *looked.refused]).order_by("path")
    batch = list(wanted)  # without what another worker has done, or an inner root has taken over, meanwhile
    seen = [looked.seen[finding.pk] for finding in batch if finding.pk in looked.seen]
    refused = [finding for finding in batch if finding.pk in looked.refused]
    for finding in refused:
        finding.refusal = looked.refused[finding.pk]
    added = _enter_all(actor, addition, seen)
    Finding.objects.bulk_update(refused, ["refusal"])
    Finding.objects.filter(pk__in=[finding.pk for finding in batch]).update(addition=None)
    Addition.objects.filter(pk=addition.pk).update(added=F("added") + added, refused=F("refused") + len(refused))
    if not Finding.objects.filter(addition=addition).exists():
        _end(addition, "")
        return True
    return bool(batch)


def _is_away(path: str, error: LocationError | Problem) -> bool:
    return error.code == "unreadable" and stores.is_away(path)


def _why_stopped(addition: Addition) -> str:
    """Why an addition ends early: its person may no longer add there, or who switched the option on no longer manage the root."""
    person, root = addition.requested_by, addition.root
    if addition.is_automatic:
        return _may_not_manage(person, root)
    if person.scopes(Permission.TABLE_ADD).covers_root(root.pk):
        return ""
    return f"{person.name} may no longer add tables below {root.name}."


def _may_not_manage(person: Person, root: Root) -> str:
    if person.scopes(Permission.ROOT_MANAGE).covers_root(root.pk):
        return ""
    return f"{person.name}, who had Levee add what scans find, may no longer manage {root.name}."


def _end(addition: Addition, why: str) -> None:
    Addition.objects.filter(pk=addition.pk).update(ended_at=Now(), stopped=why)
    addition.refresh_from_db(fields=["ended_at", "stopped"])


def _look(path: str, root: Root, roots: Sequence[Root]) -> _Seen:
    """Raises LocationError or Problem for what can't be added."""
    location = resolve(path, roots)
    if location.root != root:
        raise Problem(403, "outside_roots", f"{path} lies in another root by now. Add it there.")
    refuse_inside_table(location)
    return _Seen(location, kind_at(location.path))


def _enter_all(actor: Actor, addition: Addition, seen: Sequence[_Seen]) -> int:
    """Enters what the catalog doesn't show; answers how many. A table that was hidden is shown again."""
    known = dict(Table.objects.filter(path__in=[each.location.path for each in seen]).values_list("path", "hidden_at"))
    tables = [_entry(actor, each) for each in seen if each.location.path not in known]
    note = {"addition": str(addition.pk)}
    note |= {"switched_on_by": addition.requested_by.name} if addition.is_automatic else {}
    added = [(table.id, table.name, {"path": table.path, **note}) for table in tables]
    record_each(actor, Action.TABLE_ADD, ObjectKind.TABLE, added)
    Table.objects.bulk_create(tables)  # of two that add one path the later fails, and works its batch off again
    hidden = [each for each in seen if known.get(each.location.path) is not None]
    shown = [enter(actor, each.location, each.kind)[0] for each in hidden]
    ids = [table.pk for table in (*tables, *shown)]
    SyncTimes.objects.filter(pk__in=ids).update(next_sync_at=Now())
    return len(ids)


def _entry(actor: Actor, seen: _Seen) -> Table:
    place = seen.location
    table = Table(root=place.root, path=place.path, name=name_of(place), format=seen.kind.value, added_by=actor.person)
    table_fields.index_words(table)
    return table
