"""What stands for and against a directory, prefix or directory on HDFS as a root, checked before anything is registered."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import cast

from django.conf import settings

from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.errors import Problem
from console.base.text.counted import counted
from tables import ports
from tables.catalog.rights import require_everywhere
from tables.catalog.roots import object_stores, store_places
from tables.catalog.roots.object_stores import Description
from tables.catalog.roots.store_places import PROBE, Prefix
from tables.models import Root, Table
from tables.rules import hdfs_places, mounts, sample_lake
from tables.rules.locations import InvalidRoot, OutsideRoots, canonical, refuse_home, refuse_system, root_uri
from tables.storage.hdfs import name_nodes
from tables.storage.local import mounted

LOOKED_AT = 1_000  # names that the check of listing reads at most


@dataclass(frozen=True, slots=True)
class PlaceCheck:
    """One question about a place. `passed` is None for what could not be asked after an earlier answer."""

    name: str
    passed: bool | None
    answer: str


def checked_uri(text: str, given: Description | None = None) -> str:
    """The canonical place that can be registered as a root; a prefix must answer. Raises InvalidRoot, Problem as `described`."""
    uri = root_uri(text)
    if uri.startswith("/"):
        if given is not None:
            raise InvalidRoot(f"{uri} is a directory of this machine: it has no storage to describe.")
        refuse_home(uri, str(settings.ENV.home), sample_lake.DIRECTORY)
        _refuse_second_name(uri)
    elif name_nodes.is_hdfs(uri):
        _on_hdfs(uri, given)
    else:
        store_places.listable(_prefix(uri, given))
    return uri


def _refuse_second_name(real: str) -> None:
    """By a second name, a directory would be two places for rules, leases and grants. Raises InvalidRoot."""
    uris = Root.objects.filter(uri__startswith="/").order_by("uri").values_list("uri", flat=True)
    if other := mounts.second_name(real, uris, mounts.listed(mounted.mount_table())):
        raise InvalidRoot(
            f"{real} and {other}, which is a root, are mounts of the same directory, or of one in the other: name it as it lies there."
        )


def _prefix(uri: str, given: Description | None) -> Prefix:
    return Prefix.of(uri, object_stores.described(object_stores.bucket_of(uri) or "", given))


def _on_hdfs(uri: str, given: Description | None) -> None:
    """Raises InvalidRoot for what is no directory that Levee can list, and for a description: HDFS takes none."""
    if given is not None:
        raise InvalidRoot(f"{uri} lies on HDFS, which takes no key: leave the storage’s fields empty.")
    directory = hdfs_places.HdfsDirectory(uri)
    hdfs_places.there(directory)
    hdfs_places.listable(directory)
    _refuse_twins(directory)


def _refuse_twins(directory: hdfs_places.HdfsDirectory) -> None:
    uris = Root.objects.filter(uri__startswith="hdfs://").values_list("uri", flat=True)
    hdfs_places.refuse_twins(directory, sorted({name_nodes.split(uri)[0] for uri in uris}))


def examine(actor: Actor, text: str, given: Description | None = None, *, writes: bool = False) -> list[PlaceCheck]:
    """A plain answer per check, in order; looks at the place and registers nothing. Raises Problem 403 `forbidden`.

    `given` describes the bucket of a prefix that no root lies in yet. With `writes`, an empty object or file is written there and removed.
    """
    require_everywhere(actor, Permission.ROOT_MANAGE)
    checks: list[PlaceCheck] = []
    place = _asked(checks, _QUESTIONS[0][0], lambda: _path(text))
    if place and name_nodes.is_hdfs(place):
        checks[0] = PlaceCheck(checks[0].name, True, f"{place} is a place on HDFS.")
        _examine_hdfs(checks, place, given, writes=writes)
        return checks
    if place and not place.startswith("/"):
        checks[0] = PlaceCheck(checks[0].name, True, f"{place} is a place in an object store.")
        _examine_prefix(checks, place, given, writes=writes)
        return checks
    if place:
        checks[0] = PlaceCheck(checks[0].name, True, _named(text, place))
    for name, ask in (*_QUESTIONS[1:], *(_WRITES if writes else ())):
        _asked(checks, name, partial(ask, place))
    return checks


def examine_storage(actor: Actor, root: Root, given: Description, *, writes: bool = False) -> list[PlaceCheck]:
    """The same for another description of a registered root's bucket; its secret is the present one where none is given.

    Raises Problem 400 `invalid`, 403 `forbidden`, 409 `not_in_storage`.
    """
    require_everywhere(actor, Permission.ROOT_MANAGE)
    checks: list[PlaceCheck] = []
    prefix = Prefix.of(root.uri, object_stores.wanted(root, given))
    for name, look in (*store_places.LOOKS, *(store_places.WRITES if writes else ())):
        _asked(checks, name, partial(look, prefix))
    return checks


def _examine_hdfs(checks: list[PlaceCheck], place: str, given: Description | None, *, writes: bool) -> None:
    directory = hdfs_places.HdfsDirectory(place)
    for name, look in (*hdfs_places.LOOKS, *(hdfs_places.WRITES if writes else ())):
        _asked(checks, name, partial(look, directory))
    if given is not None:
        checks.append(PlaceCheck("Storage", False, "HDFS takes no key: leave the storage’s fields empty."))
    _asked(checks, "Other roots", partial(_overlap_on_hdfs, directory))


def _examine_prefix(checks: list[PlaceCheck], place: str, given: Description | None, *, writes: bool) -> None:
    try:
        prefix = _prefix(place, given)
    except (InvalidRoot, Problem) as error:
        checks.append(PlaceCheck("Storage", False, error.detail if isinstance(error, Problem) else str(error)))
        prefix = None
    for name, look in (*store_places.LOOKS, *(store_places.WRITES if writes else ())):
        if prefix is not None or name != "Storage":
            _asked(checks, name, partial(look, cast(Prefix, prefix)))
    _asked(checks, "Other roots", partial(_overlap, place))


def _asked(checks: list[PlaceCheck], name: str, ask: Callable[[], str]) -> str:
    """Asks one question more, unless an answer before stands against the place; the answer, empty for none."""
    if any(check.passed is False for check in checks):
        checks.append(PlaceCheck(name, None, "Not checked: see above."))
        return ""
    try:
        answer = ask()
    except InvalidRoot as error:
        checks.append(PlaceCheck(name, False, str(error)))
        return ""
    checks.append(PlaceCheck(name, True, answer))
    return answer


def _path(text: str) -> str:
    try:
        uri = canonical(text)
    except OutsideRoots as error:
        raise InvalidRoot(str(error)) from None
    return os.path.realpath(uri) if uri.startswith("/") else root_uri(uri)


def _named(text: str, real: str) -> str:
    if canonical(text) == real:
        return f"{real} is an absolute path of this machine."
    return f"The path leads through a link to {real}; that place is registered, and the link isn’t followed again."


def _there(real: str) -> str:
    try:
        Path(real).stat()
    except FileNotFoundError:
        raise InvalidRoot(f"There is nothing at {real}.") from None
    except OSError as error:
        raise InvalidRoot(f"Levee can’t look at {real}: {error.strerror}.") from None
    return "Something is there."


def _directory(real: str) -> str:
    if not os.path.isdir(real):  # noqa: PTH112 - real paths are texts here, as the catalog keeps them
        raise InvalidRoot(f"{real} is a file, not a directory.")
    return "It is a directory."


def _listable(real: str) -> str:
    try:
        with os.scandir(real) as entries:
            number = sum(1 for _ in islice(entries, LOOKED_AT))
    except OSError as error:
        raise InvalidRoot(f"Levee’s user may not list {real}: {error.strerror}.") from None
    if not os.access(real, os.R_OK | os.X_OK):
        raise InvalidRoot(f"Levee’s user can list {real} but can’t enter it.")
    more = "more than " if number == LOOKED_AT else ""
    return f"Levee can read it; it holds {more}{counted(number, 'name')}."


def _writable(real: str) -> str:
    """Writes one empty file, and deletes it: last, once nothing stands against the place."""
    file = Path(real, f"{PROBE}{uuid.uuid4().hex}")
    try:
        file.open("x").close()
    except OSError as error:
        raise InvalidRoot(f"Levee’s user may not write in {real}: {error.strerror}.") from None
    try:
        file.unlink()
    except OSError as error:
        raise InvalidRoot(
            f"Levee can write in {real} and not delete there: {error.strerror}; {file.name} was left behind."
        ) from None
    return "Levee can write and delete there."


def _free(real: str) -> str:
    refuse_system(real)
    refuse_home(real, str(settings.ENV.home), sample_lake.DIRECTORY)
    _refuse_second_name(real)
    return "It holds neither the operating system’s own files nor Levee’s."


def _overlap(real: str) -> str:
    known = Root.objects.filter(uri=real).first()
    if known is not None:
        raise InvalidRoot(f"This place is registered already, as the root {known.name}.")
    told = [*_around(real), *_within(real)]
    return " ".join(told) or "It neither lies in another root nor holds one."


def _overlap_on_hdfs(directory: hdfs_places.HdfsDirectory) -> str:
    _refuse_twins(directory)
    return _overlap(directory.uri)


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


_QUESTIONS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("Path", _path),
    ("Exists", _there),
    ("Directory", _directory),
    ("Readable", _listable),
    ("Free for a root", _free),
    ("Other roots", _overlap),
)
_WRITES: tuple[tuple[str, Callable[[str], str]], ...] = (("Writable", _writable),)
