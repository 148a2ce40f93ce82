"""How much a read may take that looks at whole files: the bounds, and their refusal with its figure."""

from __future__ import annotations

from console.base.text.counted import counted
from jobs.domain.errors import CommandRefused, Refusal

MOST_BYTES = 1 << 30  # of data files, as the log has their sizes
MOST_ROWS = 20_000_000  # in these files, where their statistics say how many
MOST_FILES = 10_000
MOST_COLUMNS = 50  # of a profile
CODE = "too_much_to_read"
APART = "in the files that only one of the two versions has"
CLOSER = "Compare versions that lie closer together."
IN_VERSION = "in this version"
STATISTICS = "The profile by the log tells bounds of each column at once."


def excess(where: str, files: int, size: int, rows: int | None) -> str:
    """What is too much to read, as an end of a sentence; empty if nothing is. `rows` is None where nothing tells it."""
    figure, most = "", ""
    if size > MOST_BYTES:
        figure, most = f"{size / (1 << 30):,.1f} GiB", f"{MOST_BYTES >> 30} GiB"
    elif rows is not None and rows > MOST_ROWS:
        figure, most = counted(rows, "row"), f"{MOST_ROWS:,}"
    elif files > MOST_FILES:
        figure, most = counted(files, "file"), f"{MOST_FILES:,}"
    return f"there is too much to read: {figure} {where}, and one read takes at most {most}" if figure else ""


def sentence(too_much: str) -> str:
    """The refusal in words."""
    return f"{too_much[:1].upper()}{too_much[1:]}."


def refuse_excess(where: str, files: int, size: int, rows: int | None, remedy: str) -> None:
    """Raises CommandRefused `too_much_to_read`."""
    if too_much := excess(where, files, size, rows):
        raise CommandRefused(Refusal(CODE, sentence(too_much), remedy=remedy))
