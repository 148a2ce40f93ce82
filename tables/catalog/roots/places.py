"""What stands for and against a place as a root, checked before anything is registered."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from django.conf import settings

from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.errors import Problem
from tables import ports
from tables.catalog.rights import require_everywhere
from tables.catalog.roots import object_stores
from tables.models import Root, Table
from tables.rules import sample_lake
from tables.rules.locations import InvalidRoot, canonical, refuse_home, refuse_system, root_uri
from tables.storage.description import Description
from tables.storage.kind import StoreKind
from tables.storage.local.kind import LOCAL
from tables.storage.paths import BadPlace
from tables.storage.place import place_of
from tables.storage.probe import Probe
from tables.storage.stores import kind_of


@dataclass(frozen=True, slots=True)
class PlaceCheck:
    """One question about a place. `passed` is None for what could not be asked after an earlier answer."""

    name: str
    passed: bool | None
    answer: str


def checked_uri(text: str, given: Description | None = None) -> str:
    """The canonical place that can be registered as a root, which answers what one must. Raises InvalidRoot, Problem as `described`."""
    uri = root_uri(text)
    kind = kind_of(uri)
    _refuse_description(kind, uri, given)
    _refuse_own_files(kind, uri)
    with _as_root():
        probe = kind.probe(uri, partial(object_stores.described, uri, given))
        for ask in probe.required:
            ask()
        probe.beside(_roots_of(kind))
    return uri


def _refuse_description(kind: StoreKind, uri: str, given: Description | None) -> None:
    if given is not None and kind.described is None:
        raise InvalidRoot(f"{uri} lies {kind.where}, which takes no key: leave the storage’s fields empty.")


def _refuse_own_files(kind: StoreKind, uri: str) -> None:
    if not kind.is_remote:
        refuse_home(uri, str(settings.ENV.home), sample_lake.DIRECTORY)


def _roots_of(kind: StoreKind) -> list[str]:
    return list(Root.objects.filter(uri__startswith=kind.prefix).order_by("uri").values_list("uri", flat=True))


@contextmanager
def _as_root() -> Iterator[None]:
    """Raises what a place's own questions refuse as InvalidRoot."""
    try:
        yield
    except BadPlace as error:
        raise InvalidRoot(str(error)) from None


def examine(actor: Actor, text: str, given: Description | None = None, *, writes: bool = False) -> list[PlaceCheck]:
    """A plain answer per check, in order; looks at the place and registers nothing.

    Raises Problem: 400 `invalid` for a description that its kind of storage can't take, 403 `forbidden`.

    `given` describes the bucket of a prefix that no root lies in yet. With `writes`, an empty object or file is written there and
    removed, once nothing stands against the place.
    """
    require_everywhere(actor, Permission.ROOT_MANAGE)
    checks: list[PlaceCheck] = []
    place = _asked(checks, "Path", lambda: _path(text))
    kind = kind_of(place) if place else LOCAL
    if place:
        checks[0] = PlaceCheck("Path", True, _named(kind, text, place))
    if given is not None and kind.described:
        object_stores.checked(place, given)
    probe = kind.probe(place, partial(object_stores.described, place, given))
    for name, ask in (*probe.looks, *_questions(kind, place, given, probe), *(probe.writes if writes else ())):
        _asked(checks, name, ask)
    return checks


def _questions(
    kind: StoreKind, place: str, given: Description | None, probe: Probe
) -> Iterator[tuple[str, Callable[[], str]]]:
    """Those that the catalog has beside the place's own."""
    if given is not None and kind.described is None:
        yield "Storage", lambda: _refused_description(kind, place, given)
    if not kind.is_remote:
        yield "Free for a root", lambda: _free(kind, place)
    yield "Other roots", lambda: _overlap(kind, place, probe)


def _refused_description(kind: StoreKind, place: str, given: Description) -> str:
    _refuse_description(kind, place, given)
    return ""


def examine_storage(actor: Actor, root: Root, given: Description, *, writes: bool = False) -> list[PlaceCheck]:
    """The same for another description of a registered root's bucket; its secret is the present one where none is given.

    Raises Problem 400 `invalid`, 403 `forbidden`, 409 `not_in_storage`.
    """
    require_everywhere(actor, Permission.ROOT_MANAGE)
    checks: list[PlaceCheck] = []
    options = object_stores.wanted(root, given)
    probe = kind_of(root.uri).probe(root.uri, lambda: options)
    for name, ask in (*probe.looks, *(probe.writes if writes else ())):
        _asked(checks, name, ask)
    return checks


def _asked(checks: list[PlaceCheck], name: str, ask: Callable[[], str]) -> str:
    """Asks one question more, unless an answer before stands against the place; the answer, empty for none."""
    if any(check.passed is False for check in checks):
        checks.append(PlaceCheck(name, None, "Not checked: see above."))
        return ""
    try:
        answer = ask()
    except (InvalidRoot, BadPlace, Problem) as error:
        checks.append(PlaceCheck(name, False, error.detail if isinstance(error, Problem) else str(error)))
        return ""
    checks.append(PlaceCheck(name, True, answer))
    return answer


def _path(text: str) -> str:
    try:
        place = place_of(text)
    except BadPlace as error:
        raise InvalidRoot(str(error)) from None
    local = place.kind is not None and not place.kind.is_remote
    return os.path.realpath(place.path) if local else root_uri(text)


def _named(kind: StoreKind, text: str, place: str) -> str:
    if kind.is_remote:
        return f"{place} is a place {kind.where}."
    if canonical(text) == place:
        return f"{place} is an absolute path of this machine."
    return f"The path leads through a link to {place}; that place is registered, and the link isn’t followed again."


def _free(kind: StoreKind, real: str) -> str:
    refuse_system(real)
    _refuse_own_files(kind, real)
    return "It holds neither the operating system’s own files nor Levee’s."


def _overlap(kind: StoreKind, place: str, probe: Probe) -> str:
    known = Root.objects.filter(uri=place).first()
    if known is not None:
        raise InvalidRoot(f"This place is registered already, as the root {known.name}.")
    probe.beside(_roots_of(kind))
    told = [*_around(place), *_within(place)]
    return " ".join(told) or "It neither lies in another root nor holds one."


def _around(real: str) -> Iterator[str]:
    outer = outer_root(real)
    if outer is not None:
        if rules := ports.uses_of(outer).rules:
            raise InvalidRoot(ruled(outer, rules))
        number = Table.objects.filter(root=outer, path__startswith=f"{real}/", hidden_at=None).count()
        number += Table.objects.filter(root=outer, path=real, hidden_at=None).count()
        yield f"It lies in the root {outer.name}, {_passes(number)} to the new root, with who may see what there."


def ruled(outer: Root, rules: int) -> str:
    """Why no root can be added in one that approval rules are on."""
    counted = "1 approval rule is" if rules == 1 else f"{rules:,} approval rules are"
    names = "its rule" if rules == 1 else "its rules"
    return (
        f"It lies in the root {outer.name}, and {counted} on that root. A new root’s tables would need no approval by {names}: have an "
        f"admin put the same on everything or on single tables, and remove {names}, first."
    )


def _passes(number: int) -> str:
    return f"of which {number:,} table{' passes' if number == 1 else 's pass'}"


def _within(real: str) -> Iterator[str]:
    names = list(Root.objects.filter(uri__startswith=f"{real}/").values_list("name", flat=True)[:21])
    if names:
        more = ", and others" if len(names) > 20 else ""
        yield f"It holds {', '.join(names[:20])}{more}: what lies in there stays with the inner root."


def outer_root(place: str) -> Root | None:
    """The innermost registered root that holds the place and isn't it."""
    around = [root for root in Root.objects.all() if place.startswith(f"{root.uri}/")]
    return max(around, key=lambda root: len(root.uri), default=None)


def locked_outer(place: str) -> Root | None:
    """As `outer_root`, kept until the transaction ends: no rule is put on it, and neither scan nor addition writes below it."""
    outer = outer_root(place)
    while outer is not None:
        Root.objects.select_for_update().filter(pk=outer.pk).first()
        now = outer_root(place)  # after the wait: one may have been added between, or this one removed
        if now == outer:
            break
        outer = now
    return outer
