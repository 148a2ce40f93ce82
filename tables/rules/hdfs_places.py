"""What stands for and against a directory on HDFS as a root: each question is one or two requests, answered within seconds."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tables.deltalog.read import name_nodes
from tables.deltalog.read.hdfs import PAGE, NameNode, Refused, user_name
from tables.deltalog.read.object_stores import BRIEF
from tables.rules.locations import InvalidRoot

PROBE = "_levee_probe_"  # of the file that a test of writing makes and removes: no table is ever named so


class Directory:
    """A directory that is looked at. A client of its own asks, so that a refusal a moment ago doesn't count."""

    def __init__(self, uri: str) -> None:
        authority, self.path = name_nodes.split(uri)
        self.uri = uri
        self.node = NameNode(authority, user_name(), BRIEF.answer_s)


def reach(directory: Directory) -> str:
    """Whether the name node answers. Raises InvalidRoot."""
    with _refusing(f"Levee can’t ask {directory.node.authority}"):
        directory.node.status("/")
    return f"The name node {directory.node.authority} answers; Levee is the user {directory.node.user} there."


def there(directory: Directory) -> str:
    """Raises InvalidRoot where no directory is."""
    with _refusing(f"Levee can’t look at {directory.uri}"):
        try:
            is_directory = directory.node.status(directory.path).isdir
        except FileNotFoundError:
            raise InvalidRoot(f"There is no directory {directory.uri}.") from None
    if not is_directory:
        raise InvalidRoot(f"{directory.uri} is a file, not a directory.")
    return "It is a directory."


def listable(directory: Directory) -> str:
    """Raises InvalidRoot."""
    with _refusing(f"Levee can’t list {directory.uri}"):
        page = next(directory.node.pages(directory.path), [])
    more = "at least " if len(page) >= PAGE else ""
    return f"Levee can list it; it holds {more}{len(page):,} name{'' if len(page) == 1 else 's'}."


def writable(directory: Directory) -> str:
    """Writes one empty file, and deletes it. Raises InvalidRoot."""
    with _refusing(f"Levee can’t write in {directory.uri}"):
        directory.node.probe(f"{directory.path.rstrip('/')}/{PROBE}{uuid.uuid4().hex}")
    return "Levee can write and delete there."


@contextmanager
def _refusing(what: str) -> Iterator[None]:
    try:
        yield
    except (Refused, FileNotFoundError) as error:
        refused = error if isinstance(error, Refused) else "it is not there"
        raise InvalidRoot(f"{what}: {refused}.") from None


Question = tuple[str, Callable[[Directory], str]]
LOOKS: tuple[Question, ...] = (("Name node", reach), ("Directory", there), ("Listable", listable))
WRITES: tuple[Question, ...] = (("Writable", writable),)
