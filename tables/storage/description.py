"""How one bucket of a store is reached, as a person describes it: what every kind of storage that is described says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Protocol

from obstore.store import ObjectStore

from tables.storage.patience import PATIENT, Patience
from tables.storage.trees import Reach


@dataclass(frozen=True, slots=True)
class Description:
    """How a bucket is to be reached, as a person entered it. An empty secret keeps the present one of the same key and endpoint."""

    endpoint: str = ""
    region: str = ""
    path_style: bool = True
    key_id: str = ""
    secret: str = field(default="", repr=False)
    session_token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class HadoopSettings:
    """What Hadoop's configuration is told of a bucket.

    Those of `own` may stand there from the description before. `uris` are those of its file systems; `mark` is a setting and the value by
    which one of them shows that it was opened with this description.
    """

    values: Mapping[str, str] = field(repr=False)
    own: Sequence[str]
    uris: Sequence[str]
    mark: tuple[str, str]


class Options(Protocol):
    """One bucket as it is described: from it obstore and Spark's file system are both set up."""

    @property
    def bucket(self) -> str:
        """Its name, as sentences have it."""

    @property
    def prefix(self) -> str:
        """What the canonical paths in it begin with, as `s3://lake`."""

    @property
    def fingerprint(self) -> str:
        """Tells two descriptions apart without saying what they hold."""

    @property
    def scope(self) -> str:
        """What Hadoop's settings of it count for: its own prefix, or the scheme where all buckets of the kind share one description."""

    @property
    def silence(self) -> str:
        """What else it may be when nothing answers, to go on a sentence with; empty for nothing."""

    def require_address(self) -> None:
        """Raises StorageError where requests would go to what is no address."""

    def store(self, waiting: Patience = PATIENT) -> ObjectStore:
        """The bucket as obstore opens it; no request is sent yet. Raises StorageError for what it can't use."""

    def for_tasks(self) -> Reach:
        """The same for Spark's tasks."""

    def for_hadoop(self) -> HadoopSettings:
        """The same for Spark's file system."""

    def reach(self) -> str:
        """How it is reached, in a sentence that names no secret."""

    def sent_on_to(self) -> str | None:
        """Where its endpoint sends requests on to, if elsewhere: asked without a key, and answered within seconds."""


FIELDS = tuple(field.name for field in fields(Description))


def _as_given(given: Description) -> Description:
    return given


@dataclass(frozen=True, slots=True)
class Described:
    """How a kind of object stores takes a description."""

    options: Callable[[str, Description], Options]  # of a bucket, by its name
    faults: Callable[[Description], Iterable[tuple[str, str]]]  # what is wrong with it, by field
    region: str = ""  # where none is given
    cloud: str = ""  # whose the store is where no endpoint is given
    fields: Sequence[str] = FIELDS  # those that it takes
    hints: Mapping[str, str] = field(default_factory=dict)  # what a field holds, where that differs by kind
    completed: Callable[[Description], Description] = _as_given  # with what follows from the rest
    key: Callable[[str], str] = str  # of a bucket's prefix: the catalog's row, and what its secrets are encrypted for
    shares: str = (
        "A bucket has one credential, because Spark keeps one connection for each bucket and ignores the rest."
    )


def ending(key_id: str) -> str:
    """The last four characters of a key's id that is long enough to keep the others; empty for no key."""
    return f"…{key_id[-4:]}" if len(key_id) > 8 else "…" if key_id else ""
