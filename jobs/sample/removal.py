"""Removing the sample lake: its streams, its tables, its root and the files that Levee wrote. Jobs and the audit stay."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from django.db import transaction
from django.db.models import Q, QuerySet

from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem
from console.base.text.counted import counted
from jobs.domain.policy import ANY
from jobs.domain.states import OPEN
from jobs.lifecycle.cancelling import require_person
from jobs.models import Job, PolicyRule, Stream
from jobs.policy import protection
from jobs.sample import files
from jobs.sample.place import sample_root
from jobs.streams import acts, runs
from jobs.streams.rounds import open_round
from tables.catalog.rights import require_everywhere
from tables.catalog.roots import removal as root_removal
from tables.models import Root, Table


@dataclass(frozen=True, slots=True)
class LakeConsequences:
    """What a removal would do now. `jobs`, `rules` and `roots`, which lie in the lake, stand against it, and so does `protected`."""

    tables: int
    streams: list[Stream]
    files: files.LakeFiles
    jobs: int
    rules: int
    roots: list[Root]
    protected: protection.Protection | None = None


@dataclass(frozen=True, slots=True)
class RemovedLake:
    """What became of the files: how many were deleted, and how many stay."""

    deleted: int
    left: int


def consequences_of(actor: Actor, root: Root) -> LakeConsequences:
    """As things are now, for this person; reads the lake's directories."""
    streams = list(_streams(root))
    tables = Table.objects.filter(root=root, hidden_at=None).count()
    stand = (_jobs(root, streams), _rules(root), _inner(root), _protecting(actor, root))
    return LakeConsequences(tables, streams, files.look(root), *stand)


def remove(actor: Actor) -> RemovedLake:
    """Removes the sample lake for good: no start writes it again.

    Streams are stopped first, and stay so if something stands against the rest. Raises Problem: 403 `forbidden`, 404 `not_found`
    without a sample lake, 409 `in_use` while jobs of its tables are open, rules are on it, another root lies in it or a round of
    its streams runs, 409 `protected` by a rule that forbids every job on one of its tables, 409 `sync_running` as `root_removal.remove`,
    503 `audit_unavailable`.
    """
    require_everywhere(actor, Permission.ROOT_MANAGE)
    root = sample_root()
    if root is None:
        raise Problem(404, "not_found", "There is no sample lake here.")
    streams = list(_streams(root))
    _refuse_used(root, streams)
    _refuse_protected(actor, root)
    _stop(actor, streams)
    with transaction.atomic():
        root = _held(root)
        _refuse_inner(root)
        _refuse_protected(actor, root)
        found = files.look(root)
        record(
            actor, Action.ROOT_DELETE_SAMPLE, ObjectKind.ROOT, root.pk, root.name,
            before={"uri": root.uri, "files": len(found.own), "bytes": found.size_bytes, "other_files": found.others},
        )  # fmt: skip
        for stream in streams:
            acts.take_away(actor, stream)
        if root.removed_at is None:
            root_removal.remove(actor, root)
    # After the commit: files without an entry do no harm, entries without their files would.
    with transaction.atomic():
        if _held(root).removed_at is None:
            raise Problem(409, "in_use", "Somebody added the sample lake’s root again meanwhile. No file was deleted.")
        _refuse_inner(root)
        return RemovedLake(*files.delete(found))


def _held(root: Root) -> Root:
    """The root as it is now, kept until the transaction ends: meanwhile the lake doesn't grow, and no root is added in it."""
    return Root.ever.select_for_update(no_key=True).get(pk=root.pk)


def _refuse_used(root: Root, streams: list[Stream]) -> None:
    if jobs := _jobs(root, streams):
        plural = jobs != 1
        text = (
            f"{counted(jobs, 'job')} of its tables {'are' if plural else 'is'} open."
            f" Cancel {'them' if plural else 'it'} or wait for the end, then remove the sample lake. Nothing was changed."
        )
        raise Problem(409, "in_use", text, jobs=jobs)
    if rules := _rules(root):
        text = (
            f"{counted(rules, 'approval rule')} {'is' if rules == 1 else 'are'} on it or its tables. Remove what is there first."
            " Nothing was changed."
        )
        raise Problem(409, "in_use", text, rules=rules)
    _refuse_inner(root)


def _refuse_protected(actor: Actor, root: Root) -> None:
    if found := _protecting(actor, root):
        raise protection.problem_of(found, "No file was deleted.")


def _protecting(actor: Actor, root: Root) -> protection.Protection | None:
    """A rule that lets no job change one of its tables: it lets nobody delete it either."""
    places = [root.uri, *Table.objects.filter(root=root).values_list("path", flat=True)]
    rules = chain.from_iterable(protection.at(places, require_person(actor).pk).values())
    return next((rule for rule in rules if rule.command == ANY), None)


def _refuse_inner(root: Root) -> None:
    """A root in the lake has tables, jobs and rules of its own."""
    if inner := [each.name for each in _inner(root)]:
        plural = len(inner) != 1
        text = (
            f"{', '.join(inner)} {'are roots' if plural else 'is a root'} in it."
            f" Remove {'them' if plural else 'it'} first, then remove the sample lake. No file was deleted."
        )
        raise Problem(409, "in_use", text, roots=len(inner))


def _stop(actor: Actor, streams: list[Stream]) -> None:
    """Stops those that run. Raises Problem 409 `in_use` while one still ends its round."""
    for stream in streams:
        if stream.state == Stream.State.RUNNING:
            runs.halt(actor, stream)
    ending = [stream.name for stream in streams if open_round(stream)]
    if ending:
        text = (
            f"{', '.join(ending)} {'is' if len(ending) == 1 else 'are'} stopped and still ending a round."
            " Remove the sample lake again in about a minute; no file was deleted."
        )
        raise Problem(409, "in_use", text, streams=len(ending))


def _streams(root: Root) -> QuerySet[Stream]:
    """The streams that write there or read there."""
    source = Q(definition__source__path=root.uri) | Q(definition__source__path__startswith=f"{root.uri}/")
    there = Q(table__root=root) | Q(source_table__root=root) | source
    return Stream.objects.filter(there, removed_at=None).select_related("table").order_by("name")


def _jobs(root: Root, streams: list[Stream]) -> int:
    """Open jobs of its tables, but for the rounds of the streams that would be stopped."""
    rounds = Q(stream_round__stream__in=streams)
    return Job.objects.filter(table__root=root, state__in=OPEN).exclude(rounds).count()


def _inner(root: Root) -> list[Root]:
    """The registered roots inside the lake, by name."""
    return list(Root.objects.filter(uri__startswith=f"{root.uri}/"))


def _rules(root: Root) -> int:
    there = Q(root=root) | Q(table__root=root)
    return PolicyRule.objects.filter(there, enabled=True, removed_at=None).count()
