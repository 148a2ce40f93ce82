"""The engines that Levee knows (`engines.toml`), and which of them can still read and write a table."""

from __future__ import annotations

import tomllib
from functools import partial
from pathlib import Path

from jobs.domain.delta import readers
from jobs.domain.delta.readers import Reader


def read(place: Path) -> tuple[Reader, ...]:
    """The engines of a file. Raises KeyError, TypeError or ValueError for one that isn't as its head says."""
    with place.open("rb") as file:
        rows = tomllib.load(file)["reader"]
    return tuple(map(readers.reader_of, rows))


READERS = read(Path(__file__).with_name("engines.toml"))
readers_of = partial(readers.readers_of, READERS)
stop_reading = partial(readers.stop_reading, READERS)
stop_writing = partial(readers.stop_writing, READERS)
