"""What stands for and against a directory on HDFS as a root: each question is one or two requests, answered within seconds."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from console.base.text.counted import counted
from tables.storage.hdfs import name_nodes
from tables.storage.hdfs.client import PAGE, HdfsRefused, NameNode, user_name
from tables.storage.paths import BadPlace
from tables.storage.patience import BRIEF
from tables.storage.probe import NAME, Probe


class HdfsDirectory:
    """A directory that is looked at. A client of its own asks, so that a refusal a moment ago doesn't count."""

    def __init__(self, uri: str) -> None:
        authority, self.path = name_nodes.split(uri)
        self.uri = uri
        self.node = NameNode(authority, user_name(), BRIEF.answer_s)


def reach(directory: HdfsDirectory) -> str:
    """Whether the name node answers. Raises BadPlace."""
    with _refusing(f"Levee can’t ask {directory.node.authority}"):
        directory.node.status("/")
    return f"The name node {directory.node.authority} answers; Levee is the user {directory.node.user} there."


def there(directory: HdfsDirectory) -> str:
    """Raises BadPlace where no directory is."""
    with _refusing(f"Levee can’t look at {directory.uri}"):
        try:
            is_directory = directory.node.status(directory.path).isdir
        except FileNotFoundError:
            raise BadPlace(f"There is no directory {directory.uri}.") from None
    if not is_directory:
        raise BadPlace(f"{directory.uri} is a file, not a directory.")
    return "It is a directory."


def listable(directory: HdfsDirectory) -> str:
    """Raises BadPlace."""
    with _refusing(f"Levee can’t list {directory.uri}"):
        page = next(directory.node.pages(directory.path), [])
    more = "at least " if len(page) >= PAGE else ""
    return f"Levee can list it; it holds {more}{counted(len(page), 'name')}."


def writable(directory: HdfsDirectory) -> str:
    """Writes one empty file, and deletes it. Raises BadPlace, which names a file that stays, or may."""
    name = f"{NAME}{uuid.uuid4().hex}"
    path = f"{directory.path.rstrip('/')}/{name}"
    with _refusing(f"Levee can’t write in {directory.uri}", unsure=f"; {name} may be there"):
        file = directory.node.create(path)
    left = f"; {name} was left behind"
    with _refusing(
        f"Levee can write in {directory.uri} and not delete there", left, unsure=f"; {name} may be left behind"
    ):
        directory.node.discard(path, file)
    return "Levee can write and delete there."


def refuse_twins(directory: HdfsDirectory, authorities: Iterable[str]) -> None:
    """Refuses a directory that another name node, or the same one by another name, has as well, changed in the same millisecond.

    One name node by two names would be two places for rules, leases and grants. One that doesn't answer says nothing. Raises
    BadPlace.
    """
    with _refusing(f"Levee can’t look at {directory.uri}"):
        mine = _marks(directory.node.status(directory.path))
    for authority in authorities:
        if authority == directory.node.authority or not mine[0]:  # 0: nothing was ever made in it
            continue
        other = NameNode(authority, user_name(), BRIEF.answer_s)
        with suppress(HdfsRefused, FileNotFoundError):
            if _marks(other.status(directory.path)) == mine:
                raise BadPlace(
                    f"{directory.node.authority} and {authority}, where a root lies, are the same name node: name it {authority}."
                )


def _marks(status: Any) -> tuple[int, str, str, int]:
    return status.modification_time, status.owner, status.group, status.permission


@contextmanager
def _refusing(what: str, then: str = "", *, unsure: str = "") -> Iterator[None]:
    """`then` ends the answer; `unsure` does where the name node may have done it nonetheless."""
    try:
        yield
    except HdfsRefused as refused:
        raise BadPlace(f"{what}: {refused}{unsure if refused.everywhere else then}.") from None
    except FileNotFoundError:
        raise BadPlace(f"{what}: it is not there.") from None


def probe(uri: str, _options: object) -> Probe:
    """The questions about a directory on HDFS."""
    directory = HdfsDirectory(uri)
    look, list_, write = partial(there, directory), partial(listable, directory), partial(writable, directory)
    return Probe(
        looks=[("Name node", partial(reach, directory)), ("Directory", look), ("Listable", list_)],
        writes=[("Writable", write)],
        required=[look, list_],
        beside=lambda others: refuse_twins(directory, sorted({name_nodes.split(uri)[0] for uri in others})),
    )
